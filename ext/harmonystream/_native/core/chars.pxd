# What one byte is, and what the next eight are: whitespace, hexadecimal digits, and what JSON strings treat specially.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy
from harmonystream._native.core.fields cimport load

cdef inline bint is_space(uint8_t c) noexcept nogil:
    """ASCII whitespace, as bytes.isspace() has it."""
    return c == c' ' or 9 <= c <= 13


cdef inline bint is_json_space(uint8_t c) noexcept nogil:
    """The whitespace that may separate the parts of a JSON text."""
    return c == c' ' or c == c'\n' or c == c'\t' or c == c'\r'


cdef inline int hex_digit(uint8_t c) noexcept nogil:
    """The value of a hexadecimal digit; -1 for any other byte."""
    if c'0' <= c <= c'9':
        return c - c'0'
    c |= 0x20
    return c - c'a' + 10 if c'a' <= c <= c'f' else -1


cdef inline bint is_literal(uint8_t c) noexcept nogil:
    """Needs no escape in a JSON string."""
    return c >= 0x20 and c != c'"' and c != c'\\'


# --- eight bytes at once ---

cdef extern from *:
    """
    #if defined(_MSC_VER)
      #include <intrin.h>
      static __forceinline int hs_lowest_bit(unsigned long long v) {
          unsigned long i;
          _BitScanForward64(&i, v);
          return (int)i;
      }
    #else
      #define hs_lowest_bit(v) __builtin_ctzll(v)
    #endif
    """
    int lowest_bit "hs_lowest_bit"(uint64_t v) noexcept nogil


cdef inline uint64_t zero_bytes(uint64_t v) noexcept nogil:
    """Not 0 if one of the eight bytes is 0."""
    return (v - <uint64_t>0x0101010101010101) & ~v & <uint64_t>0x8080808080808080


cdef inline bint are_literal(const uint8_t* p) noexcept nogil:
    """None of the next eight bytes needs an escape in a JSON string."""
    cdef uint64_t v
    memcpy(&v, p, 8)
    return (((v - <uint64_t>0x2020202020202020) & ~v & <uint64_t>0x8080808080808080)
            | zero_bytes(v ^ <uint64_t>0x2222222222222222) | zero_bytes(v ^ <uint64_t>0x5C5C5C5C5C5C5C5C)) == 0


cdef inline bint has_control(const uint8_t* p) noexcept nogil:
    """Is one of the next eight bytes less than a space?"""
    cdef uint64_t v
    memcpy(&v, p, 8)
    return (v - <uint64_t>0x2020202020202020) & ~v & <uint64_t>0x8080808080808080 != 0


cdef inline uint64_t quotes_and_backslashes(const uint8_t* p) noexcept nogil:
    """Where the next eight bytes end a JSON string or begin an escape. Of the bits in the result, the lowest one is in
    the byte of the first such; 0: there is none.
    """
    cdef uint64_t v = load(p, 8)
    return zero_bytes(v ^ <uint64_t>0x2222222222222222) | zero_bytes(v ^ <uint64_t>0x5C5C5C5C5C5C5C5C)


cdef inline bint has_quote_or_backslash(const uint8_t* p) noexcept nogil:
    """Does one of the next eight bytes end a JSON string or begin an escape?"""
    return quotes_and_backslashes(p) != 0


cdef inline bint are_ascii(const uint8_t* p) noexcept nogil:
    """Are the next eight bytes ASCII?"""
    cdef uint64_t v
    memcpy(&v, p, 8)
    return v & <uint64_t>0x8080808080808080 == 0


cdef inline bint may_lead(uint8_t c) noexcept nogil:
    """May it come before a Markdown fence in its line? Indentation, the marks of quotations, and those of lists."""
    # One test for the sum of bits: this runs for the last byte of each piece, which is usually a letter.
    return c < 64 and (<uint64_t>0x43FF6E0100000200 >> c) & 1
