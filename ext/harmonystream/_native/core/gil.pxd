# Taking the GIL back. Who finds it held sleeps in the kernel, which lasts several times as long as a whole step of a batch. What another
# batch does under it is short: so first wait awake until that one has let go. Nothing here is needed for correctness.

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
      static void *volatile hs_gil_holder;     /* the batch that took it last, unless it has let go */
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
          /* in vain: its thread does other things now, and so it may be the next time */
          HS_STORE(&hs_gil_patience, i < most ? HS_MOST : most / 4 + 2);
      }

      static CYTHON_INLINE void hs_gil_taken(void *me) { HS_STORE(&hs_gil_holder, me); }
    #endif
    """
    void gil_left "hs_gil_left"(void* me) noexcept nogil       # just now
    void gil_await "hs_gil_await"(void* me) noexcept nogil     # before taking it
    void gil_taken "hs_gil_taken"(void* me) noexcept nogil     # just now
