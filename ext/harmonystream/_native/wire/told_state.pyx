# What a script has told, as bytes: the text that is kept of each kind of delta, then the journal. The rest of the state
# follows from these two. To restore it, the journal is told again, and nobody gets the frames. So bytes from outside
# can only make a state that some output of a model would have made. Each text must be the inside of a JSON string.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from harmonystream._native.core.buffer cimport buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport are_literal, hex_digit, is_literal
from harmonystream._native.core.fields cimport *
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_is_whole
from harmonystream._native.wire.tell cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    ENTRY_SIZE = 5                     # bytes of an entry at most, beside its text

cdef struct Texts:                     # what is kept of each kind of delta, and how much of it the entries had
    const uint8_t* p[N_DELTAS]
    Py_ssize_t n[N_DELTAS]
    Py_ssize_t at[N_DELTAS]


# --- out ---

cdef bint told_pack(const Writer* w, Buffer* to) noexcept nogil:
    """Appends what the script has told. False without memory."""
    cdef Fields f
    cdef uint32_t n
    cdef Py_ssize_t begin = to.n
    cdef int kind
    if not buffer_room(to, 4 * N_DELTAS):
        return False
    begin_fields(&f, to, 4 * N_DELTAS)
    for kind in range(R_REASONING, N_DELTAS):
        n = <uint32_t>w.kept[kind].n
        word_field(&f, &n)
    to.n = begin + f.at
    for kind in range(R_REASONING, N_DELTAS):
        if not buffer_put(to, w.kept[kind].p, w.kept[kind].n):
            return False
    return put_entries(w, to)


cdef bint put_entries(const Writer* w, Buffer* to) noexcept nogil:
    cdef Entry entry
    cdef Py_ssize_t at = 0
    cdef Py_ssize_t[N_DELTAS] last, begun                  # where the last run of a kind has its length; -1: no run
    cdef int kind
    for kind in range(N_DELTAS):
        last[kind] = -1
        begun[kind] = 0
    while at < w.told.journal.n:
        memcpy(&entry, w.told.journal.p + at, sizeof(Entry))
        at += sizeof(Entry)
        if entry.kind <= R_ARGUMENTS:
            end_run(to, last[entry.kind], entry.at - begun[entry.kind])
            begun[entry.kind] = entry.at
        if not put_entry(&entry, w.told.journal.p + at, to):
            return False
        if entry.kind <= R_ARGUMENTS:
            last[entry.kind] = to.n - 4
        at += entry.n
    for kind in range(R_REASONING, N_DELTAS):
        end_run(to, last[kind], w.kept[kind].n - begun[kind])
    return True


cdef void end_run(Buffer* to, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
    """A run has n bytes. Its entry could not know."""
    cdef Fields f
    if at >= 0:
        f.p, f.n, f.at, f.writing, f.truncated = to.p + at, 4, 0, True, False
        field(&f, <uint32_t>n, 4)


cdef bint put_entry(const Entry* entry, const uint8_t* text, Buffer* to) noexcept nogil:
    cdef Fields f
    cdef uint8_t kind = entry.kind, more = entry.channel
    cdef uint16_t n = <uint16_t>entry.n
    if not buffer_room(to, ENTRY_SIZE + entry.n):
        return False
    begin_fields(&f, to, ENTRY_SIZE)
    byte_field(&f, &kind)
    if kind <= R_ARGUMENTS:
        field(&f, 0, 4)
    elif kind != R_MESSAGE_END:
        more = entry.channel if kind == R_MESSAGE_START else entry.flags
        byte_field(&f, &more)
    if kind == R_MESSAGE_START or kind == R_CALL_START:
        short_field(&f, &n)
    to.n += f.at
    return buffer_put(to, text, entry.n)


cdef inline void begin_fields(Fields* f, Buffer* to, Py_ssize_t n) noexcept nogil:
    """To write where the buffer ends; it has room for n bytes."""
    f.p, f.n, f.at, f.writing, f.truncated = to.p + to.n, n, 0, True, False


# --- in ---

cdef Fault told_unpack(Writer* w, Fields* f, Buffer* frames) noexcept nogil:
    """Tells all of it again, to a writer that has only begun its script. Nobody gets the frames: give it any room."""
    cdef Texts texts
    cdef Fault fault = USABLE
    cdef int kind
    memset(&texts, 0, sizeof(Texts))
    for kind in range(R_REASONING, N_DELTAS):
        texts.n[kind] = field(f, 0, 4)
    for kind in range(R_REASONING, N_DELTAS):
        texts.p[kind] = taken(f, texts.n[kind])
    while f.at < f.n and fault == USABLE and not f.truncated:
        frames.n = 0
        fault = entry_again(w, f, &texts, frames)
    frames.n = 0
    w.told.hooked = False
    for kind in range(R_REASONING, N_DELTAS):
        if texts.at[kind] != texts.n[kind]:
            fault = max(fault, REFUSED)
    return REFUSED if f.truncated else fault


cdef const uint8_t* taken(Fields* f, Py_ssize_t n) noexcept nogil:
    """The next n bytes."""
    if n > f.n - f.at:
        f.truncated = True
        return f.p
    f.at += n
    return f.p + f.at - n


cdef Fault entry_again(Writer* w, Fields* f, Texts* texts, Buffer* frames) noexcept nogil:
    cdef Record r
    cdef const uint8_t* text
    cdef Answer answer
    memset(&r, 0, sizeof(Record))
    r.stop = 1
    r.kind = <uint8_t>field(f, 0, 1)
    if R_REASONING <= r.kind <= R_ARGUMENTS:
        return run_again(w, &r, field(f, 0, 4), texts, frames)
    if r.kind == R_MESSAGE_START:
        r.channel = <uint8_t>field(f, 0, 1)
    elif r.kind == R_CALL_START or r.kind == R_CALL_END:
        r.flags = <uint8_t>field(f, 0, 1)
        r.index = w.told.calls - (r.kind == R_CALL_END)
    elif r.kind != R_MESSAGE_END:
        return REFUSED
    if r.kind == R_MESSAGE_START or r.kind == R_CALL_START:
        r.n = field(f, 0, 2)
    text = taken(f, r.n)
    if f.truncated or not is_possible(&r, text):
        return REFUSED
    w.told.hooked = True                                                     # a filter or a signature comes later
    answer = tell(w, &r, text, frames)
    w.filtered = False                                                       # what it let through is what was kept
    return USABLE if answer == TOLD else LACKS_MEMORY if answer == NO_MEMORY else REFUSED


cdef bint is_possible(const Record* r, const uint8_t* text) noexcept nogil:
    """Would a machine write it? Its text is read by lengths of its own."""
    cdef uint16_t n[4]
    if r.kind == R_MESSAGE_START:
        if r.channel > OTHER_CHANNEL or r.n < 8:
            return False
        memcpy(n, text, 8)
        return r.n == 8 + n[0] + n[1] + n[2] + n[3]
    if r.kind == R_CALL_START:
        return FUNCTION <= r.flags <= OTHER_CALL and r.n > 0
    return r.flags < 8


cdef Fault run_again(Writer* w, Record* r, Py_ssize_t n, Texts* texts, Buffer* frames) noexcept nogil:
    """Deltas of one kind. They are kept as they were: escaped, and without a frame for each."""
    cdef const uint8_t* text = texts.p[r.kind] + texts.at[r.kind]
    cdef Answer answer
    if n > texts.n[r.kind] - texts.at[r.kind] or not is_inside_string(text, n):
        return REFUSED
    if not buffer_room(&w.kept[r.kind], n + 1):                              # tell() reads it there, though it is empty
        return LACKS_MEMORY
    texts.at[r.kind] += n
    w.told.hooked = True
    answer = tell(w, r, text, frames)
    if answer != TOLD:
        return LACKS_MEMORY if answer == NO_MEMORY else REFUSED
    if n and (w.frames[r.kind] == NULL or w.frames[r.kind].silent):          # it is hidden: nothing was kept
        return REFUSED
    return USABLE if buffer_put(&w.kept[r.kind], text, n) else LACKS_MEMORY


cdef bint is_inside_string(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Could json_escape() have written this?"""
    cdef Py_ssize_t i = 0
    cdef uint64_t eight, high = 0
    cdef uint8_t c, found, high_bits
    cdef int k
    while i + 32 <= n:                                                       # a loop that compilers make wide
        found = high_bits = 0
        for k in range(32):
            c = p[i + k]
            found |= (c < 32) | (c == c'"') | (c == c'\\')
            high_bits |= c
        if found:
            break
        high |= high_bits
        i += 32
    while i < n:
        if i + 8 <= n and are_literal(p + i):
            memcpy(&eight, p + i, 8)
            high |= eight
            i += 8
            continue
        c = p[i]
        high |= c
        i += 1
        if is_literal(c):
            continue
        if c != c'\\' or i == n:
            return False
        c = p[i]
        i += 1
        if c == c'u':
            if n - i < 4 or p[i] != c'0' or p[i + 1] != c'0' or hex_digit(p[i + 2]) < 0 or hex_digit(p[i + 3]) < 0:
                return False
            i += 4
        elif c != c'"' and c != c'\\' and c != c'b' and c != c't' and c != c'n' and c != c'f' and c != c'r':
            return False
    return high & <uint64_t>0x8080808080808080 == 0 or utf8_is_whole(p, n)
