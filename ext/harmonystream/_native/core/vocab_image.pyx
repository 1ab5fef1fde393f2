# A vocabulary as bytes that can be mapped: what save() writes, and what load() believes of them. A file comes from
# outside: all that memory safety depends on is checked here, once, before anything is read by it.

from cpython.buffer cimport Py_buffer, PyBUF_SIMPLE, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.utf8 cimport utf8_is_whole
from harmonystream._native.core.vocab cimport MAX_IDS, UNFILLED, V_CONTROL, V_MISSING, V_VALID, Vocab
from harmonystream.errors import VocabError

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    PADDING = 16                       # zero bytes after the text, which is read in blocks


def image_of(Vocab vocab not None):
    """Offsets (uint32, one more than there are ids), flags (a byte each) and the padded text, as bytes."""
    cdef uint32_t size = vocab.offset[vocab.n]
    text = PyBytes_FromStringAndSize(<const char*>vocab.text, size)
    return (PyBytes_FromStringAndSize(<const char*>vocab.offset, (vocab.n + 1) * sizeof(uint32_t)),
            PyBytes_FromStringAndSize(<const char*>vocab.flags, vocab.n), text + bytes(PADDING))


def vocab_of(image, Py_ssize_t n, Py_ssize_t size, uint64_t fingerprint, str name not None, str path):
    """The vocabulary of n ids and `size` bytes of text whose image begins this buffer, which it keeps.

    Raises VocabError for an image that save() cannot have written.
    """
    cdef Vocab vocab = Vocab(UNFILLED, None, name)
    cdef const uint8_t* p
    vocab.view = viewed(image)
    p = <const uint8_t*>vocab.view.buf
    if not 0 < n <= MAX_IDS or not 0 <= size <= 0xFFFFFFFF - PADDING:
        refuse("a count is out of range")
    if vocab.view.len < (n + 1) * <Py_ssize_t>sizeof(uint32_t) + n + size + PADDING or <size_t>p % sizeof(uint32_t):
        refuse("it is truncated")
    vocab.n = <uint32_t>n
    vocab.offset = <uint32_t*>p
    vocab.flags = <uint8_t*>p + (n + 1) * sizeof(uint32_t)
    vocab.text = vocab.flags + n
    vocab.hashed = fingerprint
    vocab.path = path
    if not offsets_ascend(vocab.offset, vocab.n, <uint32_t>size):
        refuse("its offsets do not ascend")
    if not flags_hold(vocab.offset, vocab.flags, vocab.text, vocab.n):
        refuse("its flags do not fit its tokens")
    name_controls(vocab)
    return vocab


cdef Py_buffer* viewed(object image) except NULL:
    cdef Py_buffer* view = <Py_buffer*>malloc(sizeof(Py_buffer))
    if view == NULL:
        raise MemoryError()
    try:
        PyObject_GetBuffer(image, view, PyBUF_SIMPLE)
    except BaseException:
        free(view)
        raise
    return view


cdef int refuse(str what) except -1:
    raise VocabError(f"not a usable vocabulary file: {what}")


cdef bint offsets_ascend(const uint32_t* offset, uint32_t n, uint32_t size) noexcept nogil:
    cdef uint32_t i
    for i in range(n):
        if offset[i] > offset[i + 1]:
            return False
    return offset[0] == 0 and offset[n] == size


cdef bint flags_hold(const uint32_t* offset, const uint8_t* flags, const uint8_t* text, uint32_t n) noexcept nogil:
    """A hole has no bytes, and V_VALID is where the bytes are whole characters: they become str unchecked."""
    cdef uint32_t i, size
    cdef bint whole
    for i in range(n):
        size = offset[i + 1] - offset[i]
        if flags[i] == V_MISSING:
            if size:
                return False
            continue
        whole = size > 0 and utf8_is_whole(text + offset[i], size)
        if flags[i] & ~V_CONTROL != (V_VALID if whole else 0):
            return False
    return True


cdef int name_controls(Vocab vocab) except -1:
    """A control id's bytes are its name."""
    cdef uint32_t i
    for i in range(vocab.n):
        if vocab.flags[i] & V_CONTROL:
            try:
                name = vocab.text[vocab.offset[i]:vocab.offset[i + 1]].decode()
            except UnicodeDecodeError:
                refuse("the name of a control id is not text")
            if name in vocab.by_name:
                refuse(f"two control ids have the name {name!r}")
            vocab.by_name[name] = i
    return 0


def give_encoder(Vocab vocab not None, encoder):
    """Sets the Encoder, once, before the vocabulary is shared."""
    vocab.encoder = encoder


def encoder_of(Vocab vocab not None):
    """The Encoder that encode() calls, or None."""
    return vocab.encoder
