# A slot's line: what makes a frame of a plain token. The lines of a batch lie in a row. So a step of many streams reads
# these, and neither the streams nor their writers, which lie anywhere. settle_line() tells the writer what was written.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy
from harmonystream._native.core.buffer cimport buffer_room
from harmonystream._native.core.types cimport *
from harmonystream._native.wire.frame cimport DIGITS, FramePiece, Pieces, number_text

cdef enum:
    NEWEST = 208                       # bytes of text that the line holds for the writer
    BLOCK = 16                         # a short text is copied as so many bytes, whatever its size
    LINE_ROOM = 320                    # bytes of a frame; the writer itself fills a larger one

cdef struct Line:
    # what each token reads or writes is in the first 64 bytes, and in the two rooms
    int64_t number                     # the next frame's
    uint16_t before, between, after    # bytes of the frame: up to the text, from there to the number, and after that
    uint8_t kind                       # of the deltas that the frame is for; 0: the writer fills its frames itself
    uint8_t n                          # bytes of the newest text
    uint8_t numbered                   # has the frame a number? If not, `after` is 0
    uint8_t silent                     # nothing is written or kept
    int32_t item                       # the frame was copied for this item,
    const FramePiece* of               # from these pieces; NULL: there is no frame
    uint8_t* at[2]                     # where the newest text goes when there is more than fits here
    Buffer* keeps[2]                   # in these buffers; NULL: nowhere
    Py_ssize_t room                    # bytes that the buffers had left at settle_line()
    Py_ssize_t moved                   # bytes that have gone there since then
    int64_t* told                      # where the writer has the next frame's number
    void** writer_at                   # where the slot has its writer, which ends that when it goes
    uint8_t newest[NEWEST + BLOCK]
    uint8_t frame[LINE_ROOM]


cdef inline void settle_line(Line* line) noexcept nogil:
    """Tell the writer."""
    cdef int k
    if line.kind == 0 or line.silent:
        return
    move_newest(line)
    line.told[0] = line.number
    for k in range(2):
        if line.keeps[k] != NULL:
            line.keeps[k].n += line.moved
    line.room -= line.moved
    line.moved = 0


cdef inline void move_newest(Line* line) noexcept nogil:
    """Where it goes has room for NEWEST bytes."""
    cdef int k
    if line.n:
        for k in range(2):
            if line.keeps[k] != NULL:
                memcpy(line.at[k], line.newest, NEWEST)
                line.at[k] += line.n
        line.moved += line.n
        line.n = 0


cdef inline void leave_line(Line* line) noexcept nogil:
    """The writer writes the next frames, and knows of all before them."""
    settle_line(line)
    line.kind = 0


cdef inline bint have_room(Line* line) noexcept nogil:
    """After settle_line(): room for as much as the line can hold. False: no memory."""
    cdef Buffer* keep
    cdef int k
    line.n = 0
    line.moved = 0
    line.room = NEWEST
    for k in range(2):
        keep = line.keeps[k]
        if keep != NULL:
            if not buffer_room(keep, NEWEST):
                return False
            line.at[k] = keep.p + keep.n
            line.room = keep.cap - keep.n if k == 0 else min(line.room, keep.cap - keep.n)
    return True


cdef inline bint hold_frame(Line* line, const Pieces* frame, int32_t item) noexcept nogil:
    """Copy the frame, if the line can fill it: one text, and after it at most one number."""
    cdef const FramePiece* piece = frame.items
    cdef Py_ssize_t n = 0
    line.of = NULL
    if frame.texts != 1 or frame.numbers > 1 or piece.hole != c't' or frame.size > LINE_ROOM:
        return False
    line.before, line.between, line.after = <uint16_t>piece.n, <uint16_t>piece[1].n, 0
    line.numbered = frame.numbers == 1
    if line.numbered:
        line.after = <uint16_t>piece[2].n
    while True:
        memcpy(line.frame + n, piece.p, piece.n)
        n += piece.n
        if piece.hole == 0:
            break
        piece += 1
    line.of, line.item = frame.items, item
    return True


cdef inline bint put_line(Line* line, const uint8_t* text, Py_ssize_t n, Buffer* said) noexcept nogil:
    """Append the frame of a short text that needs no escapes. BLOCK bytes of it can be read. False: no memory."""
    cdef const uint8_t* frame = line.frame
    cdef uint8_t* to
    if line.n + n > NEWEST:
        move_newest(line)
        if line.moved + NEWEST > line.room and line.keeps[0] != NULL:
            settle_line(line)
            if not have_room(line):
                return False
    if not buffer_room(said, LINE_ROOM + BLOCK + DIGITS):
        return False
    to = said.p + said.n
    memcpy(to, frame, line.before)
    to += line.before
    frame += line.before
    memcpy(to, text, BLOCK)
    memcpy(line.newest + line.n, text, BLOCK)
    to += n
    line.n += <uint8_t>n
    memcpy(to, frame, line.between)
    to += line.between
    if line.numbered:
        to += number_text(line.number, to)
        memcpy(to, frame + line.between, line.after)
        to += line.after
    line.number = <int64_t>(<uint64_t>line.number + 1)                       # it wraps
    said.n = to - said.p
    return True
