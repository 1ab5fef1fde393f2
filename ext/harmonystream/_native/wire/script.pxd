# A script: what an API sends at each moment of a response, prepared as frames with holes. All responses of one shape
# share it.

cimport cython
from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport N_DELTAS
from harmonystream._native.wire.frame cimport Pieces

cdef enum:
    VARIANTS = 5                       # one for each Channel; a call has only the first

cdef enum:                             # Moment
    # of an item: what comes before its first delta, the frame of a delta, what ends it if it is whole, and if it is cut
    BEGIN, DELTA, END, CUT
    ITEM, CUT_ITEM                     # the item in the whole response, then
    PART                               # before the first text of a message, if an earlier one had text in this field
    N_MOMENTS

cdef struct ScriptTable:
    Pieces frames[N_MOMENTS][N_DELTAS][VARIANTS]       # `items` is NULL where nothing is sent
    Pieces opening, head, finish
    Pieces call_id                     # of a call for which nobody asked for another
    # after `finish`, of a response that ends for one of the script's reasons: with counts, and with a usage as JSON
    Pieces closing, closing_usage
    uint8_t field[N_DELTAS][VARIANTS]  # the bit of the field that the text goes to
    int shown                          # calls; -1: all
    bint filtered                      # arguments pass an Arguments first
    bint signed                        # the end of reasoning has a signature, which Python makes
    bint no_blank                      # white space alone does not begin content
    bint counted                       # `closing` has counts of tokens, which nobody knows of text
    bint functions                     # calls of other kinds are Python's


@cython.final
cdef class Script:
    cdef ScriptTable table
    cdef list parts                    # owns what the pieces point to
    cdef dict reasons              # the parser's -> the API's: without calls, and with calls

    cdef int set_pieces(self, Pieces* pieces, object given) except -1
