# What a writer of frames is in C: one response.

from libc.stdint cimport int32_t, int64_t, uint8_t
from harmonystream._native.core.types cimport *
from harmonystream._native.wire.json_filter cimport Filter
from harmonystream._native.wire.template cimport ResponseTemplates, Template, TemplatePiece

cdef enum Stage:
    NEW, BYTES, DICTS, BROKEN, ENDED

cdef enum:
    N_CONSTANTS = 5                    # the response's id, when it was created, the stem of ids, the model, the head
    MOST_PIECES = 6                    # of a delta's frame, when all but its text and number is filled
    BOUND_ROOM = 256                   # bytes of such a frame that lie in the writer itself
    TEXT_ROOM = 512                    # bytes that the first item gets for its text; more as it grows
    CONSTANTS_ROOM = 96
    MOST_LEFT = 4096                   # bytes of a buffer that the next item takes over

cdef enum Question:                    # what the writer asks of Python, as bits
    OF_TOKENS = 1                      # the logprobs and ids of a record's tokens
    OF_CALL = 2                        # the type, id and fields of a call that begins
    OF_ITEM = 4                        # the id of an item of text that begins
    OF_END = 8                         # the seal of the open item, which will end
    OF_TEXT = 16                       # the text to send for a delta of arguments

cdef enum Value:                       # what fills a hole, and what else Python has answered
    V_NAME, V_CALL_ID, V_ITEM_ID, V_CALL_FIELDS
    N_NEXT                             # the values above exist a second time, for the next item
    V_SEAL = N_NEXT
    V_REASON, V_BESIDE, V_USAGE, V_LOGPROBS, V_IDS, V_ALL, V_ALL_BYTES
    V_TEXT                             # Python's text for a delta, or for the rest of a call
    N_VALUES

cdef enum Count:
    IN_PROMPT, IN_RESPONSE, IN_TOTAL, OF_REASONING
    N_COUNTS

cdef struct Writer:
    # What a plain token reads and writes comes first. delta_templates: by kind, the template of a delta if it only has
    # to be filled; NULL if write_record() must see the deltas.
    const Template* delta_templates[N_DELTAS]
    Buffer text                        # of the open item, JSON-escaped; or held white space: see hold_blank()
    Filter* filter                     # of arguments; NULL: there was no call
    int64_t number                     # the next frame's
    uint8_t drops[N_DELTAS]            # by kind: is a delta's text dropped when it is in its frame?
    uint8_t filtered                   # the open call's arguments pass the filter
    uint8_t stage
    uint8_t open, variant              # the kind of the open item (0: none), and its channel or type of call
    # The open item's frame. Its bytes lie here, beside what else a token reads and writes, unless they are too many.
    Template bound
    TemplatePiece[MOST_PIECES] bound_pieces
    uint8_t[BOUND_ROOM] bound_room
    Buffer bound_text                  # where its bytes are made
    int depth                          # calls that are inside: a verb, and what its callback has called
    char busy                          # on a free-threaded Python: a thread is inside
    unsigned long owner                # that thread; with a GIL it counts only while `depth` is not 0
    # the fields from here on are not read for a token of an open item
    const ResponseTemplates* templates
    char* stale                        # points to the parser's flag: its names of the open message are outdated
    uint8_t channel                    # of the open message
    uint8_t has_text                   # has the open message?
    uint8_t fields_now, fields_before  # bits of fields: that have text of this message, of earlier ones
    uint8_t trims                      # the parser writes a newline between texts around a call
    uint8_t cut                        # a message that no token ends is cut: see ResponsesStream
    uint8_t blank                      # `text` holds white space that does not begin an item yet: see hold_blank()
    uint8_t keeps_none                 # items are not kept after their end
    uint8_t question, answered         # bits: the open question; the questions already answered for this record
    uint8_t always_asked               # bits: the questions of each record
    uint8_t through                    # Python makes what is sent of the open call's arguments
    uint8_t next_variant, next_through # of a call that begins, if Python has decided them
    uint8_t used                       # a frame with the logprobs or ids of the record was written
    int32_t items, calls               # that have begun, and are shown
    int64_t[N_COUNTS] counts           # of tokens, at the end
    const uint8_t* text_opening        # of the filter
    Py_ssize_t n_text_opening
    Py_ssize_t constant_at[N_CONSTANTS + 1]
    Buffer constants
    Buffer[N_VALUES] values
    Buffer[N_NEXT] next
    Buffer output                      # the items that are done, each after a comma
