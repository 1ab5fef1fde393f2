# Which token landed where: usage per region, labels, and the positions of a header's bytes.
#
# Positions count tokens in id mode and bytes in text mode. `step_of` says which: byte i of a piece is at `at + i *
# step`.

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset
from harmonystream._native.core.types cimport *


cdef inline int step_of(const Stream* s) noexcept nogil:
    return s.input_mode == TEXT_MODE


cdef inline void landed(Stream* s, uint8_t region, Py_ssize_t n) noexcept nogil:
    """n bytes belong to the region. In id mode the token's last word decides, when it is over."""
    if step_of(s):
        s.usage[region] += n
    else:
        s.token_region = region


cdef inline int mark_width(const Tables* t, uint8_t c) noexcept nogil:
    """What a header byte took in text mode: marks were spelled out."""
    return t.spellings[M_CHANNEL].n if c == MARK_CHANNEL else t.spellings[M_CONSTRAIN].n if c == MARK_CONSTRAIN else 1


cdef inline int64_t header_position(const Stream* s, const Context* c, int end) noexcept nogil:
    """Position of the token that holds header[end]; bytes that came with the prompt are at 0."""
    cdef int64_t position = s.header_text_at - (0 if step_of(s) else 1)
    cdef int i
    if end < s.prompt_n:
        return 0
    for i in range(s.prompt_n, end if step_of(s) else end + 1):
        if step_of(s):
            position += mark_width(c.tables, s.header[i])
        else:
            position += (s.token_starts[i >> 3] >> (i & 7)) & 1
    return position if position > 0 else 0


cdef inline void relabel(Stream* s, const Context* c, int i) noexcept nogil:
    """Header bytes from i on turned out to be a body: their tokens move to its region.

    The token being read moves itself.
    """
    cdef int64_t at
    cdef bint begins
    s.token_region = s.region if s.token_region == IN_HEADER else s.token_region
    if i >= s.header_n:
        return
    at = header_position(s, c, i)
    while i < s.header_n:
        if step_of(s):
            s.usage[IN_HEADER] -= 1
            s.usage[s.region] += 1
        elif at < s.position and (s.header[i] != MARK_INERT or s.region == IN_SUPPRESSED):
            s.usage[IN_HEADER] -= 1
            s.usage[s.region] += 1
            if c.out.labels != NULL:
                c.out.labels[at] = s.region
        i += 1
        while i < s.header_n and not step_of(s):
            begins = (s.token_starts[i >> 3] >> (i & 7)) & 1
            if begins:
                break
            i += 1
        at += 1


cdef inline void disown_header(Stream* s, Out* o, int64_t stop) noexcept nogil:
    """The header up to `stop` belongs to another role's message, so its tokens are SUPPRESSED."""
    cdef int64_t n = stop - s.header_at
    s.usage[IN_HEADER] -= n
    s.usage[IN_SUPPRESSED] += n
    if o.labels != NULL:
        memset(o.labels + s.header_at, IN_SUPPRESSED, n)
