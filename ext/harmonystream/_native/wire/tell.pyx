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
from harmonystream._native.wire.json_filter cimport filter_clear, filter_end, filter_read
from harmonystream._native.wire.script cimport *
from harmonystream._native.wire.signature cimport put_signature

DEBUG = bool(DEBUG_BUILD)


cdef Answer tell(Writer* w, const Record* r, const uint8_t* text, Buffer* to) noexcept nogil:
    """Appends the frames of one record to `to`. NEEDS_PYTHON, NEEDS_HOOK: nothing has changed."""
    cdef Told* t = &w.told
    cdef bint done
    if r.kind <= R_ARGUMENTS:
        return tell_delta(w, r, text + r.at, to)
    if t.journal.n >= MOST_JOURNAL and w.keeps_none:
        return NEEDS_PYTHON                                                  # which counts instead
    if r.kind == R_CALL_START:
        return tell_call(w, r, text, to)
    if r.kind == R_MESSAGE_START:
        done = journal(t, r, text)
        t.channel, t.has_text, t.spoke = min(r.channel, <uint8_t>OTHER_CHANNEL), 0, 0
        t.stale[0] = 1
    elif r.kind == R_MESSAGE_END:
        if asks_hook(w):
            return NEEDS_HOOK
        done = end_item(w, not t.cut or r.start < r.stop, to) and journal(t, r, text)
        t.said |= t.spoke
        t.stale[0] = 1
    elif r.kind == R_CALL_END:
        if t.open != R_ARGUMENTS:
            return TOLD                                                      # it was not shown
        done = end_item(w, r.flags & 1, to) and journal(t, r, text)
    else:
        return NEEDS_PYTHON
    t.hooked = False
    return TOLD if done else NO_MEMORY


cdef bint asks_hook(Writer* w) noexcept nogil:
    """Does the end of the open item ask something of Python that it has not done?"""
    cdef Told* t = &w.told
    if t.hooked or t.open != R_REASONING or not t.script.signed:
        return False
    return t.caught_up or not sign(w)                                        # Python may have the text's beginning


cdef bint sign(Writer* w) noexcept nogil:
    """The signature of the open item's text."""
    cdef Told* t = &w.told
    cdef const Buffer* kept = &w.kept[<int>R_REASONING]
    cdef Py_ssize_t n = kept.n - t.item_at
    t.hook.n = 0
    return put_signature(&t.hook, t.constants.p, t.constant_at[1], kept.p + t.item_at if n > 0 else NULL, n)


# --- items ---

cdef Answer tell_delta(Writer* w, const Record* r, const uint8_t* text, Buffer* to) noexcept nogil:
    cdef Told* t = &w.told
    cdef const Pieces* frame
    cdef uint8_t kind = r.kind, variant
    if w.frames[kind] == NULL:
        if kind == R_ARGUMENTS:
            return TOLD                                                      # of a call that is not shown
        variant = t.channel
        frame = &t.script.said[DELTA][kind][variant]
        if frame.items == NULL:
            return NEEDS_PYTHON
        if t.journal.n >= MOST_JOURNAL and w.keeps_none:
            return NEEDS_PYTHON
        if frame.silent:
            if not t.has_text and not note_run(w, kind, w.kept[kind].n, False):
                return NO_MEMORY
            t.has_text = 1
            w.frames[kind] = frame
            return TOLD
        if asks_hook(w):
            return NEEDS_HOOK
        t.hooked = False
        if t.script.no_blank and kind == R_CONTENT:
            if is_blank(text, r.n):
                return TOLD if hold_blank(w, text, r.n, to) else NO_MEMORY
            if t.blank:
                return TOLD if begin_with_blank(w, text, r.n, variant, to) else NO_MEMORY
        if not begin_item(w, kind, variant, to):
            return NO_MEMORY
    if w.frames[kind].silent:
        return TOLD
    return TOLD if put_delta(w, kind, text, r.n, to) else NO_MEMORY


cdef bint hold_blank(Writer* w, const uint8_t* text, Py_ssize_t n, Buffer* to) noexcept nogil:
    """White space alone begins no item of content, but it ends what is open. It waits for a delta that begins the item
    with it. If something else comes, it is never sent.
    """
    cdef Told* t = &w.told
    cdef Buffer* kept = &w.kept[<int>R_CONTENT]
    if not t.blank:
        if not end_item(w, True, to):
            return False
        t.item_at = kept.n
        if not note_run(w, R_CONTENT, kept.n, False):
            return False
        t.blank = t.had_blank = 1
    return put_escaped(kept, text, n)


cdef bint begin_with_blank(Writer* w, const uint8_t* text, Py_ssize_t n, uint8_t variant, Buffer* to) noexcept nogil:
    """What was held, and this text, are the first delta of an item of content."""
    cdef Told* t = &w.told
    cdef Py_ssize_t begin = t.item_at
    t.blank = 0
    t.has_text = 1
    t.spoke |= t.script.field[<int>R_CONTENT][variant]
    if not open_item(w, R_CONTENT, variant, to):
        return False
    t.item_at = begin
    return put_escaped(&w.kept[<int>R_CONTENT], text, n) and put_kept(w, R_CONTENT, begin, to)


cdef void drop_blank(Writer* w) noexcept nogil:
    """Nothing will begin with it. Python must know that there was some, because it has ended an item."""
    cdef Buffer* kept = &w.kept[<int>R_CONTENT]
    w.told.blank = 0
    if w.keeps_none:
        kept.p[w.told.item_at] = c' '
        kept.n = w.told.item_at + 1


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
    kept.n = w.told.item_at
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
    cdef Told* t = &w.told
    cdef uint8_t field = t.script.field[kind][variant]
    if not end_item(w, True, to):
        return False
    if not t.has_text and t.said & field and not say(w, &t.script.said[PART][kind][variant], to):
        return False
    if not note_run(w, kind, w.kept[kind].n, False):
        return False
    t.has_text = 1
    t.spoke |= field
    return open_item(w, kind, variant, to)


cdef bint open_item(Writer* w, uint8_t kind, uint8_t variant, Buffer* to) noexcept nogil:
    cdef Told* t = &w.told
    if w.kept[kind].cap == 0 and not w.drops[kind] and not buffer_room(&w.kept[kind], KEPT_ROOM):
        return False
    t.open, t.variant, t.item_at = kind, variant, w.kept[kind].n
    t.items += 1
    if not say(w, &t.script.said[BEGIN][kind][variant], to) or not bind(w, &t.script.said[DELTA][kind][variant]):
        return False
    w.frames[kind] = &t.bound
    return True


cdef bint end_item(Writer* w, bint complete, Buffer* to) noexcept nogil:
    """The open item ends, if there is one. No delta has a frame any more."""
    cdef Told* t = &w.told
    cdef uint8_t kind = t.open, variant = t.variant
    cdef bint done = True
    cdef int k
    if t.blank:
        drop_blank(w)
    if kind == R_ARGUMENTS and w.filtered:
        done = end_arguments(w, complete, to)
    for k in range(N_DELTAS):
        w.frames[k] = NULL
    if kind:
        t.open = 0
        done = done and say_of(w, kind, &t.script.said[END if complete else CUT][kind][variant], to)
        if w.keeps_none:
            w.kept[kind].n = t.item_at
            return done
        done = done and say_of(w, kind, &t.script.said[ITEM if complete else CUT_ITEM][kind][variant], &t.output)
    return done


cdef bint say_of(Writer* w, uint8_t kind, const Pieces* frame, Buffer* to) noexcept nogil:
    """Of an item that has just ended."""
    cdef bint done
    w.told.open = kind
    done = say(w, frame, to)
    w.told.open = 0
    return done


cdef Answer tell_call(Writer* w, const Record* r, const uint8_t* text, Buffer* to) noexcept nogil:
    cdef Told* t = &w.told
    if t.script.shown >= 0 and t.calls >= t.script.shown:
        return TOLD
    if (t.script.said[DELTA][<int>R_ARGUMENTS][0].items == NULL
            or (t.script.functions and r.flags != FUNCTION)
            or not utf8_is_whole(text + r.at, r.n)):
        return NEEDS_PYTHON
    if not t.hooked and (r.n_id or t.asks_ids or (t.script.filtered and w.filter == NULL) or asks_hook(w)):
        return NEEDS_HOOK
    t.hooked = False
    if not end_item(w, True, to) or not journal(t, r, text):
        return NO_MEMORY
    t.name.n = 0
    if not put_escaped(&t.name, text + r.at, r.n) or not note_run(w, R_ARGUMENTS, w.kept[<int>R_ARGUMENTS].n, False):
        return NO_MEMORY
    t.calls += 1
    if not r.n_id and not t.asks_ids:                                        # otherwise Python has decided it
        t.call_id.n = 0
        if not say(w, &t.script.call_id, &t.call_id):
            return NO_MEMORY
    w.filtered = t.script.filtered
    if w.filter != NULL:
        filter_clear(w.filter, MOST_LEFT)
    return TOLD if open_item(w, R_ARGUMENTS, 0, to) else NO_MEMORY


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

cdef bint say(Writer* w, const Pieces* frame, Buffer* to) noexcept nogil:
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
    cdef const Told* t = &w.told
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


cdef inline bint put_constant(const Told* t, int k, Buffer* to) noexcept nogil:
    return buffer_put(to, t.constants.p + t.constant_at[k], t.constant_at[k + 1] - t.constant_at[k])


cdef bint bind(Writer* w, const Pieces* frame) noexcept nogil:
    """The frame of the open item's deltas, with all filled in that stays as it is."""
    cdef Told* t = &w.told
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


# --- the journal ---

cdef bint journal(Told* t, const Record* r, const uint8_t* text) noexcept nogil:
    """Note a record, with its text."""
    cdef Entry entry
    cdef uint16_t n[4]
    entry.kind, entry.flags, entry.channel, entry.n_id = r.kind, r.flags, r.channel, r.n_id
    entry.index, entry.start, entry.stop, entry.at = r.index, r.start, r.stop, 0
    entry.n = 0
    if r.kind == R_MESSAGE_START:
        memcpy(n, text + r.at, 8)
        entry.n = 8 + n[0] + n[1] + n[2] + n[3]
    elif r.kind == R_CALL_START:
        entry.n = r.n + r.n_id
    return (buffer_put(&t.journal, <const uint8_t*>&entry, sizeof(Entry))
            and buffer_put(&t.journal, text + r.at, entry.n))


cdef bint note_run(Writer* w, uint8_t kind, Py_ssize_t at, bint goes_on) noexcept nogil:
    """Note that deltas of this kind begin, or go on, and where their text does in what is kept."""
    cdef Entry entry
    entry.kind, entry.flags, entry.channel, entry.n_id = kind, goes_on, 0, 0
    entry.index, entry.start, entry.stop, entry.at, entry.n = 0, 0, 0, at, 0
    return buffer_put(&w.told.journal, <const uint8_t*>&entry, sizeof(Entry))


cdef void forget_text(Told* t, uint8_t kind) noexcept nogil:
    """The text kept of this kind has been taken out. The text that follows begins at 0."""
    cdef Entry entry
    cdef Py_ssize_t at = 0
    if t.open == kind:
        t.item_at = 0
    while at < t.journal.n:
        memcpy(&entry, t.journal.p + at, sizeof(Entry))
        if entry.kind == kind:
            entry.at = 0
            memcpy(t.journal.p + at, &entry, sizeof(Entry))
        at += sizeof(Entry) + entry.n


cdef void told_free(Told* t) noexcept nogil:
    buffer_free(&t.constants)
    buffer_free(&t.name)
    buffer_free(&t.call_id)
    buffer_free(&t.usage)
    buffer_free(&t.hook)
    buffer_free(&t.output)
    buffer_free(&t.journal)
    buffer_free(&t.bound_text)
