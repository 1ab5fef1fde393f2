# The vocabulary of the native core: every enum and struct that two modules share. Read this first.
#
# `Tables` (a vocabulary seen by a format) and `ToolTable` (the request's tools) are immutable and shared between
# threads. `Stream` is all that one stream remembers: plain data, under 1 KiB, so that fork() is a memcpy. `Out` is
# where one feed() writes its records and their text; it lives on the caller's stack.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum State:
    START, HEADER, BODY, DONE                    # Harmony; the tag machine shares DONE
    TEXT, SECTION, PAIRS, VALUE, RAW, WRAPPED, AFTER, PYTHON
    N_STATES

# Where a token lands. The public IntEnum `Region` has the same numbers.
cdef enum:                                       # Region
    IN_START, IN_HEADER, IN_REASONING, IN_CONTENT, IN_ARGUMENTS, IN_SUPPRESSED, IN_DONE
    N_REGIONS

cdef enum:                                       # Marker
    M_INERT, M_START, M_CHANNEL, M_CONSTRAIN, M_MESSAGE, M_END, M_CALL, M_RETURN, M_ENDOFTEXT
    N_MARKERS

# One byte per vocabulary id. A control id is CONTROL | its marker, and has no other flag. Tag formats: 1, and the
# marker is looked up; or NAMED_CLASS, and its name counts as text.
cdef enum Class:
    MARKS = 1          # tag formats: holds a byte that begins a marker
    EDGE = 2           # begins or ends with a newline
    ESCAPES = 4        # holds something that JSON strings escape; tag formats: or ends in a closing bracket
    TICKS = 8          # tag formats: holds a backquote
    MARKER_BITS = 15   # mask of a control id's marker
    MISSING = 16       # a hole in the vocabulary
    QUIET = 32         # holds nothing that a JSON scanner must look at inside a string
    PLAIN = 64         # not empty, and valid UTF-8 on its own
    CONTROL = 128

cdef enum:
    NAMED_CLASS = 2

cdef enum Channel:
    NO_CHANNEL, ANALYSIS, COMMENTARY, FINAL, OTHER_CHANNEL

cdef enum RoleState:
    # the header must name its author; it is the assistant's; the author has been read
    ROLE_OPEN, ROLE_PRESET, ROLE_READ
    ROLE_IMPLIED                                 # as preset: text began the header, without <|start|>

cdef enum CallKind:
    NOT_A_CALL, FUNCTION, BUILTIN, OTHER_CALL

# What a record says. The three deltas have the numbers of their regions, and double as the sink of an open body; so
# `Columns.kind` compares with the public IntEnum `Region`. The others come after all regions.
cdef enum RecordKind:
    R_NONE = 0
    R_REASONING = 2
    R_CONTENT = 3
    R_ARGUMENTS = 4
    R_EMPTY_ARGUMENTS = 7
    R_MESSAGE_START, R_MESSAGE_END, R_CALL_START, R_CALL_END, R_STREAM_END

cdef enum:
    N_DELTAS = 5                                 # the size of a table by kind of delta

cdef enum CallEnd:                               # flags of R_CALL_END
    COMPLETE = 1
    BALANCED = 2
    WITHOUT_ARGUMENTS = 4                        # and it is complete
    UNREADABLE = 8                               # the model closed the call, and it is not complete

cdef enum:                                       # Deviation: the codes of deviations.py, in its order
    D_NONE
    D_REPEATED_CHANNEL, D_CONFLICTING_RECIPIENTS, D_EMPTY_RECIPIENT, D_BARE_CONTENT_TYPE, D_REPEATED_CONTENT_TYPE
    D_LOOSE_SPACING, D_GLUED_SUFFIX
    D_MISSPELT_CHANNEL, D_UNKNOWN_CHANNEL, D_EMPTY_CHANNEL, D_UNMARKED_CHANNEL, D_IGNORED_WORD
    D_MISSING_ROLE, D_UNKNOWN_ROLE, D_DOUBLED_ROLE, D_DOUBLED_START
    D_TEXT_BETWEEN_MESSAGES, D_STRAY_TERMINATOR, D_MISSING_START, D_MISSING_END
    D_ABANDONED_HEADER, D_MISSING_MESSAGE, D_HEADER_TOO_LONG, D_NO_MARKUP
    D_TEXT_TO_ASSISTANT, D_STRAY_CONTROL, D_END_OF_TEXT, D_UNKNOWN_ID
    D_STRAY_CLOSER, D_REPEATED_OPENER, D_MISSING_OPENER, D_MISSING_CLOSER, D_MISSPELT_CLOSER, D_OTHER_BODY
    D_IGNORED_TEXT, D_MISSING_VALUE, D_WRAPPED_ARGUMENTS, D_MISSPELT_NAME, D_CALL_SYNTAX
    D_LAST_STRICT = D_CALL_SYNTAX                # strict mode raises up to here
    D_REPEATED_RECIPIENT, D_BARE_RECIPIENT, D_FOREIGN_ROLE, D_CALL_WITHOUT_TOOLS, D_INVALID_UTF8
    D_UNFINISHED_HEADER, D_AFTER_END
    D_CALL_IN_REASONING, D_HELD_TOO_LONG, D_VALUE_TYPE, D_IGNORED_MEMBER, D_FENCED_CALL
    D_INVALID_JSON
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
    TYPE_JSON = 128                              # any of them, if the value is JSON; else a string

cdef enum:                                       # Role: what a tag format's marker is for
    THINK_OPEN, THINK_CLOSE, DROP, STOP, TURN, SECTION_OPEN, SECTION_CLOSE, CALL_OPEN, NAME_END, EMPTY_CALL, CALL_CLOSE
    KEY_OPEN, KEY_END, VALUE_OPEN, VALUE_CLOSE, QUOTE, TYPE_OPEN, TYPE_CLOSE
    ELEMENT_OPEN, ELEMENT_END, ELEMENT_CLOSE, ID_OPEN, CDATA_OPEN, CDATA_CLOSE, ANSWER_OPEN
    N_ROLES

cdef enum:
    LINE_CALL = 31                               # no role: the group of what may begin a call without an opener

cdef enum:
    MAX_LITERALS = 255                           # markers of a format, aliases included
    LOOK_CAP = 1024                              # bytes that a look-ahead sees
    NEWLINE_CAP = 1 << 20                        # of a run of newlines that waits for what follows
    NAME_CAP = 256
    MAX_SPELLING = 128                           # bytes of a marker

cdef enum Bare:
    BARE_ANY, BARE_NO, BARE_DECLARED

cdef enum NameAs:
    PLAIN_NAME, FUNCTION_NAME, ID_NAME, CALL_NAME

cdef enum Mark:                                  # of a held byte, in id mode
    BEGINS_TOKEN = 1
    BEGINS_CONTROL = 2                           # the spelling of a control marker, which its bytes stand for
    INSIDE_CONTROL = 4
    INERT_ID = 8
    NAMED_ID = 16                                # a control id whose name is a marker in the text

cdef struct Literal:
    const uint8_t* text
    int n
    uint8_t role
    uint8_t group                                # its bit in a set of markers: role, + BY_ID for a control id
    uint8_t next                                 # the next marker of its group; NO_LITERAL: it is the last
    uint8_t typed                                # an end of a key: 0, TYPE_STRING or TYPE_JSON
    uint8_t stem                                 # an opener whose tag may have attributes: bytes before them; or 0
    uint8_t only_stem                            # the marker is nothing but that: attributes must follow

cdef enum:
    NO_LITERAL = 255
    BY_ID = 32
    MAX_MEMBERS = 16                             # keys of a wrapped call that mean something

cdef struct MemberKey:
    const uint8_t* text
    int n
    uint8_t member                               # Member (tags/call_object.pxd)

cdef struct TagShape:                            # of a tag with attributes
    MemberKey word, end                          # the attribute that is the name, n 0: only `name` is; the tag's end

# a Format, compiled (tags/tag_table.pyx). A set of markers is a mask of 64 bits, two for each role: those that are
# control ids have the bit `role + BY_ID`, all others the bit `role`.
cdef struct TagTable:
    uint64_t[256] first                          # markers that begin with this byte
    uint64_t[N_ROLES] roles
    uint64_t by_id                               # control markers: in id mode only their id is one
    uint8_t[64] heads                            # the first literal of each group
    uint64_t value_any                           # what may end a value
    uint64_t calls                               # openers and closers of sections and calls
    uint64_t closers                             # of values, elements, calls and sections
    uint64_t around_opens, around_closes         # those of the markers around a wrapped object
    uint64_t follow_value, follow_call, follow_section, follow_stop
    uint64_t header                              # what ends a name beside its own end
    Literal[MAX_LITERALS] literals
    uint32_t[MAX_LITERALS] control_ids
    uint8_t[MAX_LITERALS] control_literals
    int n, n_control
    bint has_section, has_call, has_pair, wrapped, open_name, value_opener, strip, untyped_json, control
    bint overlaps                                # some markers begin as longer ones do: the longest counts
    bint examples                                # a call that begins a fence is text
    bint mentions                                # so is a marker of thoughts that text only mentions
    bint think_tags                              # a closer of thoughts is a tag: </think>
    bint bare_closers                            # a closer of elements is more than `</`, which is what may be left
    bint ends_reasoning                          # what follows a call is content
    bint open_end                                # a raw call ends where its JSON does
    bint lacks_closer                            # no closer need follow a call's JSON
    bint line_calls                              # a line may begin with a declared call without an opener
    bint unmarked                                # a wrapped call may begin an answer without an opener
    bint key_is_name                             # wrapped: {"f": {…}}
    bint types_values                            # the type of a value may come after its key, between tags
    bint holds_objects                           # wrapped: objects are in a call's tags, and these in a section's
    # written calls, such as f(k=1) or f{k:1}, which may follow the opener of a section: what opens and closes one, and
    # what follows a key; 0: there are none
    uint8_t call_opens, call_closes, key_ends
    bint bare_keys                               # the keys of objects need no quotes
    bint has_element                             # arguments are elements: tags that are named after them
    TagShape call_tag, key_tag, element_tag
    MemberKey label                              # what may follow the opener of thoughts in its line; n 0: nothing
    MemberKey item                               # the name of an element that is an item of an array
    uint8_t bare, name_as
    uint8_t between                              # what may stand between two objects outside of an array; 0: nothing
    int n_members
    MemberKey[MAX_MEMBERS] members
    int only_first                               # all markers begin with this byte; -1: they do not

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
    const uint8_t* other_types                   # by tool: the mask of a key that it does not declare
    # What is inside of parameters: levels, which follow the tools in `parameters` and `other_types`, and have
    # parameters of their own. 0: no level, because that is a tool. NULL: there are none.
    int32_t n_levels                             # tools included
    const uint32_t* inside                       # by parameter: its level
    const uint32_t* other_inside                 # by level: that of a key that it does not declare

cdef struct Json:                                # core/json_scan.pxd
    int32_t depth
    uint32_t objects                             # for each open level, from the lowest bit on: is it an object?
    int64_t count, end
    uint8_t in_string, escape, stage, broken
    # a bare scalar at top level: its first byte ('0' for numbers), and how far it is
    uint8_t scalar, matched
    uint8_t expect                               # JsonExpect, or in a number or word

cdef struct ObjectScan:                          # tags/call_object.pxd: the members of a wrapped call
    int32_t depth
    uint16_t named                               # the bytes of the key so far may still be these keys
    uint8_t in_string, escape, expect            # the quote that ends the open string; at depth 1: what comes next
    uint8_t python                               # its first key is in single quotes: it is written as Python prints it
    uint8_t key, key_n                           # which member it is; bytes of its key so far
    uint8_t stray                                # it has something that is not part of an object
    uint8_t keys                                 # Keys, where a key may be a call's name
    # how many values have begun, at most 255; the same in the inner object that is open, and itself; 0: none is
    uint8_t nth, inner

cdef struct TaggedCall:                          # PAIRS, VALUE: keys and values in tags, or elements
    uint64_t path                                # of elements: those that are open (tags/element_path.pxd)
    # of the open value: its JSON types, as a mask; without a type, may it be JSON?
    uint8_t types, untyped_json
    uint8_t may_wrap                             # it may be all arguments in an object, so it is held
    uint8_t own_mode                             # then: its ValueMode if it is not
    uint8_t begun                                # its JSON string has begun
    uint8_t opener_due                           # its opener may still come
    uint8_t fresh                                # it has no byte yet; a newline now is layout
    uint8_t layout                               # it began with a newline that is layout; so one at its end is
    uint8_t cdata                                # Cdata (tags/cdata.pxd)
    uint8_t quotes_pair                          # it contains the opener of a key
    uint8_t paired                               # a value was read

cdef struct RawCall:                             # RAW: JSON as it is
    uint8_t fence                                # Fence
    uint8_t begun                                # the JSON has begun
    uint8_t ends                                 # JsonEnds
    uint8_t quoted_call                          # one of its strings has the opener of a call or section

cdef struct WrappedCall:                         # WRAPPED: an object with the name and the arguments
    ObjectScan object
    uint16_t surrogate                           # high surrogate of a decoded string; waits for its other half
    uint8_t passing                              # Passing
    uint8_t members                              # Members
    uint8_t escape_n                             # bytes in `escape`
    uint8_t escape[5]                            # an unfinished escape of a string, without its backslash
    uint8_t name_nth, name_inner                 # the values of `nth` and `inner` in `object` at the name
    uint8_t name_open                            # the name's closing quote is missing: it is the next key's
    uint8_t arguments_found                      # the value of the key for arguments has begun
    uint8_t ends                                 # JsonEnds
    uint8_t quoted_call                          # as in RawCall

cdef struct PythonCall:                          # PYTHON: literals after keys
    uint64_t brackets                            # those that are open, the innermost last: a PythonBracket each, 2 bits
    int32_t depth                                # brackets that are open inside an expression
    uint16_t arguments                           # how many so far, at most 65,535
    uint8_t after_bracket                        # the last value ended with a bracket
    uint8_t vague                                # it has a part whose end only the call's closer shows
    uint32_t sets                                # a bit for each of them, the innermost lowest: it is a set's
    uint8_t expect                               # PythonExpect
    uint8_t spread                               # the outermost one is an object whose members are arguments
    uint8_t named_only                           # after the open argument, only arguments with keys may come
    uint8_t in_key                               # the string is an object's key
    uint8_t n_quotes, quote                      # how many quotes close the open string, 0: none; which, 0: the row's
    uint8_t raw                                  #     its backslashes are text
    uint8_t quote_in_text                        #     it has a quote of its own as text
    uint8_t text_bracket                         #     its last byte, without whitespace, is a closing bracket
    uint8_t comma_due                            # another item of the open array or object begins with a comma
    uint8_t quoted_call                          # a string has the opener of a section

cdef union CallState:
    TaggedCall tagged
    RawCall raw
    WrappedCall wrapped
    PythonCall python

cdef struct Tags:                                # what the tag machine remembers
    int64_t newlines, newline_at, newline_stop   # the run of newlines that waits for what follows it: how many, where
    int64_t value_at, value_stop                 # tokens of the value that is held or being written
    int64_t probed                               # bytes of the object at the front of the hold that were looked at
    int32_t name_at, id_at                       # offsets of the quotes of its name and id; 0: not found yet
    ObjectScan probe                             # of the look-ahead at an object that may be a call
    int32_t tool                                 # the open call's tool; -1: not declared
    uint8_t name_nth, name_inner                 # of the probe's name, as in WrappedCall
    uint8_t reasoning, answer, in_section
    uint8_t seam                                 # Seam
    uint8_t at_start                             # in TEXT: only blanks so far, so a label or an object may begin it
    uint8_t special                              # the hold has control or inert ids
    uint8_t mentions, think_mentions             # openers read as text; the same number of closers is read as text
    uint8_t fence, ticks, code                   # backquotes that opened the fence; those just read; Code
    uint8_t lead                                 # the line has had nothing but what may come before a fence
    uint8_t line_start                           # in TEXT, PAIRS and VALUE: LineStart; else 0
    uint8_t array                                # the open call is in an array of calls
    uint8_t pairs                                # the open call has a written pair
    uint8_t unread                               # a part of the call's body was skipped, so the call is incomplete
    CallState call                               # by the state; all zero when a call opens

cdef enum ValueMode:
    NO_VALUE, STREAMED, LITERAL, HELD            # none; a string; a number or literal; held until its type is known

cdef enum Seam:                                  # what newlines are that come next
    NO_SEAM                                      # text
    SEAM, SPLIT                                  # dropped; dropped after a marker that was dropped: they part text

cdef enum LineStart:                             # what comes next begins its line
    IN_LINE, LINE_BEGINS                         # no; the last byte was a newline, or a marker that was acted on
    LINE_BLANK                                   # in TEXT: since then only spaces and tabs have come

cdef enum JsonEnds:                              # how the JSON so far ends, as flags
    NEWLINE = 1                                  # with a newline, or it has no byte yet
    BRACKET = 2                                  # its last byte, without whitespace, is a closing bracket
    EXPECTS = 4                                  # a value or key must come after that byte

cdef enum Code:                                  # in TEXT: what a fence holds
    NO_CODE                                      # there is no fence
    FENCE_INFO, FENCE_BLANK                      # nothing yet, in its first line; nothing yet, after that line
    CODE, EXAMPLE                                # text; a call, which is an example and so text

cdef enum Fence:
    NO_FENCE, FENCE_NAME, FENCED                 # none; in the language's name after the backquotes; after that name

cdef enum Members:                               # beside a wrapped call's arguments, held because they may be these
    NO_MEMBERS, KNOWN_MEMBERS                    # none; what the row knows, but the tool declares
    FOREIGN_MEMBERS                              # also what is not a parameter of the tool
    SOME_MEMBERS, TOO_MANY_MEMBERS               # also what may be an argument; more than may be held

cdef enum Passing:                               # what becomes of a wrapped object's bytes
    PASS_NOTHING, PASS_RAW, PASS_STRING, PASS_SCALAR
    PASS_MEMBER                                  # it is held, because it may be an argument
    PASS_PYTHON                                  # it is held, because a literal of Python becomes JSON

cdef struct Span:
    uint16_t at, n

cdef enum:
    NO_WORD = 0xFFFF

cdef enum InputMode:                             # what the stream is fed
    NO_INPUT, ID_MODE, TEXT_MODE                 # nothing yet; token ids; text

cdef struct Stream:
    # What a plain token reads and writes comes first: a batch of many streams takes it from memory, in whole lines.
    uint8_t fast                                 # the sink if plain tokens may take the shortcut, else 0
    uint8_t shortcut_look, shortcut_want         # a token may if its class & shortcut_look == shortcut_want
    uint8_t state, sink, region
    uint8_t channel_code, kind
    uint8_t input_mode                           # InputMode
    uint8_t finished, strict, error, error_state
    uint8_t value_mode                           # ValueMode; not 0: text goes to Held.value
    uint8_t wrote                                # the open call has a byte of arguments
    uint8_t n_pending
    int32_t calls
    uint32_t deviations
    int64_t position                             # tokens read so far; in text mode bytes
    int64_t attributed                           # it is decided to which event, if any, each token before this belongs
    int64_t usage[N_REGIONS]
    Json json
    # from here on, what only the machines read
    int64_t header_at                            # position of the header's first token (<|start|>, if there is one)
    int64_t header_text_at                       # position of header[0]
    int64_t pending_at, pending_stop             # tokens that hold the incomplete character
    int64_t deviation_at[DEVIATION_CAP]
    int64_t error_at
    Span role, channel, recipient, content_type  # in `header`; role.n == 0: assistant
    uint16_t header_n
    uint16_t word_at                             # start of the word being read in segment 0, or NO_WORD
    uint16_t prompt_n                            # header bytes that came with the prompt
    uint8_t deviation[DEVIATION_CAP]
    # header: RoleState; has a mark been seen; how far segment 0 is read (harmony/headers.pyx)
    uint8_t role_state, marked, phase, extra
    uint8_t announce                             # the prompt opened a message whose start has no event yet
    uint8_t terminated                           # the last marker was a terminator; 2: and text after it is noted
    uint8_t cut                                  # the stream ends, and cuts the open call
    uint8_t token_region                         # where the token being read has landed so far
    uint8_t n_held
    uint8_t pending[4]                           # an incomplete UTF-8 character
    uint8_t held[HOLD_CAP]                       # text mode: a possible marker
    uint8_t header[HEADER_CAP]
    uint8_t token_starts[32]        # HEADER_CAP bits; bit i: header[i] is the first byte of a token
    # tag formats: the sinks that have had text, a bit each; after a call, those whose next text begins a line
    uint8_t spoken, parted
    uint8_t trim                                 # newlines at seams are dropped
    Tags tags

cdef struct Record:
    uint8_t kind, flags, channel
    uint16_t n_id                                # bytes of a call's id; they follow the name's bytes
    int32_t index
    int64_t start, stop
    Py_ssize_t at, n                             # text in the arena

cdef enum:
    INLINE_RECORDS = 24
    INLINE_TEXT = 2048

cdef struct Buffer:
    uint8_t* p
    Py_ssize_t n, cap

cdef struct Held:                                # the only memory of a stream that can grow, up to `cap` bytes each
    # tag formats: input that is not yet decided, and a Mark for each byte (id mode)
    Buffer input, marks
    Buffer value                                 # the value whose type is not yet known
    Py_ssize_t cap

cdef struct Out:
    Record* records
    uint8_t* text
    uint8_t* labels                              # one per token of this feed, or NULL: then events are wanted
    Py_ssize_t n_records, cap_records, n_text, cap_text
    bint no_memory
    Py_ssize_t floor                             # the records before this one are another stream's: never extended
    Held* held
    Record inline_records[INLINE_RECORDS]
    uint8_t inline_text[INLINE_TEXT]

cdef struct Context:                             # passed to every function of a machine
    const Tables* tables
    const TagTable* row                          # NULL: Harmony
    const ToolTable* tools
    Out* out
