# Columns as Arrow arrays: a tree of nodes that own their buffers, and what others are given of it. Nothing is copied.

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.stream.arrow cimport NULLABLE, ArrowArray, ArrowSchema

DEBUG = bool(DEBUG_BUILD)


@cython.final
cdef class Node:
    """Node(format, name, length, buffers, children=(), null_count=0)
--

    One array: its type as Arrow spells it, and bytes for each of its buffers (None: it has no validity bitmap).

    It speaks Arrow's PyCapsule protocol. What was exported keeps its memory."""
    cdef bytes format, name
    cdef readonly int64_t length
    cdef int64_t null_count
    cdef tuple buffers, children

    def __cinit__(self, bytes format not None, str name not None, int64_t length, tuple buffers not None,
                  tuple children=(), int64_t null_count=0):
        self.format, self.name, self.length, self.null_count = format, name.encode(), length, null_count
        self.buffers, self.children = buffers, children

    def __len__(self):
        return self.length

    def __arrow_c_schema__(self):
        # the type alone
        cdef ArrowSchema* made = <ArrowSchema*>calloc(1, sizeof(ArrowSchema))
        if made == NULL:
            raise MemoryError()
        if not schema_of(self, made):
            free(made)
            raise MemoryError()
        return PyCapsule_New(made, "arrow_schema", drop_schema)

    def __arrow_c_array__(self, requested_schema=None):
        # the type and the data; a type that is requested is not looked at, which Arrow allows
        cdef ArrowArray* made
        schema = self.__arrow_c_schema__()
        made = <ArrowArray*>calloc(1, sizeof(ArrowArray))
        if made == NULL:
            raise MemoryError()
        if not array_of(self, made):
            free(made)
            raise MemoryError()
        return schema, PyCapsule_New(made, "arrow_array", drop_array)


# --- schemas: they own the node, whose strings they point to ---

cdef bint schema_of(Node node, ArrowSchema* to):
    cdef Py_ssize_t i, n = len(node.children)
    memset(to, 0, sizeof(ArrowSchema))
    if n:
        to.children = <ArrowSchema**>calloc(n, sizeof(ArrowSchema*))
        if to.children == NULL:
            return False
    to.format = PyBytes_AS_STRING(node.format)
    to.name = PyBytes_AS_STRING(node.name)
    to.flags = NULLABLE
    to.private_data = <void*>node
    Py_INCREF(node)
    to.release = release_schema
    for i in range(n):
        to.children[i] = <ArrowSchema*>malloc(sizeof(ArrowSchema))
        if to.children[i] == NULL or not schema_of(<Node>node.children[i], to.children[i]):
            free(to.children[i])
            release_schema(to)
            return False
        to.n_children += 1
    return True


cdef void release_schema(ArrowSchema* given) noexcept with gil:
    cdef int64_t i
    for i in range(given.n_children):
        if given.children[i].release != NULL:
            given.children[i].release(given.children[i])
        free(given.children[i])
    free(given.children)
    given.release = NULL
    Py_DECREF(<object>given.private_data)


cdef void drop_schema(object capsule) noexcept:
    cdef ArrowSchema* given = <ArrowSchema*>PyCapsule_GetPointer(capsule, "arrow_schema")
    if given.release != NULL:
        given.release(given)
    free(given)


# --- arrays ---

cdef bint array_of(Node node, ArrowArray* to):
    cdef Py_ssize_t i, n = len(node.children), n_buffers = len(node.buffers)
    memset(to, 0, sizeof(ArrowArray))
    to.children = <ArrowArray**>calloc(n + 1, sizeof(ArrowArray*))
    to.buffers = <const void**>calloc(n_buffers + 1, sizeof(void*))
    if to.children == NULL or to.buffers == NULL:
        free(to.children)
        free(to.buffers)
        return False
    for i in range(n_buffers):
        if node.buffers[i] is not None:
            to.buffers[i] = PyBytes_AS_STRING(node.buffers[i])
    to.length, to.null_count, to.n_buffers = node.length, node.null_count, n_buffers
    to.private_data = <void*>node
    Py_INCREF(node)
    to.release = release_array
    for i in range(n):
        to.children[i] = <ArrowArray*>malloc(sizeof(ArrowArray))
        if to.children[i] == NULL or not array_of(<Node>node.children[i], to.children[i]):
            free(to.children[i])
            release_array(to)
            return False
        to.n_children += 1
    return True


cdef void release_array(ArrowArray* given) noexcept with gil:
    cdef int64_t i
    for i in range(given.n_children):
        if given.children[i].release != NULL:
            given.children[i].release(given.children[i])
        free(given.children[i])
    free(given.children)
    free(given.buffers)
    given.release = NULL
    Py_DECREF(<object>given.private_data)


cdef void drop_array(object capsule) noexcept:
    cdef ArrowArray* given = <ArrowArray*>PyCapsule_GetPointer(capsule, "arrow_array")
    if given.release != NULL:
        given.release(given)
    free(given)
