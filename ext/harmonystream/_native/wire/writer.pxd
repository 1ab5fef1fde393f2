# What a writer of frames is in C.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from harmonystream._native.core.types cimport *
from harmonystream._native.wire.frame cimport FramePiece, Pieces
from harmonystream._native.wire.json_filter cimport Filter
from harmonystream._native.wire.script cimport ScriptTable

cdef enum Stage:
    NEW, BYTES, DICTS, BROKEN, ENDED

cdef enum:
    N_CONSTANTS = 5                    # the response's id, when it was created, the stem of ids, the model, the head
    MOST_PIECES = 6                    # of a delta's frame, when all but its text and number is filled
    BOUND_ROOM = 256                   # bytes of such a frame that lie in the writer itself
    KEPT_ROOM = 512                    # bytes that the first item of a kind gets for its text; more as it grows
    JOURNAL_ROOM = 448                 # and the journal for its entries
    CONSTANTS_ROOM = 96
    MOST_JOURNAL = 1 << 16             # bytes of the journal of a writer that keeps no text
    MOST_LEFT = 4096                   # bytes of a buffer that the writer's next call takes over

cdef enum Count:
    IN_PROMPT, IN_RESPONSE, IN_TOTAL, OF_REASONING
    N_COUNTS

cdef struct Entry:                     # of the journal: what Python does not know yet
    uint8_t kind, flags, channel
    uint16_t n_id
    int32_t index
    int64_t start, stop
    Py_ssize_t at                      # of a run of deltas: where its text begins in what is kept
    Py_ssize_t n                       # bytes of text, which follow the entry

cdef struct Written:
    const ScriptTable* script          # NULL: Python writes everything
    char* stale                        # the parser's flag: its names of the open message are not up to date
    uint8_t open, variant              # the kind of the open item (0: none), and the channel that it opened in
    uint8_t channel                    # of the open message
    uint8_t has_text                   # has the open message?
    uint8_t fields_now, fields_before  # bits of fields: that have text of this message, of earlier ones
    uint8_t parts                      # the parser writes a newline between texts around a call
    uint8_t cut                        # a message that no token ends is cut: see ResponsesStream
    uint8_t hooked                     # what the next record asks of Python is done
    uint8_t blank                      # white space waits for what makes it an item: see hold_blank()
    uint8_t asks_ids                   # Python decides the ids of calls
    uint8_t caught_up                  # Python has read the journal: it is not all that was written
    # The open item's frame. Its bytes lie here, beside what else a token reads and writes, unless they are too many.
    Pieces bound
    FramePiece[MOST_PIECES] bound_pieces
    uint8_t[BOUND_ROOM] bound_room
    Buffer bound_text                  # where its bytes are made
    # from here on, what no token of an open item reads
    int32_t items, calls               # that have begun, and are shown
    int64_t[N_COUNTS] counts           # of tokens, at the end
    Py_ssize_t item_at                 # where the open item's text, or a blank, begins in what is kept
    Py_ssize_t constant_at[N_CONSTANTS + 1]
    Buffer constants
    Buffer name, call_id               # the open call's
    Buffer usage                       # as JSON: what is known at the beginning, or all of it at the end
    Buffer hook                        # what Python has decided: a signature, or the reason of the end
    Buffer output                      # the items that are done, each after a comma
    Buffer journal

cdef struct Writer:                    # what a batch's step needs of one without the GIL; by kind of delta
    Buffer kept[N_DELTAS]              # the deltas' text, JSON-escaped, since the last _take()
    const Pieces* frames[N_DELTAS]     # NULL: there is none
    Filter* filter                     # of arguments, or NULL
    bint filtered                      # those of the open call pass it first
    uint8_t drops[N_DELTAS]            # by kind: is a delta's text no longer kept when it is in its frame?
    uint8_t keeps_none                 # an item's text is not kept after its end, and the journal is bounded
    uint8_t stage
    int64_t number                     # the next frame's
    int depth                          # calls that are inside: a verb, and what its callback has called
    char busy                          # on a free-threaded Python: a thread is inside
    unsigned long owner                # that thread; with a GIL it counts only while `depth` is not 0
    Written written
