# How this module was compiled. A release must never ship the tracing build: it is three times slower.

cdef extern from *:
    """
    #if defined(CYTHON_TRACE) && CYTHON_TRACE
      #define HARMONYSTREAM_DEBUG_BUILD 1
    #else
      #define HARMONYSTREAM_DEBUG_BUILD 0
    #endif
    """
    const int DEBUG_BUILD "HARMONYSTREAM_DEBUG_BUILD"
