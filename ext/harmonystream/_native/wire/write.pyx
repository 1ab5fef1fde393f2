# Writes records as frames, by a script, in the same way for all three APIs. A response is a row of items: texts, and
# calls. A delta of another kind than the open item's ends the item and begins another; so does the start of a call. The
# end of a message ends the open item. The script has a frame for each of these moments, or none.
#
# Python does not see these records. The journal keeps them. Python reads the journal, and applies the description that
# the script was made of, when a caller asks for the whole response, or when a record comes that the script has no frame
# for.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy
from harmonystream._native.core.buffer cimport buffer_free, buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_is_whole
from harmonystream._native.wire.frame cimport DIGITS, Filling, FramePiece, Pieces, fill, fill_with, number_text
from harmonystream._native.wire.journal cimport note, note_run
from harmonystream._native.wire.json_filter cimport filter_clear, filter_end, filter_read
from harmonystream._native.wire.script cimport *
from harmonystream._native.wire.signature cimport put_signature
from harmonystream._native.wire.writer cimport *

DEBUG = bool(DEBUG_BUILD)


cdef Answer write_record(Writer* w, const Record* r, const uint8_t* text, Buffer* to) noexcept nogil:
    """Appends the frames of one record to `to`. NEEDS_PYTHON, NEEDS_HOOK: nothing has changed."""
    cdef Written* t = &w.written
    cdef bint done
    if r.kind <= R_ARGUMENTS:
        return write_delta(w, r, text + r.at, to)
    if t.journal.n >= MOST_JOURNAL and w.keeps_none:
        return NEEDS_PYTHON                                                  # which counts instead
    if r.kind == R_CALL_START:
        return write_call(w, r, text, to)
    if r.kind == R_MESSAGE_START:
        done = note(t, r, text)
        t.channel, t.has_text, t.fields_now = min(r.channel, <uint8_t>OTHER_CHANNEL), 0, 0
        t.stale[0] = 1
    elif r.kind == R_MESSAGE_END:
        if asks_hook(w):
            return NEEDS_HOOK
        done = end_item(w, not t.cut or r.start < r.stop, to) and note(t, r, text)
        t.fields_before |= t.fields_now
        t.stale[0] = 1
    elif r.kind == R_CALL_END:
        if t.open != R_ARGUMENTS:
            return WRITTEN                                                      # it was not shown
        done = end_item(w, r.flags & 1, to) and note(t, r, text)
    else:
        return NEEDS_PYTHON
    t.hooked = False
    return WRITTEN if done else NO_MEMORY


cdef bint asks_hook(Writer* w) noexcept nogil:
    """Does the end of the open item ask something of Python that it has not done?"""
    cdef Written* t = &w.written
    if t.hooked or t.open != R_REASONING or not t.script.signed:
        return False
    return t.caught_up or not sign(w)                                        # Python may have the text's beginning


cdef bint sign(Writer* w) noexcept nogil:
    """The signature of the open item's text."""
    cdef Written* t = &w.written
    cdef const Buffer* kept = &w.kept[<int>R_REASONING]
    cdef Py_ssize_t n = kept.n - t.item_at
    t.hook.n = 0
    return put_signature(&t.hook, t.constants.p, t.constant_at[1], kept.p + t.item_at if n > 0 else NULL, n)


# --- items ---

cdef Answer write_delta(Writer* w, const Record* r, const uint8_t* text, Buffer* to) noexcept nogil:
    cdef Written* t = &w.written
    cdef const Pieces* frame
    cdef uint8_t kind = r.kind, variant
    cdef Py_ssize_t n = r.n
    if w.frames[kind] == NULL:
        if kind == R_ARGUMENTS:
            return WRITTEN                                                      # of a call that is not shown
        variant = t.channel
        frame = &t.script.frames[DELTA][kind][variant]
        if frame.items == NULL:
            return NEEDS_PYTHON
        if t.journal.n >= MOST_JOURNAL and w.keeps_none:
            return NEEDS_PYTHON
        if frame.silent:
            if not t.has_text and not note_run(w, kind, w.kept[kind].n, False):
                return NO_MEMORY
            t.has_text = 1
            w.frames[kind] = frame
            return WRITTEN
        if t.parts and t.has_text and n and not t.blank and not t.script.field[kind][variant]:
            while n and text[0] == c'\n':                                    # it parts texts in one field
                text, n = text + 1, n - 1
            if n == 0:
                return WRITTEN
        if asks_hook(w):
            return NEEDS_HOOK
        t.hooked = False
        if t.script.no_blank and kind == R_CONTENT:
            if is_blank(text, n):
                return WRITTEN if hold_blank(w, text, n, to) else NO_MEMORY
            if t.blank:
                return WRITTEN if begin_with_blank(w, text, n, variant, to) else NO_MEMORY
        if not begin_item(w, kind, variant, to):
            return NO_MEMORY
    if w.frames[kind].silent:
        return WRITTEN
    return WRITTEN if put_delta(w, kind, text, n, to) else NO_MEMORY


cdef bint hold_blank(Writer* w, const uint8_t* text, Py_ssize_t n, Buffer* to) noexcept nogil:
    """White space alone begins no item of content, but it ends what is open. It waits for a delta that begins the item
    with it. If something else comes, it is never sent.
    """
    cdef Written* t = &w.written
    cdef Buffer* kept = &w.kept[<int>R_CONTENT]
    if not t.blank:
        if not end_item(w, True, to):
            return False
        t.item_at = kept.n
        if not note_run(w, R_CONTENT, kept.n, False):
            return False
        t.blank = 1
    return put_escaped(kept, text, n)


cdef bint begin_with_blank(Writer* w, const uint8_t* text, Py_ssize_t n, uint8_t variant, Buffer* to) noexcept nogil:
    """What was held, and this text, are the first delta of an item of content."""
    cdef Written* t = &w.written
    cdef Py_ssize_t begin = t.item_at
    t.blank = 0
    t.has_text = 1
    t.fields_now |= t.script.field[<int>R_CONTENT][variant]
    if not open_item(w, R_CONTENT, variant, to):
        return False
    t.item_at = begin
    return put_escaped(&w.kept[<int>R_CONTENT], text, n) and put_kept(w, R_CONTENT, begin, to)


cdef void drop_blank(Writer* w) noexcept nogil:
    """Nothing will begin with it. Python must know that there was some, because it has ended an item."""
    cdef Buffer* kept = &w.kept[<int>R_CONTENT]
    w.written.blank = 0
    if w.keeps_none:
        kept.p[w.written.item_at] = c' '
        kept.n = w.written.item_at + 1


cdef bint put_delta(Writer* w, uint8_t kind, const uint8_t* text, Py_ssize_t n, Buffer* to) noexcept nogil:
    cdef Py_ssize_t begin = w.kept[kind].n
    if kind == R_ARGUMENTS and w.filtered:
        return put_filtered(w, text, n, to)
    return put_escaped(&w.kept[kind], text, n) and put_kept(w, kind, begin, to)


cdef bint put_filtered(Writer* w, const uint8_t* text, Py_ssize_t n, Buffer* to) noexcept nogil:
    """What the filter lets through of these arguments. The filter keeps them."""
    cdef Buffer* kept = &w.kept[<int>R_ARGUMENTS]
    cdef const Buffer* sent = &w.filter.sent
    cdef Py_ssize_t begin = kept.n, before = sent.n
    cdef bint done = filter_read(w.filter, text, n)
    if done and sent.n > before:
        done = put_escaped(kept, sent.p + before, sent.n - before) and put_kept(w, R_ARGUMENTS, begin, to)
        kept.n = begin
    return done


cdef bint end_arguments(Writer* w, bint complete, Buffer* to) noexcept nogil:
    """What the filter lets through at their end. From here on what is kept of the item is all of them."""
    cdef Buffer* kept = &w.kept[<int>R_ARGUMENTS]
    cdef const Buffer* sent = &w.filter.sent
    cdef Py_ssize_t begin = kept.n, before = sent.n
    cdef bint done = filter_end(w.filter, complete)
    w.filtered = False
    if done and sent.n > before:
        done = put_escaped(kept, sent.p + before, sent.n - before) and put_kept(w, R_ARGUMENTS, begin, to)
    kept.n = w.written.item_at
    return done and put_escaped(kept, sent.p, sent.n)


cdef bint put_kept(Writer* w, uint8_t kind, Py_ssize_t begin, Buffer* to) noexcept nogil:
    """What has been kept last, from `begin`, in its frame."""
    cdef const Buffer* kept = &w.kept[kind]
    cdef Filling filling
    cdef Py_ssize_t size = fill_with(&filling, w.frames[kind], kept.p + begin, kept.n - begin, w.number)
    if not buffer_room(to, size):
        return False
    fill(w.frames[kind], to.p + to.n, &filling)
    to.n += size
    w.number = <int64_t>(<uint64_t>w.number + 1)                             # it wraps
    if w.drops[kind]:
        w.kept[kind].n = begin
    return True


cdef bint begin_item(Writer* w, uint8_t kind, uint8_t variant, Buffer* to) noexcept nogil:
    """What is open ends, and an item of this kind begins."""
    cdef Written* t = &w.written
    cdef uint8_t field = t.script.field[kind][variant]
    if not end_item(w, True, to):
        return False
    if not t.has_text and t.fields_before & field and not write_frame(w, &t.script.frames[PART][kind][variant], to):
        return False
    if not note_run(w, kind, w.kept[kind].n, False):
        return False
    t.has_text = 1
    t.fields_now |= field
    return open_item(w, kind, variant, to)


cdef bint open_item(Writer* w, uint8_t kind, uint8_t variant, Buffer* to) noexcept nogil:
    cdef Written* t = &w.written
    if w.kept[kind].cap == 0 and not w.drops[kind] and not buffer_room(&w.kept[kind], KEPT_ROOM):
        return False
    t.open, t.variant, t.item_at = kind, variant, w.kept[kind].n
    t.items += 1
    if (not write_frame(w, &t.script.frames[BEGIN][kind][variant], to)
            or not bind(w, &t.script.frames[DELTA][kind][variant])):
        return False
    w.frames[kind] = &t.bound
    return True


cdef bint end_item(Writer* w, bint complete, Buffer* to) noexcept nogil:
    """The open item ends, if there is one. No delta has a frame any more."""
    cdef Written* t = &w.written
    cdef uint8_t kind = t.open, variant = t.variant
    cdef bint done = True
    cdef int k, moment
    if t.blank:
        drop_blank(w)
    if kind == R_ARGUMENTS and w.filtered:
        done = end_arguments(w, complete, to)
    for k in range(N_DELTAS):
        w.frames[k] = NULL
    if kind:
        t.open = 0
        done = done and write_frame_of(w, kind, &t.script.frames[END if complete else CUT][kind][variant], to)
        if w.keeps_none:
            w.kept[kind].n = t.item_at
            return done
        moment = ITEM if complete else CUT_ITEM
        done = done and write_frame_of(w, kind, &t.script.frames[moment][kind][variant], &t.output)
    return done


cdef bint write_frame_of(Writer* w, uint8_t kind, const Pieces* frame, Buffer* to) noexcept nogil:
    """Of an item that has just ended."""
    cdef bint done
    w.written.open = kind
    done = write_frame(w, frame, to)
    w.written.open = 0
    return done


cdef Answer write_call(Writer* w, const Record* r, const uint8_t* text, Buffer* to) noexcept nogil:
    cdef Written* t = &w.written
    if t.script.shown >= 0 and t.calls >= t.script.shown:
        return WRITTEN
    if (t.script.frames[DELTA][<int>R_ARGUMENTS][0].items == NULL
            or (t.script.functions and r.flags != FUNCTION)
            or not utf8_is_whole(text + r.at, r.n)):
        return NEEDS_PYTHON
    if not t.hooked and (r.n_id or t.asks_ids or (t.script.filtered and w.filter == NULL) or asks_hook(w)):
        return NEEDS_HOOK
    t.hooked = False
    if not end_item(w, True, to) or not note(t, r, text):
        return NO_MEMORY
    t.name.n = 0
    if not put_escaped(&t.name, text + r.at, r.n) or not note_run(w, R_ARGUMENTS, w.kept[<int>R_ARGUMENTS].n, False):
        return NO_MEMORY
    t.calls += 1
    if not r.n_id and not t.asks_ids:                                        # otherwise Python has decided it
        t.call_id.n = 0
        if not write_frame(w, &t.script.call_id, &t.call_id):
            return NO_MEMORY
    w.filtered = t.script.filtered
    if w.filter != NULL:
        filter_clear(w.filter, MOST_LEFT)
    return WRITTEN if open_item(w, R_ARGUMENTS, 0, to) else NO_MEMORY


cdef bint is_blank(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Is it all white space, as str.isspace() says? Valid UTF-8."""
    cdef Py_ssize_t i = 0
    while i < n:
        if p[i] == 32 or 9 <= p[i] <= 13 or 28 <= p[i] <= 31:
            i += 1
        elif p[i] == 0xC2 and (p[i + 1] == 0x85 or p[i + 1] == 0xA0):
            i += 2
        elif p[i] == 0xE1 and p[i + 1] == 0x9A and p[i + 2] == 0x80:
            i += 3
        elif p[i] == 0xE2 and (p[i + 1] == 0x80 and (p[i + 2] <= 0x8A or 0xA8 <= p[i + 2] <= 0xA9 or p[i + 2] == 0xAF)
                               or p[i + 1] == 0x81 and p[i + 2] == 0x9F):
            i += 3
        elif p[i] == 0xE3 and p[i + 1] == 0x80 and p[i + 2] == 0x80:
            i += 3
        else:
            return False
    return n > 0


# --- frames ---

cdef bint write_frame(Writer* w, const Pieces* frame, Buffer* to) noexcept nogil:
    """A frame of the script with its holes filled. Each hole for the running number takes the next one."""
    cdef const FramePiece* piece = frame.items
    if piece == NULL:
        return True
    if not buffer_room(to, frame.size):                                      # at once, not piece by piece
        return False
    while True:
        if not buffer_put(to, piece.p, piece.n):
            return False
        if piece.hole == 0:
            return True
        if piece.hole == c'n':
            if not put_number(w.number, to):
                return False
            w.number = <int64_t>(<uint64_t>w.number + 1)
        elif not put_value(w, piece.hole, to):
            return False
        piece += 1


cdef bint put_number(int64_t number, Buffer* to) noexcept nogil:
    if not buffer_room(to, DIGITS):
        return False
    to.n += number_text(number, to.p + to.n)
    return True


cdef bint put_value(const Writer* w, uint8_t hole, Buffer* to) noexcept nogil:
    cdef const Written* t = &w.written
    cdef const Buffer* kept
    if hole == c'i':
        return put_number(t.items - 1, to)
    if hole == c'k':
        return put_number(t.calls - 1, to)
    if hole == c'w':
        kept = &w.kept[t.open]
        return kept.n == t.item_at or buffer_put(to, kept.p + t.item_at, kept.n - t.item_at)  # kept.p may be NULL
    if hole == c'o':                                                         # without the first one's comma
        return t.output.n == 0 or buffer_put(to, t.output.p + 1, t.output.n - 1)
    if hole == c'p' or hole == c'q' or hole == c'x' or hole == c'y':
        return put_number(t.counts[<int>(IN_RESPONSE if hole == c'p' else OF_REASONING if hole == c'q' else
                                         IN_PROMPT if hole == c'x' else IN_TOTAL)], to)
    if hole == c'm':
        return buffer_put(to, t.name.p, t.name.n)
    if hole == c'd':
        return buffer_put(to, t.call_id.p, t.call_id.n)
    if hole == c'u':
        return buffer_put(to, t.usage.p, t.usage.n)
    if hole == c'g' or hole == c'r':
        return buffer_put(to, t.hook.p, t.hook.n)
    return put_constant(t, 0 if hole == c'a' else 1 if hole == c'c' else 2 if hole == c's' else
                        3 if hole == c'l' else 4, to)


cdef inline bint put_constant(const Written* t, int k, Buffer* to) noexcept nogil:
    return buffer_put(to, t.constants.p + t.constant_at[k], t.constant_at[k + 1] - t.constant_at[k])


cdef bint bind(Writer* w, const Pieces* frame) noexcept nogil:
    """The frame of the open item's deltas, with all filled in that stays as it is."""
    cdef Written* t = &w.written
    cdef const FramePiece* piece = frame.items
    cdef FramePiece* bound = t.bound_pieces
    cdef const uint8_t* text
    cdef Py_ssize_t begin = 0
    cdef int n = 0, i
    t.bound_text.n = 0
    while True:
        if not buffer_put(&t.bound_text, piece.p, piece.n):
            return False
        if piece.hole == 0 or piece.hole == c't' or piece.hole == c'n':
            bound[n].n, bound[n].hole = t.bound_text.n - begin, piece.hole
            begin = t.bound_text.n
            n += 1
            if piece.hole == 0 or n == MOST_PIECES:
                break
        elif not put_value(w, piece.hole, &t.bound_text):
            return False
        piece += 1
    begin = 0
    text = t.bound_text.p
    if t.bound_text.n <= BOUND_ROOM:
        memcpy(t.bound_room, text, t.bound_text.n)
        text = t.bound_room
    t.bound.items, t.bound.n, t.bound.size, t.bound.silent = bound, n, t.bound_text.n, False
    t.bound.texts, t.bound.numbers = frame.texts, frame.numbers
    for i in range(n):
        bound[i].p = text + begin
        begin += bound[i].n
    return True


cdef void written_free(Written* t) noexcept nogil:
    buffer_free(&t.constants)
    buffer_free(&t.name)
    buffer_free(&t.call_id)
    buffer_free(&t.usage)
    buffer_free(&t.hook)
    buffer_free(&t.output)
    buffer_free(&t.journal)
    buffer_free(&t.bound_text)
