# The grammar of a Harmony header (docs/harmony.md, 3 and 5).
#
# A header is collected as bytes, with one mark byte for each control id, and read as words. Three readers share the
# cursor below:
#   header_alive()    after each byte of segment 0: can this still be a header?
#   header_resolve()  at <|message|>: role, channel, recipient, content type
#   header_split()    when <|message|> never came: how much of it is header, and where does the body begin?

from libc.string cimport memchr, memcmp
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.out cimport note
from harmonystream._native.core.tools cimport find_name
from harmonystream._native.core.types cimport *
from harmonystream._native.harmony.header_words cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum Phase:                       # of segment 0 while it is being written
    P_ROLE, P_AFTER_ROLE, P_AFTER_CHANNEL, P_RECIPIENT, P_AFTER_RECIPIENT


# --- the parts --------------------------------------------------------------------------------------------------------

cdef void take_channel(Stream* s, uint8_t code, Span w) noexcept nogil:
    """The last recognised channel wins; an unknown one is kept only while none is recognised."""
    if code != NO_CHANNEL:
        s.channel_code = code
        s.channel = w
    elif s.channel_code == NO_CHANNEL or s.channel_code == OTHER_CHANNEL:
        s.channel_code = OTHER_CHANNEL
        s.channel = w


cdef void take_recipient(Stream* s, Span w) noexcept nogil:
    if w.n == 0 or span_is(s, w, b"functions."):
        note(s, D_EMPTY_RECIPIENT, s.header_at)
    if w.n == 0 or (s.recipient.n and span_is(s, w, b"assistant")):
        return
    if s.recipient.n and spans_equal(s, s.recipient, w):
        note(s, D_REPEATED_RECIPIENT, s.header_at)
    elif s.recipient.n and not span_is(s, s.recipient, b"assistant"):
        note(s, D_CONFLICTING_RECIPIENTS, s.header_at)
    s.recipient = w


cdef int read_recipient(Stream* s, const ToolTable* t, Span w, int i, int n, Span* found) noexcept nogil:
    """w begins with `to=`: its X, or the next word, or a declared name with spaces. Returns the cursor after it."""
    cdef Span x = span(w.at + 3, w.n - 3)
    if x.n == 0:
        x = next_word(s.header, &i, n)
        if x.n:
            note(s, D_LOOSE_SPACING, s.header_at)
    if x.n:
        x = spaced_name(s, t, x, n)
        if x.at + x.n > i:
            i = x.at + x.n
    found[0] = x
    return i


cdef void take_role(Stream* s, const ToolTable* t, Span w, int i, int n) noexcept nogil:
    """The first word after <|start|>: an author, or whatever is in its place. i, n: the rest of the segment."""
    cdef Span next, rest
    cdef bint author
    if span_begins(s, w, b"assistant"):
        rest = after_assistants(s, w)
        # `assistantanalysis`: its <|channel|> is missing
        if exact_channel(s, rest):
            note(s, D_UNMARKED_CHANNEL, s.header_at)
            take_channel(s, exact_channel(s, rest), rest)
        elif w.n > 9:
            note(s, D_DOUBLED_ROLE, s.header_at)
        return
    if has_role(s, w):
        s.role = w
        return
    if exact_channel(s, w):
        note(s, D_UNMARKED_CHANNEL, s.header_at)
        take_channel(s, exact_channel(s, w), w)
        return
    author = memchr(s.header + w.at, c'.', w.n) != NULL or is_builtin(s, w) or is_tool(s, t, w)
    while not author:
        next = next_word(s.header, &i, n)
        if next.n == 0:
            break
        author = span_is(s, next, b"to=assistant")
    if author:
        s.role = w
    else:
        note(s, D_UNKNOWN_ROLE, s.header_at)


cdef void take_word(Stream* s, const ToolTable* t, Span w) noexcept nogil:
    """A bare word that is neither role nor channel."""
    if s.content_type.n == 0 and is_content_type(s, w):
        s.content_type = w
        return
    if s.recipient.n == 0 and (span_begins(s, w, b"functions.") or is_tool(s, t, w) or is_builtin(s, w)):
        note(s, D_BARE_RECIPIENT, s.header_at)
        take_recipient(s, w)
        return
    if s.content_type.n == 0:
        s.content_type = w
    else:
        note(s, D_IGNORED_WORD, s.header_at)


cdef int read_segment(Stream* s, const ToolTable* t, int i, int n) noexcept nogil:
    """Resolve one segment by the rules for whole headers; i is at its mark, or 0. Returns where the next one begins."""
    cdef uint8_t mark = s.header[i] if i < n and is_mark(s.header[i]) else 0
    cdef int begin = i + (mark != 0)
    cdef bint first = True
    cdef Span w, x
    i = begin
    while True:
        w = next_word(s.header, &i, n)
        if w.n == 0:
            break
        if span_begins(s, w, b"to="):
            i = read_recipient(s, t, w, i, n, &x)
            take_recipient(s, x)
        elif mark == MARK_CHANNEL and first:
            note_channel(s, w)
            take_channel(s, normal_channel(s, w), w)
        elif mark == MARK_CONSTRAIN and first:
            if w.at > begin:
                note(s, D_LOOSE_SPACING, s.header_at)
        elif mark == 0 and first and s.role_state == ROLE_OPEN:
            take_role(s, t, w, i, n)
            s.role_state = ROLE_READ
            continue
        elif mark == 0 and first and s.role_state != ROLE_READ and repeats_assistant(s, w, False):
            if s.role_state == ROLE_PRESET:
                note(s, D_DOUBLED_ROLE, s.header_at)
            s.role_state = ROLE_READ
            continue
        elif mark == 0 and first and exact_channel(s, w):
            note(s, D_UNMARKED_CHANNEL, s.header_at)
            take_channel(s, exact_channel(s, w), w)
        else:
            take_word(s, t, w)
        first = False
    if mark == 0 and s.role_state == ROLE_OPEN:
        note(s, D_MISSING_ROLE, s.header_at)
    return i


cdef void note_channel(Stream* s, Span w) noexcept nogil:
    cdef uint8_t code = normal_channel(s, w)
    if code == NO_CHANNEL:
        note(s, D_UNKNOWN_CHANNEL, s.header_at)
    elif not exact_channel(s, w) and not span_is(s, w, b"comment"):
        note(s, D_MISSPELT_CHANNEL, s.header_at)


cdef void take_content_types(Stream* s, int n) noexcept nogil:
    """Constrain segments come before bare words: the first word of the last one is the content type."""
    cdef int i, j
    cdef Span w
    for i in range(n):
        if s.header[i] == MARK_CONSTRAIN:
            j = i + 1
            w = next_word(s.header, &j, n)
            if w.n and not span_begins(s, w, b"to="):
                if s.content_type.n:
                    note(s, D_REPEATED_CONTENT_TYPE, s.header_at)
                s.content_type = w


cdef void forget_parts(Stream* s) noexcept nogil:
    s.role = s.channel = s.recipient = s.content_type = span(0, 0)
    s.channel_code = NO_CHANNEL


cdef void cut_glued_suffix(Stream* s, const ToolTable* t) noexcept nogil:
    cdef Span name = call_name(s)
    if t.n <= 0 or name.n <= 4 or is_tool(s, t, name) or memcmp(s.header + name.at + name.n - 4, b"json", 4) != 0:
        return
    if is_tool(s, t, span(name.at, name.n - 4)):
        s.recipient.n -= 4
        if s.content_type.n == 0:
            s.content_type = span(s.recipient.at + s.recipient.n, 4)
        note(s, D_GLUED_SUFFIX, s.header_at)


cdef void mend_name(Stream* s, const ToolTable* t) noexcept nogil:
    """Takes away what is around a declared name: `functions:f`, `f(`, or quotes."""
    cdef Span w = s.recipient
    cdef const uint8_t* p = s.header + w.at
    cdef Py_ssize_t at = 0, size = 0
    if t.n <= 0 or is_tool(s, t, call_name(s)):
        return
    if w.n > 2 and p[0] == p[w.n - 1] and (p[0] == c'"' or p[0] == c"'" or p[0] == c'`'):
        w = span(w.at + 1, w.n - 2)
        p += 1
    if w.n > 2 and p[w.n - 2] == c'(' and p[w.n - 1] == c')':
        w.n -= 2
    elif w.n > 1 and p[w.n - 1] == c'(':
        w.n -= 1
    if find_name(t, p, w.n, False, &at, &size):
        s.recipient = span(w.at + <int>at, <int>size)
        note(s, D_MISSPELT_NAME, s.header_at)


cdef int count_marks(const Stream* s, uint8_t mark) noexcept nogil:
    cdef int i, found = 0
    for i in range(s.header_n):
        found += s.header[i] == mark
    return found


cdef void header_resolve(Stream* s, const ToolTable* t) noexcept nogil:
    cdef int i = 0, n = s.header_n, channels
    forget_parts(s)
    if s.role_state == ROLE_IMPLIED:
        note(s, D_MISSING_START, s.header_at)
    take_content_types(s, n)
    i = read_segment(s, t, 0, n) if n == 0 or not is_mark(s.header[0]) else 0
    if n and is_mark(s.header[0]) and s.role_state == ROLE_OPEN:
        note(s, D_MISSING_ROLE, s.header_at)
    while i < n:
        i = read_segment(s, t, i, n)
    cut_glued_suffix(s, t)
    mend_name(s, t)
    channels = count_marks(s, MARK_CHANNEL)
    if channels > 1:
        note(s, D_REPEATED_CHANNEL, s.header_at)
    if channels and s.channel_code == NO_CHANNEL:
        note(s, D_EMPTY_CHANNEL, s.header_at)
    if s.content_type.n and s.recipient.n == 0 and not constrained(s):
        note(s, D_BARE_CONTENT_TYPE, s.header_at)


cdef bint constrained(const Stream* s) noexcept nogil:
    """Was the content type introduced by <|constrain|>?"""
    cdef int i = s.content_type.at - 1
    while i >= 0 and is_space(s.header[i]):
        i -= 1
    return i >= 0 and s.header[i] == MARK_CONSTRAIN


# --- headers that never reach <|message|> -----------------------------------------------------------------------------

cdef int last_segment(const Stream* s) noexcept nogil:
    """Index of the last mark, or 0."""
    cdef int i = s.header_n - 1
    while i > 0 and not is_mark(s.header[i]):
        i -= 1
    return i if i > 0 else 0


cdef bint leads_to(const Stream* s, Span w, int words_end, bint at_end) noexcept nogil:
    """Is the word a recipient, or, cut by the end of the stream, the beginning of one?"""
    if w.at + w.n > words_end:
        return False
    return span_begins(s, w, b"to=") or (at_end and w.n and w.at + w.n == s.header_n and span_opens(s, w, b"to="))


cdef int glued_role(Stream* s, Span w, bint more) noexcept nogil:
    """The word begins with `assistant`, and perhaps a channel, and goes on with text that cannot be part of a name: the
    end of what was read; 0: it does not. more: something follows the word."""
    cdef Span rest = after_assistants(s, w), run
    cdef uint8_t c
    if rest.n == 0 or rest.n == w.n:
        return 0
    run = letters_of(s, rest)
    c = s.header[rest.at]
    if run.at == rest.at and (run.n < rest.n or more) and exact_channel(s, run):
        note(s, D_UNMARKED_CHANNEL, s.header_at)
        take_channel(s, exact_channel(s, run), run)
        return run.at + run.n
    if c'a' <= c <= c'z' or c'0' <= c <= c'9' or c == c'_' or c == c'-' or c == c'.':
        return 0
    return rest.at


cdef int skip_question_marks(const Stream* s, int i, int n) noexcept nogil:
    """After what was read of a broken header: what models write where <|message|> should be, as in `??Done.` and
    `?commentary?Done.`"""
    cdef int k
    cdef Span run
    while i < n and s.header[i] == c'?':
        i += 1
        run = letters_of(s, span(i, n - i))
        k = run.at + run.n
        if run.at == i and k < n and s.header[k] == c'?' and (exact_channel(s, run) or span_is(s, run, b"comment")):
            i = k
    return i


cdef int split_role(Stream* s, const ToolTable* t, int i, int n, int words_end, bint at_end) noexcept nogil:
    """Segment 0 without <|message|>: role and lone channel. Returns the cursor after what was read."""
    cdef int j = i
    cdef Span w = next_word(s.header, &j, n), next
    cdef bint read = False
    cdef int k
    if w.n == 0 or j > words_end:
        return i
    next = peek_word(s.header, j, n)
    if s.role_state == ROLE_OPEN and not leads_to(s, next, words_end, at_end):
        k = glued_role(s, w, j < n)
        if k:
            return k
    if s.role_state:
        read = repeats_assistant(s, w, False) > 0
    elif not span_begins(s, w, b"to="):
        read = (repeats_assistant(s, w, False) > 0 or has_role(s, w) or span_begins(s, w, b"functions.")
                or is_builtin(s, w) or is_tool(s, t, w) or leads_to(s, next, words_end, at_end))
        if read:
            take_role(s, t, w, j, n)
    if read:
        i = j
        w = next_word(s.header, &j, n)
        next = peek_word(s.header, j, n)
    if w.n and j <= words_end and exact_channel(s, w) and (
            (next.n == 0 and words_end == n) or leads_to(s, next, words_end, at_end)):
        take_channel(s, exact_channel(s, w), w)
        i = j
    return i


cdef int split_channel(Stream* s, int i, int n, int words_end) noexcept nogil:
    cdef int j = i
    cdef Span w = next_word(s.header, &j, n), run = letters_of(s, w)
    if span_begins(s, w, b"to=") or (j > words_end and run.at + run.n == j):
        return i
    if not (letters_are(s, run, b"analysis") or letters_are(s, run, b"commentary") or letters_are(s, run, b"comment")
            or letters_are(s, run, b"final")):
        return i
    take_channel(s, normal_channel(s, run), run)
    return run.at + run.n


cdef int split_constrain(Stream* s, int i, int n, int words_end) noexcept nogil:
    cdef int j = i
    cdef Span w = next_word(s.header, &j, n), run = letters_of(s, w)
    if w.n == 0 or span_begins(s, w, b"to="):
        return i
    if run.at == w.at and is_content_type(s, run) and not (j > words_end and run.n == w.n):
        s.content_type = run
        return run.at + run.n
    if words_end == n and peek_word(s.header, j, n).n == 0:
        s.content_type = w
        return j
    return i


cdef Span before_json(const Stream* s, Span x) noexcept nogil:
    """The recipient without a JSON body that is glued to it."""
    cdef int i
    for i in range(1, x.n):
        if s.header[x.at + i] == c'{' or s.header[x.at + i] == c'[':
            return span(x.at, i)
    return x


cdef int split_recipients(Stream* s, const ToolTable* t, int i, int n, int words_end) noexcept nogil:
    cdef int j, k
    cdef Span w, x
    while True:
        j = i
        w = next_word(s.header, &j, n)
        if not span_begins(s, w, b"to="):
            return i
        x = before_json(s, span(w.at + 3, w.n - 3))
        if x.n + 3 < w.n:
            take_recipient(s, x)
            return x.at + x.n
        k = read_recipient(s, t, w, j, n, &x)
        if k > words_end or (x.n == 0 and words_end < n):
            return i
        take_recipient(s, x)
        i = k


cdef int split_bare_type(Stream* s, int i, int n) noexcept nogil:
    """`json` or `code`, when the body plainly begins after it."""
    cdef int j = i
    cdef Span w = next_word(s.header, &j, n)
    cdef Span run = letters_of(s, w)
    if run.at != w.at or not (span_is(s, run, b"json") or span_is(s, run, b"code")):
        return i
    j = run.at + run.n
    j = skip_separators(s.header, j, n)
    if j < n and (s.header[j] == c'{' or s.header[j] == c'['):
        if s.content_type.n == 0:
            s.content_type = run
        return run.at + run.n
    return i


cdef bint may_become_author(const Stream* s, const ToolTable* t, Span w) noexcept nogil:
    cdef int k, size
    if (span_opens(s, w, b"user") or span_opens(s, w, b"system") or span_opens(s, w, b"developer")
            or span_opens(s, w, b"tool") or span_opens(s, w, b"functions.") or span_opens(s, w, b"python")
            or span_opens(s, w, b"browser") or span_opens(s, w, b"container")):
        return True
    for k in range(t.n):
        size = t.offset[k + 1] - t.offset[k]
        if w.n <= size and memcmp(t.names + t.offset[k], s.header + w.at, w.n) == 0:
            return True
    return False


cdef bint may_become_part(const Stream* s, const ToolTable* t, Span w, uint8_t mark, bint first) noexcept nogil:
    """Could the unfinished last word, at the end of the stream, have become a part of the header? first: of its
    segment."""
    if span_opens(s, w, b"to=") or span_begins(s, w, b"to="):
        return True
    if mark == MARK_CONSTRAIN:
        return first and (span_opens(s, w, b"json") or span_opens(s, w, b"code") or span_opens(s, w, b"text")
                          or span_opens(s, w, b"python") or span_opens(s, w, b"markdown")
                          or span_opens(s, w, b"response"))
    if span_opens(s, w, b"json") or span_opens(s, w, b"code"):
        return True
    if first or (mark == 0 and s.channel_code == NO_CHANNEL and s.recipient.n == 0):
        if span_opens(s, w, b"analysis") or span_opens(s, w, b"commentary") or span_opens(s, w, b"final"):
            return True
    if mark or not first:
        return False
    return repeats_assistant(s, w, True) > 0 or (s.role_state == ROLE_OPEN and may_become_author(s, t, w))


cdef bint is_noise(const Stream* s, int i, int n) noexcept nogil:
    """After the parts of a broken header: no words but names of channels, and digits only after a known channel?"""
    cdef int k
    cdef Span run
    while i < n:
        k = i
        while k < n and c'a' <= (s.header[k] | 0x20) <= c'z':
            k += 1
        if k > i:
            run = span(i, k - i)
            if not (letters_are(s, run, b"analysis") or letters_are(s, run, b"commentary")
                    or letters_are(s, run, b"comment") or letters_are(s, run, b"final")):
                return False
            i = k
            continue
        if (s.header[i] >= 0x80 and not is_mark(s.header[i]) and s.header[i] != MARK_INERT) or (
                c'0' <= s.header[i] <= c'9' and s.channel_code in (NO_CHANNEL, OTHER_CHANNEL)):
            return False
        i += 1
    return True


cdef int header_split(Stream* s, const ToolTable* t, bint whole, bint at_end) noexcept nogil:
    """Read the recognisable parts of a header that has no <|message|>.

    Returns where its body begins; header_n if it has no body.

    whole: a marker or the end of the stream finished the last word; at_end: it was the end of the stream.
    """
    cdef int n = s.header_n, last = last_segment(s), i = 0, begin, read, words_end = n if whole else n - 1, k
    cdef uint8_t mark
    cdef Span w
    forget_parts(s)
    if last > 0:
        take_content_types(s, last)
        i = read_segment(s, t, 0, last) if not is_mark(s.header[0]) else 0
        while i < last:
            i = read_segment(s, t, i, last)
    mark = s.header[last] if n and is_mark(s.header[last]) else 0
    i = begin = last + (mark != 0)
    if mark == MARK_CHANNEL:
        i = split_channel(s, i, n, words_end)
    elif mark == MARK_CONSTRAIN:
        i = split_constrain(s, i, n, words_end)
    else:
        i = split_role(s, t, i, n, words_end, at_end)
    i = split_recipients(s, t, i, n, words_end)
    if mark != MARK_CONSTRAIN:
        i = split_bare_type(s, i, n)
    read = i
    if s.recipient.n == 0 and (i > begin or mark == MARK_CHANNEL):
        k = i + max(0, separator_at(s.header, i, n)) if begin < i < n and s.header[i] != MARK_INERT else i
        k = k if k < n and s.header[k] == c'?' else i
        i = skip_question_marks(s, k, n)
    cut_glued_suffix(s, t)
    k = skip_separators(s.header, i, n)
    if whole and k == n:
        return n
    if whole and mark == MARK_CHANNEL and s.channel_code != FINAL and s.recipient.n == 0 and is_noise(s, k, n):
        return n
    if at_end and i == read:                               # no part comes after question marks
        w = peek_word(s.header, i, n)
        if w.at + w.n == n and may_become_part(s, t, w, mark, i == begin):
            return n
    if i > begin and i < n:
        k = separator_at(s.header, i, n)
        if k > 0 and s.header[i] != MARK_INERT:
            i += k
    while i < n and s.header[i] == MARK_INERT:
        i += 1
    return i


# --- while segment 0 is being written ---------------------------------------------------------------------------------

cdef bint word_fits(const Stream* s, const ToolTable* t, Span w) noexcept nogil:
    """Can a word with this beginning come next in segment 0?"""
    cdef bint recipient = span_begins(s, w, b"to=") or span_opens(s, w, b"to=")
    cdef bint channel = span_opens(s, w, b"analysis") or span_opens(s, w, b"commentary") or span_opens(s, w, b"final")
    if s.phase == P_ROLE:
        return s.role_state == ROLE_OPEN or recipient or channel or repeats_assistant(s, w, True) > 0
    if s.phase == P_AFTER_ROLE:
        return recipient or channel
    if s.phase == P_AFTER_CHANNEL:
        return recipient
    if s.phase == P_AFTER_RECIPIENT:
        return (recipient and s.extra == 0) or s.extra < 1 + t.max_spaces
    return True


cdef bint end_word(Stream* s, const ToolTable* t, Span w) noexcept nogil:
    """A word of segment 0 is over: the next phase, or False if no header has this word here."""
    if span_begins(s, w, b"to=") and not (s.phase == P_AFTER_RECIPIENT and s.extra):
        s.phase = P_AFTER_RECIPIENT if w.n > 3 or s.phase == P_RECIPIENT else P_RECIPIENT
        return True
    if s.phase == P_ROLE and (s.role_state == ROLE_OPEN or repeats_assistant(s, w, False)):
        s.phase = P_AFTER_ROLE
        return True
    if s.phase == P_ROLE or s.phase == P_AFTER_ROLE:
        s.phase = P_AFTER_CHANNEL
        return exact_channel(s, w) != NO_CHANNEL
    if s.phase == P_RECIPIENT:
        s.phase = P_AFTER_RECIPIENT
        return True
    s.extra += 1
    return s.phase == P_AFTER_RECIPIENT and s.extra <= 1 + t.max_spaces


cdef bint may_end_word(Stream* s, const ToolTable* t, Span w) noexcept nogil:
    cdef uint8_t phase = s.phase, extra = s.extra
    cdef bint may = end_word(s, t, w)
    s.phase = phase
    s.extra = extra
    return may


cdef bint header_alive(Stream* s, const ToolTable* t) noexcept nogil:
    """After a byte of segment 0: can it still be a header? Looks at the current word only."""
    cdef int n = s.header_n, i, k
    cdef Span w
    if s.word_at == NO_WORD:
        k = separator_at(s.header, n - 1, n)
        if k > 0:
            return True
        s.word_at = <uint16_t>(n - 1)
        return k < 0 or word_fits(s, t, span(n - 1, 1))
    for k in range(1, 4):                                                    # does a separator end here?
        i = n - k
        if i >= s.word_at and separator_at(s.header, i, n) == k:
            w = span(s.word_at, i - s.word_at)
            s.word_at = NO_WORD
            return w.n == 0 or end_word(s, t, w)
        if i >= s.word_at and separator_at(s.header, i, n) < 0:              # it may: can the header go on either way?
            w = span(s.word_at, i - s.word_at)
            return w.n == 0 or may_end_word(s, t, w) or word_fits(s, t, span(s.word_at, n - s.word_at))
    return word_fits(s, t, span(s.word_at, n - s.word_at))
