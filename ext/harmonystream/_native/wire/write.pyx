# Writes records as frames, by the templates of an API, in the same way for all three APIs. A response is a row of
# items: texts, and calls. A delta of another kind than the open item's ends the item and begins another; so does the
# start of a call. The end of a message ends the open item. There is a template for each of these moments, or none. What
# is kept of an item is written by a template, too, into `output`.
#
# Where Python has a part in a record, nothing is written at first: `question` says what is to be answered, and
# SseWriter calls again with `answered`.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from harmonystream._native.core.buffer cimport buffer_clear, buffer_free, buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.json_text cimport UNREADABLE_SIZE, put_escaped, unreadable_text
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_is_whole
from harmonystream._native.wire.json_filter cimport A_BEGIN, Filter, filter_clear, filter_end, filter_read
from harmonystream._native.wire.signature cimport put_signature
from harmonystream._native.wire.template cimport *
from harmonystream._native.wire.writer cimport *

DEBUG = bool(DEBUG_BUILD)


cdef Outcome write_record(Writer* w, const Record* r, const uint8_t* text, Buffer* to) noexcept nogil:
    """Appends the frames of one record to `to`."""
    if w.always_asked & OF_TOKENS and must_ask(w, OF_TOKENS):
        return ASKS
    if r.kind <= R_ARGUMENTS:
        return write_delta(w, r, text + r.at, to)
    if r.kind == R_CALL_START:
        return write_call(w, r, text, to)
    if r.kind == R_MESSAGE_START:
        w.channel, w.has_text, w.fields_now = min(r.channel, <uint8_t>OTHER_CHANNEL), 0, 0
        w.stale[0] = 1
        return WRITTEN
    if r.kind == R_CALL_END and w.open != R_ARGUMENTS:
        return WRITTEN                                                       # the call is hidden
    if r.kind == R_EMPTY_ARGUMENTS:                                          # Python has their text
        w.question = 0
        return ASKS
    if must_ask_end(w):
        return ASKS
    if r.kind == R_CALL_END:
        return end_call(w, r.flags, to)
    if r.kind == R_MESSAGE_END:
        w.fields_before |= w.fields_now
        w.stale[0] = 1
    return WRITTEN if end_item(w, not w.cut or r.start < r.stop, to) else NO_MEMORY


cdef inline bint must_ask(Writer* w, uint8_t question) noexcept nogil:
    """Must this be answered first?"""
    if w.answered & question:
        return False
    w.question = question
    return True


cdef bint must_ask_end(Writer* w) noexcept nogil:
    """Must Python see the open item before it ends?"""
    if w.open == 0 or not ((w.open == R_ARGUMENTS and w.through)
                           or w.templates.seals[w.open][w.variant] == ASKED):
        return False
    return must_ask(w, OF_END)


# --- items ---

cdef Outcome write_delta(Writer* w, const Record* r, const uint8_t* text, Buffer* to) noexcept nogil:
    cdef const Template* delta
    cdef uint8_t kind = r.kind, variant = w.channel
    cdef Py_ssize_t n = r.n
    if w.delta_templates[kind] != NULL:
        return WRITTEN if w.delta_templates[kind].hidden or put_delta(w, kind, text, n, to) else NO_MEMORY
    if w.open == kind:
        return write_more(w, text, n, to)
    if kind == R_ARGUMENTS:
        return WRITTEN                                                       # of a call that is not shown
    delta = &w.templates.of_items[DELTA][kind][variant]
    if delta.hidden:
        w.has_text = 1
        if not w.always_asked & OF_TOKENS:
            w.delta_templates[kind] = delta
        return WRITTEN
    if w.trims and w.has_text and not w.blank and not w.templates.fields[kind][variant]:
        while n and text[0] == c'\n':                                        # it parts texts in one field
            text, n = text + 1, n - 1
        if n == 0:
            return WRITTEN
    if w.always_asked & OF_ITEM and must_ask(w, OF_ITEM):
        return ASKS
    if must_ask_end(w):
        return ASKS
    if w.templates.no_blank and kind == R_CONTENT:
        if is_blank(text, n):
            return WRITTEN if hold_blank(w, text, n, to) else NO_MEMORY
        if w.blank:
            return WRITTEN if begin_with_blank(w, text, n, variant, to) else NO_MEMORY
    if not begin_text(w, kind, variant, to):
        return NO_MEMORY
    return write_more(w, text, n, to)


cdef Outcome write_more(Writer* w, const uint8_t* text, Py_ssize_t n, Buffer* to) noexcept nogil:
    """A delta of the open item, whose frame needs more than a text."""
    cdef const Template* delta = &w.templates.of_items[DELTA][w.open][w.variant]
    if w.open == R_ARGUMENTS and w.through:
        if must_ask(w, OF_TEXT):
            return ASKS
        text, n = w.values[<int>V_TEXT].p, w.values[<int>V_TEXT].n
        if n == 0:
            return WRITTEN
    if delta.pieces == NULL:                                                 # it is not sent
        return WRITTEN if put_escaped(&w.text, text, n) else NO_MEMORY
    if w.always_asked & OF_TOKENS and not bind(w, delta):
        return NO_MEMORY
    return WRITTEN if put_delta(w, w.open, text, n, to) else NO_MEMORY


cdef bint hold_blank(Writer* w, const uint8_t* text, Py_ssize_t n, Buffer* to) noexcept nogil:
    """White space alone begins no item of content, but it ends what is open. It waits for a delta that begins the item
    with it. If something else comes, it is never sent.
    """
    if not w.blank and not end_item(w, True, to):
        return False
    w.blank = 1
    return put_escaped(&w.text, text, n)


cdef bint begin_with_blank(Writer* w, const uint8_t* text, Py_ssize_t n, uint8_t variant, Buffer* to) noexcept nogil:
    """What was held, and this text, are the first delta of an item of content."""
    w.blank = 0
    w.has_text = 1
    return (open_item(w, R_CONTENT, variant, to) and put_escaped(&w.text, text, n)
            and put_text(w, R_CONTENT, 0, to))


cdef bint put_delta(Writer* w, uint8_t kind, const uint8_t* text, Py_ssize_t n, Buffer* to) noexcept nogil:
    """A delta of the open item, in its frame."""
    cdef Py_ssize_t begin = w.text.n
    if kind == R_ARGUMENTS and w.filtered:
        return put_filtered(w, text, n, to)
    return put_escaped(&w.text, text, n) and put_text(w, kind, begin, to)


cdef bint put_filtered(Writer* w, const uint8_t* text, Py_ssize_t n, Buffer* to) noexcept nogil:
    """What the filter lets through of these arguments. The filter keeps them."""
    cdef const Buffer* sent = &w.filter.sent
    cdef Py_ssize_t before = sent.n
    cdef bint done = filter_read(w.filter, text, n)
    return done and put_sent(w, before, to)


cdef bint put_sent(Writer* w, Py_ssize_t before, Buffer* to) noexcept nogil:
    cdef const Buffer* sent = &w.filter.sent
    cdef bint done = True
    if sent.n > before:
        done = put_escaped(&w.text, sent.p + before, sent.n - before) and put_text(w, R_ARGUMENTS, 0, to)
        w.text.n = 0
    return done


cdef bint end_arguments(Writer* w, bint complete, Buffer* to) noexcept nogil:
    """What the filter lets through at their end. From here on the item's text is all of them."""
    cdef const Buffer* sent = &w.filter.sent
    cdef Py_ssize_t before = sent.n
    cdef bint done = filter_end(w.filter, complete) and put_sent(w, before, to)
    w.filtered = False
    return done and (w.keeps_none or put_escaped(&w.text, sent.p, sent.n))


cdef bint put_text(Writer* w, uint8_t kind, Py_ssize_t begin, Buffer* to) noexcept nogil:
    """The open item's text from `begin` on, in the frame of its deltas."""
    cdef Filling filling
    cdef Py_ssize_t size = fill_with(&filling, &w.bound, w.text.p + begin, w.text.n - begin, w.number)
    if not buffer_room(to, size):
        return False
    fill(&w.bound, to.p + to.n, &filling)
    to.n += size
    w.number = <int64_t>(<uint64_t>w.number + 1)                             # it wraps
    if w.drops[kind]:
        w.text.n = begin
    return True


cdef bint begin_text(Writer* w, uint8_t kind, uint8_t variant, Buffer* to) noexcept nogil:
    """What is open ends, and an item of this kind begins."""
    cdef uint8_t fields = w.templates.fields[kind][variant], parted = 0
    if not end_item(w, True, to):
        return False
    if not w.has_text:
        parted = w.fields_before & fields
    if parted and not (fill_template(w, &w.templates.part[parted], to)
                       and (w.keeps_none or fill_template(w, &w.templates.part_item[parted], &w.output))):
        return False
    w.has_text = 1
    w.fields_now |= fields
    return open_item(w, kind, variant, to)


cdef bint open_item(Writer* w, uint8_t kind, uint8_t variant, Buffer* to) noexcept nogil:
    if w.text.cap == 0 and not w.drops[kind] and not buffer_room(&w.text, TEXT_ROOM):
        return False
    take_next(w)
    w.open, w.variant = kind, variant
    w.items += 1
    w.values[<int>V_SEAL].n = 0
    return fill_template(w, &w.templates.of_items[BEGIN][kind][variant], to) and bind_open(w)


cdef inline void take_next(Writer* w) noexcept nogil:
    """What Python has decided of the item that begins is the open item's."""
    cdef Buffer value
    cdef int k
    if w.answered & (OF_CALL | OF_ITEM):
        for k in range(<int>N_NEXT):
            value = w.values[k]
            w.values[k] = w.next[k]
            w.next[k] = value
            w.next[k].n = 0


cdef bint bind_open(Writer* w) noexcept nogil:
    """Binds the template of the open item's deltas. Tokens use it directly, unless a question must be answered for
    each."""
    cdef const Template* delta = &w.templates.of_items[DELTA][w.open][w.variant]
    if delta.pieces == NULL:
        return True
    if not bind(w, delta):
        return False
    if not w.always_asked & OF_TOKENS and not (w.open == R_ARGUMENTS and w.through):
        w.delta_templates[w.open] = &w.bound
    return True


cdef Outcome end_call(Writer* w, uint8_t flags, Buffer* to) noexcept nogil:
    """The open call ends. One that the model closed and that cannot be read ends as if it were complete, so that the
    client answers it; what the client gets is not JSON, so that it runs nothing. What is passed on as free text has no
    such form: it is cut.
    """
    cdef bint unreadable = flags & UNREADABLE and not w.through
    if unreadable and write_more(w, unreadable_text(), UNREADABLE_SIZE, to) != WRITTEN:
        return NO_MEMORY
    return WRITTEN if end_item(w, unreadable or flags & COMPLETE, to) else NO_MEMORY


cdef bint end_item(Writer* w, bint complete, Buffer* to) noexcept nogil:
    """The open item ends, if there is one. No delta has a frame any more."""
    cdef uint8_t kind = w.open, variant = w.variant
    cdef const Template* moments
    cdef bint done = True
    cdef int k
    if kind == R_ARGUMENTS and w.filtered:
        done = end_arguments(w, complete, to)
    if kind == R_ARGUMENTS and w.through:
        if w.answered & OF_END and w.values[<int>V_TEXT].n:                  # the rest
            done = put_delta(w, kind, w.values[<int>V_TEXT].p, w.values[<int>V_TEXT].n, to)
        w.through = False
    for k in range(N_DELTAS):
        w.delta_templates[k] = NULL
    w.blank = 0
    if kind:
        if w.templates.seals[kind][variant] == HASH:
            done = done and sign(w)
        if w.values[<int>V_SEAL].n:
            done = done and fill_template(w, &w.templates.of_items[SEALED][kind][variant], to)
        done = done and fill_template(w, &w.templates.of_items[END if complete else CUT][kind][variant], to)
        if not w.keeps_none:
            done = done and fill_template(w, &w.templates.of_items[ITEM if complete else CUT_ITEM][kind][variant],
                                          &w.output)
        w.open = 0
    buffer_clear(&w.text, MOST_LEFT)
    return done


cdef bint sign(Writer* w) noexcept nogil:
    """The signature of the open item's text."""
    return put_signature(&w.values[<int>V_SEAL], w.constants.p, w.constant_at[1], w.text.p, w.text.n)


cdef Outcome write_call(Writer* w, const Record* r, const uint8_t* text, Buffer* to) noexcept nogil:
    cdef uint8_t variant = 0
    if w.templates.shown >= 0 and w.calls >= w.templates.shown:
        return WRITTEN
    if ((w.always_asked & OF_CALL or r.n_id or (w.templates.functions and r.flags != FUNCTION)
         or not utf8_is_whole(text + r.at, r.n)) and must_ask(w, OF_CALL)):
        return ASKS
    if must_ask_end(w):
        return ASKS
    if not end_item(w, True, to):
        return NO_MEMORY
    w.calls += 1
    if w.answered & OF_CALL:
        variant, w.through = w.next_variant, w.next_through
    else:
        w.values[<int>V_NAME].n = w.values[<int>V_CALL_ID].n = 0
        if (not put_escaped(&w.values[<int>V_NAME], text + r.at, r.n)
                or not fill_template(w, &w.templates.call_id, &w.values[<int>V_CALL_ID])):
            return NO_MEMORY
    if w.templates.filtered:
        if w.filter == NULL and not new_filter(w):
            return NO_MEMORY
        w.filtered = True
        filter_clear(w.filter, MOST_LEFT)
    return WRITTEN if open_item(w, R_ARGUMENTS, variant, to) else NO_MEMORY


cdef bint new_filter(Writer* w) noexcept nogil:
    w.filter = <Filter*>calloc(1, sizeof(Filter))
    if w.filter == NULL:
        return False
    w.filter.text_opening, w.filter.n_text_opening = w.text_opening, w.n_text_opening
    w.filter.step = A_BEGIN
    return True


cdef bint put_open_item(Writer* w, Buffer* to) noexcept nogil:
    """Appends what would be kept of the open item if it were cut here."""
    cdef Buffer text = w.text
    cdef bint done = True
    if w.open == 0:
        return True
    if w.open == R_ARGUMENTS and w.filtered:
        w.text.p, w.text.n, w.text.cap = NULL, 0, 0
        done = put_escaped(&w.text, w.filter.sent.p, w.filter.sent.n)
    done = done and fill_template(w, &w.templates.of_items[CUT_ITEM][w.open][w.variant], to)
    if w.open == R_ARGUMENTS and w.filtered:
        buffer_free(&w.text)
        w.text = text
    return done


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


# --- templates ---

cdef bint fill_template(Writer* w, const Template* template, Buffer* to) noexcept nogil:
    """A template with its holes filled. Each hole for the running number takes the next one."""
    cdef const TemplatePiece* piece = template.pieces
    if piece == NULL:
        return True
    if not buffer_room(to, template.size):                                   # at once, not piece by piece
        return False
    while True:
        if not buffer_put(to, piece.p, piece.n):
            return False
        if piece.hole == NO_HOLE:
            return True
        if piece.hole == H_NUMBER:
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


cdef bint put_value(Writer* w, uint8_t hole, Buffer* to) noexcept nogil:
    cdef const Buffer* value = &w.text
    if hole == H_ITEM_INDEX:
        return put_number(w.items - 1, to)
    if hole == H_CALL_INDEX:
        return put_number(w.calls - 1, to)
    if hole == H_OUTPUT:                                                     # without the first one's comma
        return w.output.n == 0 or buffer_put(to, w.output.p + 1, w.output.n - 1)
    if H_RESPONSE_ID <= hole <= H_HEAD:
        return put_constant(w, hole - H_RESPONSE_ID, to)
    if H_PROMPT_TOKENS <= hole <= H_REASONING_TOKENS:
        return put_number(w.counts[hole - H_PROMPT_TOKENS], to)
    if hole == H_LOGPROBS or hole == H_TOKEN_IDS:
        w.used = True
    if hole != H_TEXT:
        value = &w.values[hole - H_CALL_NAME]
    return buffer_put(to, value.p, value.n)


cdef inline bint put_constant(const Writer* w, int k, Buffer* to) noexcept nogil:
    return buffer_put(to, w.constants.p + w.constant_at[k], w.constant_at[k + 1] - w.constant_at[k])


cdef bint bind(Writer* w, const Template* template) noexcept nogil:
    """The frame of the open item's deltas, with all filled in that stays as it is."""
    cdef const TemplatePiece* piece = template.pieces
    cdef TemplatePiece* bound = w.bound_pieces
    cdef const uint8_t* text
    cdef Py_ssize_t begin = 0
    cdef int n = 0, i
    w.bound_text.n = 0
    while True:
        if not buffer_put(&w.bound_text, piece.p, piece.n):
            return False
        if piece.hole == NO_HOLE or piece.hole == H_DELTA or piece.hole == H_NUMBER:
            bound[n].n, bound[n].hole = w.bound_text.n - begin, piece.hole
            begin = w.bound_text.n
            n += 1
            if piece.hole == NO_HOLE or n == MOST_PIECES:
                break
        elif not put_value(w, piece.hole, &w.bound_text):
            return False
        piece += 1
    begin = 0
    text = w.bound_text.p
    if w.bound_text.n <= BOUND_ROOM:
        memcpy(w.bound_room, text, w.bound_text.n)
        text = w.bound_room
    w.bound.pieces, w.bound.n, w.bound.size, w.bound.hidden = bound, n, w.bound_text.n, False
    w.bound.texts, w.bound.numbers = template.texts, template.numbers
    for i in range(n):
        bound[i].p = text + begin
        begin += bound[i].n
    return True


cdef void writer_free(Writer* w) noexcept nogil:
    cdef int k
    for k in range(<int>N_VALUES):
        buffer_free(&w.values[k])
    for k in range(<int>N_NEXT):
        buffer_free(&w.next[k])
    if w.filter != NULL:
        buffer_free(&w.filter.sent)
        buffer_free(&w.filter.raw)
        buffer_free(&w.filter.held)
        free(w.filter)
    buffer_free(&w.text)
    buffer_free(&w.constants)
    buffer_free(&w.output)
    buffer_free(&w.bound_text)
