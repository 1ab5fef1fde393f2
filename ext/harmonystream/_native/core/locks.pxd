# Flags that one caller at a time may raise, single reads and writes that other threads see whole, and waiting for the
# GIL.

from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    /* A flag that one caller at a time may raise. */
    #if defined(_MSC_VER)
      #include <intrin.h>
      #define hs_enter(flag) (_InterlockedExchange8((flag), 1) == 0)
      #define hs_leave(flag) ((void)_InterlockedExchange8((flag), 0))
      #define hs_is_in(flag) (_InterlockedOr8((flag), 0) != 0)
      #define hs_get_byte(p) (*(const volatile uint8_t *)(p))
      #define hs_get_int(p) ((int)_InterlockedOr((volatile long *)(p), 0))
      #define hs_put_int(p, v) ((void)_InterlockedExchange((volatile long *)(p), (v)))
    #else
      #define hs_enter(flag) (__atomic_exchange_n((flag), 1, __ATOMIC_ACQUIRE) == 0)
      #define hs_leave(flag) (__atomic_store_n((flag), 0, __ATOMIC_RELEASE))
      #define hs_is_in(flag) (__atomic_load_n((flag), __ATOMIC_ACQUIRE) != 0)
      #define hs_get_byte(p) (__atomic_load_n((p), __ATOMIC_RELAXED))
      #define hs_get_int(p) (__atomic_load_n((p), __ATOMIC_ACQUIRE))
      #define hs_put_int(p, v) (__atomic_store_n((p), (v), __ATOMIC_RELEASE))
    #endif

    /* Another thread may write the caller's buffer while it is read: what is checked must be what is used. */
    #define hs_read_once(p) (*(const volatile uint32_t *)(p))

    #ifdef Py_GIL_DISABLED
      #define HS_FREE_THREADED 1
    #else
      #define HS_FREE_THREADED 0
    #endif
    """
    bint enter "hs_enter"(char* flag) noexcept nogil                         # False: another thread is in
    void leave "hs_leave"(char* flag) noexcept nogil
    bint is_in "hs_is_in"(char* flag) noexcept nogil
    uint8_t get_byte "hs_get_byte"(const uint8_t* p) noexcept nogil
    int get_int "hs_get_int"(int* p) noexcept nogil
    void put_int "hs_put_int"(int* p, int value) noexcept nogil
    uint32_t read_once "hs_read_once"(const uint32_t* p) noexcept nogil
    const int FREE_THREADED "HS_FREE_THREADED"


# Re-acquiring the GIL after a batch's step. Blocking on it costs several steps, and another batch holds it only
# briefly. So a thread that finds it held by another batch spins first, for at most 1,000 pauses. This is an
# optimization: correctness does not depend on it.
cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
      #define hs_gil_left(me) ((void)(me))
      #define hs_gil_await(me) ((void)(me))
      #define hs_gil_taken(me) ((void)(me))
    #else
      #if defined(_MSC_VER)
        #include <intrin.h>
        #if defined(_M_ARM64)
          #define HS_PAUSE() __yield()
        #else
          #define HS_PAUSE() _mm_pause()
        #endif
        #define HS_LOAD(p) (*(p))
        #define HS_STORE(p, v) (*(p) = (v))
      #else
        #if defined(__x86_64__) || defined(__i386__)
          #define HS_PAUSE() __builtin_ia32_pause()
        #elif defined(__aarch64__)
          #define HS_PAUSE() __asm__ __volatile__("isb" ::: "memory")
        #else
          #define HS_PAUSE() ((void)0)
        #endif
        #define HS_LOAD(p) __atomic_load_n((p), __ATOMIC_RELAXED)
        #define HS_STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
      #endif
      #define HS_MOST 1000
      static void *volatile hs_gil_holder;     /* the batch that took the GIL last, until it lets go */
      static volatile int hs_gil_patience = HS_MOST;

      static CYTHON_INLINE void hs_gil_left(void *me) {
          if (HS_LOAD(&hs_gil_holder) == me) HS_STORE(&hs_gil_holder, NULL);
      }

      static CYTHON_INLINE void hs_gil_await(void *me) {
          int most = HS_LOAD(&hs_gil_patience), i = 0;
          void *holder = HS_LOAD(&hs_gil_holder);
          if (holder == NULL || holder == me) return;
          while (i < most && holder != NULL && holder != me) {
              HS_PAUSE();
              holder = HS_LOAD(&hs_gil_holder);
              i++;
          }
          /* It was in vain: the holder's thread does something else now, and may again the next time. */
          HS_STORE(&hs_gil_patience, i < most ? HS_MOST : most / 4 + 2);
      }

      static CYTHON_INLINE void hs_gil_taken(void *me) { HS_STORE(&hs_gil_holder, me); }
    #endif
    """
    void gil_left "hs_gil_left"(void* me) noexcept nogil       # after releasing it
    void gil_await "hs_gil_await"(void* me) noexcept nogil     # before acquiring it
    void gil_taken "hs_gil_taken"(void* me) noexcept nogil     # after acquiring it
