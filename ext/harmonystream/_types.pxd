# The vocabulary of the native core: every enum and struct that two modules share. Read this first.
#
# `Tables` (a vocabulary seen by a format) and `ToolTable` (the request's tools) are immutable and shared between threads.
# `Stream` is all that one stream remembers: plain data, under 1 KiB, so that fork() is a memcpy.
# `Out` is where one feed() writes its records and their text; it lives on the caller's stack.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

cdef enum State:
    START, HEADER, BODY, DONE

# Where a token lands. The public IntEnum `Region` has the same numbers.
cdef enum:                                       # Region
    IN_START, IN_HEADER, IN_REASONING, IN_CONTENT, IN_ARGUMENTS, IN_SUPPRESSED, IN_DONE
    N_REGIONS

cdef enum:                                       # Marker
    M_INERT, M_START, M_CHANNEL, M_CONSTRAIN, M_MESSAGE, M_END, M_CALL, M_RETURN, M_ENDOFTEXT
    N_MARKERS

# One byte per vocabulary id. A control id is CONTROL | its marker, and has no other flag.
cdef enum Class:
    MARKER_BITS = 15
    MISSING = 16       # a hole in the vocabulary
    QUIET = 32         # holds nothing that a JSON scanner must look at inside a string
    PLAIN = 64         # not empty, and valid UTF-8 on its own
    CONTROL = 128

cdef enum Channel:
    NO_CHANNEL, ANALYSIS, COMMENTARY, FINAL, OTHER_CHANNEL

cdef enum RoleState:
    ROLE_OPEN, ROLE_PRESET, ROLE_READ            # the header must name its author; it is the assistant's; the author has been read
    ROLE_IMPLIED                                 # as preset: text began the header, without <|start|>

cdef enum CallKind:
    NOT_A_CALL, FUNCTION, BUILTIN, OTHER_CALL

# What a record says; the three deltas double as the sink of an open body.
cdef enum RecordKind:
    R_NONE, R_REASONING, R_CONTENT, R_ARGUMENTS, R_EMPTY_ARGUMENTS
    R_MESSAGE_START, R_MESSAGE_END, R_CALL_START, R_CALL_END, R_STREAM_END

cdef enum:                                       # Deviation: the codes of deviations.py, in its order
    D_NONE
    D_REPEATED_CHANNEL, D_CONFLICTING_RECIPIENTS, D_EMPTY_RECIPIENT, D_BARE_CONTENT_TYPE, D_REPEATED_CONTENT_TYPE
    D_LOOSE_SPACING, D_GLUED_SUFFIX
    D_MISSPELT_CHANNEL, D_UNKNOWN_CHANNEL, D_EMPTY_CHANNEL, D_UNMARKED_CHANNEL, D_IGNORED_WORD
    D_MISSING_ROLE, D_UNKNOWN_ROLE, D_DOUBLED_ROLE, D_DOUBLED_START
    D_TEXT_BETWEEN_MESSAGES, D_STRAY_TERMINATOR, D_MISSING_START, D_MISSING_END
    D_ABANDONED_HEADER, D_MISSING_MESSAGE, D_HEADER_TOO_LONG, D_NO_MARKUP
    D_TEXT_TO_ASSISTANT, D_STRAY_CONTROL, D_END_OF_TEXT, D_UNKNOWN_ID
    D_LAST_STRICT = D_UNKNOWN_ID                 # strict mode raises up to here
    D_REPEATED_RECIPIENT, D_BARE_RECIPIENT, D_FOREIGN_ROLE, D_CALL_WITHOUT_TOOLS, D_INVALID_UTF8, D_UNFINISHED_HEADER, D_AFTER_END
    N_DEVIATIONS

cdef enum:
    HEADER_CAP = 256
    DEVIATION_CAP = 16
    HOLD_CAP = 16                                # longest spelled marker is 13 bytes
    # Marks inside the header buffer: bytes that UTF-8 never uses.
    MARK_INERT = 0xFD
    MARK_CHANNEL = 0xFE
    MARK_CONSTRAIN = 0xFF

cdef struct Spelling:                            # a marker as text
    const uint8_t* text
    int n

cdef struct Tables:
    const uint8_t* text                          # all tokens' bytes, padded by 16 at the end
    const uint32_t* offset                       # offset[tid] .. offset[tid + 1]
    const uint8_t* classes
    uint32_t n
    Spelling[N_MARKERS] spellings                # by Marker; an inert id has none

cdef enum:                                       # the JSON types that a parameter may have, one bit each; 0: anything
    TYPE_STRING = 1
    TYPE_INTEGER = 2
    TYPE_NUMBER = 4
    TYPE_BOOLEAN = 8
    TYPE_NULL = 16
    TYPE_OBJECT = 32
    TYPE_ARRAY = 64

cdef struct ToolTable:
    int32_t n                                    # -1: the tools are unknown
    int32_t max_spaces                           # most spaces in one name
    bint forbidden                               # the request has no tools: nothing is a call
    const uint8_t* names                         # sorted, one after the other
    const uint32_t* offset
    const uint32_t* parameters                   # parameters[tool] .. parameters[tool + 1], sorted within the tool
    const uint8_t* parameter_names
    const uint32_t* parameter_offset
    const uint8_t* parameter_types               # a mask for each

cdef struct Json:                                # _json.pxd
    int64_t depth, count, end
    uint8_t in_string, escape, stage, broken
    uint8_t scalar, matched                      # a bare scalar at top level: its first byte ('0' for numbers), and how far it is

cdef struct Span:
    uint16_t at, n

cdef enum:
    NO_WORD = 0xFFFF

cdef struct Stream:
    int64_t position                             # tokens taken; in text mode bytes
    int64_t attributed                           # every token before this one belongs to an event, or to none
    int64_t header_at                            # position of the header's first token (<|start|>, if there is one)
    int64_t header_text_at                       # position of header[0]
    int64_t pending_at, pending_stop             # tokens that hold the incomplete character
    int64_t usage[N_REGIONS]
    int64_t deviation_at[DEVIATION_CAP]
    int64_t error_at
    Json json
    uint32_t deviations
    int32_t calls
    Span role, channel, recipient, content_type  # in `header`; role.n == 0: assistant
    uint16_t header_n
    uint16_t word_at                             # start of the word being read in segment 0, or NO_WORD
    uint16_t prompt_n                            # header bytes that came with the prompt
    uint8_t deviation[DEVIATION_CAP]
    uint8_t state, sink, region, fast            # fast: the sink, when a plain token may take the shortcut
    uint8_t channel_code, kind
    uint8_t role_state, marked, phase, extra     # header: RoleState; has a mark been seen; where segment 0 stands (_header.pyx)
    uint8_t announce                             # the prompt opened a message that no event has told of
    uint8_t terminated, incomplete               # last thing was a terminator (2: text after the end is noted); some call was cut
    uint8_t wrote                                # the open call has had a byte of arguments
    uint8_t text_mode                            # 0: nothing fed yet, 1: ids, 2: text
    uint8_t finished, strict, error, error_state
    uint8_t token_region                         # where the token being read has landed so far
    uint8_t n_pending, n_held
    uint8_t pending[4]                           # an incomplete UTF-8 character
    uint8_t held[HOLD_CAP]                       # text mode: a possible marker
    uint8_t header[HEADER_CAP]
    uint8_t token_starts[32]        # HEADER_CAP bits; bit i: header[i] is the first byte of a token

cdef struct Record:
    uint8_t kind, flags, channel
    int32_t index
    int64_t start, stop
    Py_ssize_t at, n                             # text in the arena

cdef enum:
    INLINE_RECORDS = 24
    INLINE_TEXT = 2048

cdef struct Buffer:
    uint8_t* p
    Py_ssize_t n, cap

cdef struct Out:
    Record* records
    uint8_t* text
    uint8_t* labels                              # one per token of this feed, or NULL: then events are wanted
    Py_ssize_t n_records, cap_records, n_text, cap_text
    bint no_memory
    Record inline_records[INLINE_RECORDS]
    uint8_t inline_text[INLINE_TEXT]

cdef struct Context:                             # what every step of a machine gets
    const Tables* tables
    const ToolTable* tools
    Out* out
