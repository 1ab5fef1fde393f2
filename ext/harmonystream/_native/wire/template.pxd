# A template: pieces of bytes, and holes between them. All that an API sends is made of templates (see template.pyx). To
# fill one needs no GIL.

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from harmonystream._native.core.types cimport N_DELTAS

cdef enum:
    DIGITS = 20                        # of a number, or a sign and 19
    VARIANTS = 6                       # of an item: the channel of its message, or the type of its call
    FIELDS = 16                        # sets of fields: there are at most four

cdef enum:                             # Moment
    BEGIN                              # before the first delta of an item
    DELTA                              # a delta
    SEALED                             # before the end of an item with a seal
    END, CUT                           # the end of an item: whole, cut
    ITEM, CUT_ITEM                     # the item as it is kept: whole, cut
    N_MOMENTS

cdef enum Seal:                        # the seal at the end of an item
    NO_SEAL
    HASH                               # a hash of its text: see signature.pyx
    ASKED                              # Python makes it

cdef enum Hole:                        # what follows a piece; the names for Python are in `HOLES`, in this order
    NO_HOLE                            # nothing: it is the last piece
    H_DELTA, H_NUMBER                  # a delta's text; the running number
    H_ITEM_INDEX, H_CALL_INDEX
    H_TEXT, H_OUTPUT                   # the item's whole text; the items that are kept
    # the writer's constants, in their order: see N_CONSTANTS
    H_RESPONSE_ID, H_CREATED, H_ID_STEM, H_MODEL, H_HEAD
    # its counts, in the order of Count: of tokens
    H_PROMPT_TOKENS, H_RESPONSE_TOKENS, H_TOTAL_TOKENS, H_REASONING_TOKENS
    # its values, in the order of Value
    H_CALL_NAME, H_CALL_ID, H_ITEM_ID, H_CALL_FIELDS, H_SEAL, H_REASON, H_BESIDE, H_USAGE
    H_LOGPROBS, H_TOKEN_IDS            # of a delta's tokens
    H_ALL_LOGPROBS, H_ALL_BYTES        # of the item's tokens
    N_HOLES

cdef struct TemplatePiece:
    const uint8_t* p
    Py_ssize_t n
    uint8_t hole                       # Hole

cdef struct Template:
    TemplatePiece* pieces              # NULL: nothing is sent
    Py_ssize_t n
    Py_ssize_t size                    # of all pieces together
    Py_ssize_t texts, numbers          # holes for the text of a delta, and for the number of a frame
    bint hidden                        # of a delta: it begins no item, and its text is not kept

cdef struct ResponseTemplates:
    Template of_items[N_MOMENTS][N_DELTAS][VARIANTS]
    Template opening, head, finish
    Template call_id                   # used if neither the model nor the caller gives an id
    Template closing, closing_usage    # after `finish`: with counts of tokens, and with a usage as JSON
    # for a field that has text of two messages: the frame between them, and its text in the item
    Template part[FIELDS]
    Template part_item[FIELDS]
    uint8_t fields[N_DELTAS][VARIANTS] # the fields that a text goes to, as bits
    uint8_t seals[N_DELTAS][VARIANTS]
    int shown                          # calls; -1: all
    bint filtered                      # arguments pass a filter first
    bint no_blank                      # white space alone does not begin content
    bint counted                       # `closing` has counts of tokens; not used for input of text
    bint functions                     # Python decides about calls that are not functions

cdef struct Filling:                   # the text and the number for the holes
    const uint8_t* text
    Py_ssize_t n
    uint8_t[DIGITS] number
    int digits


@cython.final
cdef class Templates:
    cdef ResponseTemplates table
    cdef list parts                    # owns what the pieces point to
    cdef dict reasons                  # the parser's -> the API's: without calls, and with calls

    cdef int set_template(self, Template* template, object given) except -1


cdef inline int number_text(int64_t number, uint8_t* to) noexcept nogil:
    """Decimal digits, with a sign if it is negative; how many."""
    cdef uint8_t[DIGITS] digits
    cdef uint64_t rest = <uint64_t>number
    cdef int n = 0, at = 0, i
    if number < 0:
        to[0] = c'-'
        at = 1
        rest = 0 - rest
    while True:
        digits[n] = <uint8_t>(c'0' + rest % 10)
        n += 1
        rest //= 10
        if rest == 0:
            break
    for i in range(n):
        to[at + i] = digits[n - 1 - i]
    return at + n


cdef inline Py_ssize_t fill_with(Filling* filling, const Template* template, const uint8_t* text, Py_ssize_t n,
                                 int64_t number) noexcept nogil:
    """The size of the template with this in its holes."""
    filling.text = text
    filling.n = n
    filling.digits = number_text(number, filling.number) if template.numbers else 0
    return template.size + template.texts * n + template.numbers * filling.digits


cdef inline void fill(const Template* template, uint8_t* to, const Filling* filling) noexcept nogil:
    """The template with its holes filled; there is room for it."""
    cdef const TemplatePiece* piece = template.pieces
    while True:
        memcpy(to, piece.p, piece.n)
        to += piece.n
        if piece.hole == H_DELTA:
            memcpy(to, filling.text, filling.n)
            to += filling.n
        elif piece.hole == H_NUMBER:
            memcpy(to, filling.number, filling.digits)
            to += filling.digits
        else:
            return
        piece += 1
