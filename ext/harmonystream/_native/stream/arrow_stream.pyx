# A stream of Arrow arrays that others read chunk by chunk: each is made when it is asked for.

cimport cython
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdlib cimport calloc, free
from libc.string cimport memset
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.stream.arrow cimport ArrowArray, ArrowArrayStream, ArrowSchema

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    FAILED = 5                         # EIO, as C has it


@cython.final
cdef class Chunks:
    """What a stream's callbacks need."""
    cdef object kind                   # has __arrow_c_schema__
    cdef object chunks                 # an iterator of objects that have __arrow_c_array__
    cdef bytes error


def stream_of(kind, chunks):
    """An "arrow_array_stream" capsule: the arrays that the iterator `chunks` gives, of the type of `kind`.

    What the iterator raises becomes the error of the reader's call, and ends the stream.
    """
    cdef ArrowArrayStream* made
    cdef Chunks owner = Chunks.__new__(Chunks)
    owner.kind, owner.chunks = kind, chunks
    made = <ArrowArrayStream*>calloc(1, sizeof(ArrowArrayStream))
    if made == NULL:
        raise MemoryError()
    made.get_schema, made.get_next, made.get_last_error = get_schema, get_next, get_last_error
    made.release = release_stream
    made.private_data = <void*>owner
    Py_INCREF(owner)
    return PyCapsule_New(made, "arrow_array_stream", drop_stream)


cdef int get_schema(ArrowArrayStream* stream, ArrowSchema* to) noexcept with gil:
    cdef Chunks owner = <Chunks>stream.private_data
    try:
        capsule = owner.kind.__arrow_c_schema__()
        take_schema(<ArrowSchema*>PyCapsule_GetPointer(capsule, "arrow_schema"), to)
        return 0
    except BaseException as error:
        return failed(owner, error)


cdef int get_next(ArrowArrayStream* stream, ArrowArray* to) noexcept with gil:
    cdef Chunks owner = <Chunks>stream.private_data
    cdef ArrowArray* made
    memset(to, 0, sizeof(ArrowArray))
    try:
        piece = next(owner.chunks, None)
        if piece is not None:
            capsule = piece.__arrow_c_array__()[1]
            made = <ArrowArray*>PyCapsule_GetPointer(capsule, "arrow_array")
            to[0] = made[0]
            made.release = NULL                                              # the reader's now
        return 0
    except BaseException as error:
        return failed(owner, error)


cdef void take_schema(ArrowSchema* made, ArrowSchema* to) noexcept:
    to[0] = made[0]
    made.release = NULL


cdef int failed(Chunks owner, object error) noexcept:
    owner.chunks = iter(())
    owner.error = f"{type(error).__name__}: {error}".encode("utf-8", "replace")
    return FAILED


cdef const char* get_last_error(ArrowArrayStream* stream) noexcept with gil:
    cdef Chunks owner = <Chunks>stream.private_data
    if owner.error is None:
        return NULL
    return <const char*>owner.error


cdef void release_stream(ArrowArrayStream* stream) noexcept with gil:
    stream.release = NULL
    Py_DECREF(<object>stream.private_data)


cdef void drop_stream(object capsule) noexcept:
    cdef ArrowArrayStream* stream = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if stream.release != NULL:
        stream.release(stream)
    free(stream)
