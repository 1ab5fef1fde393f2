# The states PAIRS and VALUE in a row whose arguments are elements: tags that are named after them, as in
# <city>Rome</city>. An element with elements in it is an object or an array. tags/element_path.pxd says what is
# remembered. Values are written as those of pairs are.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp
from harmonystream._native.core.buffer cimport buffer_put
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport is_json_space, is_space
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.attributes cimport Attributes, look_attributes
from harmonystream._native.tags.element_path cimport *
from harmonystream._native.tags.lookahead cimport look_stop
from harmonystream._native.tags.names cimport is_word_byte
from harmonystream._native.tags.pairs cimport begin_value, choose_mode, close_value, flush_value, write
from harmonystream._native.tags.transitions cimport end_call, leave_value, open_value, turn_raw
from harmonystream._native.tags.view cimport *

DEBUG = bool(DEBUG_BUILD)

cdef struct Name:                      # of an element
    Py_ssize_t at, n, stop             # stop: after the end of its tag
    Py_ssize_t key_at, key_n           # the key that an attribute says; key_n 0: none does, and the name is the key
    uint8_t typed                      # the type that an attribute says: a mask, TYPE_JSON, or 0
    bint foreign                       # an attribute means nothing


# --- looking ahead ----------------------------------------------------------------------------------------------------

cdef int look_said_name(const View* v, const TagTable* row, Py_ssize_t n, Name* name) noexcept nogil:
    """A name, attributes, and the end of the tag. An attribute may have the key."""
    cdef Attributes found
    cdef Py_ssize_t x = name.at
    cdef int verdict
    while x < n and is_word_byte(v.p[x]) and not is_special(v, x):
        x += 1
    name.n = x - name.at
    verdict = look_attributes(v, row, &row.element_tag, x, n, &found) if name.n else NO
    if verdict != YES:
        return verdict
    for x in range(found.at, found.at + found.n):
        if v.p[x] < 32 or v.p[x] == 127:
            return NO
    name.key_at, name.key_n, name.stop, name.typed = found.at, found.n, found.stop, found.typed
    name.foreign = found.foreign
    return NO if found.empty else YES


cdef inline Py_ssize_t room_of(const Name* name) noexcept nogil:
    """The bytes of the path that it takes."""
    return name.n + name.key_n + (name.key_n > 0)


cdef int look_name(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t n, Name* name) noexcept nogil:
    """A name from i, without the spaces around it, and the end of its tag. MORE: the input up to n is too short."""
    cdef Py_ssize_t x = i, last
    cdef int k = -1, verdict
    while x < n and v.p[x] == c' ' and not is_special(v, x):
        x += 1
    name.at = last = x
    name.key_at = name.key_n = name.typed = name.foreign = 0
    while True:
        verdict = match(v, row, x, n, row.roles[ELEMENT_END], &k)
        if verdict != NO:
            break
        if (v.p[x] == c'=' or v.p[x] == c'"' or v.p[x] == c"'") and not is_special(v, x):
            return look_said_name(v, row, n, name)
        if is_special(v, x) or v.p[x] < 32 or v.p[x] == 127 or v.p[x] == c'<' or v.p[x] == c'>' or (
                x - name.at >= HEADER_CAP - 1):
            return NO
        x += 1
        last = x if v.p[x - 1] != c' ' else last
    name.n = last - name.at
    if verdict == YES:
        name.stop = x + row.literals[k].n
        return YES if name.n else NO
    return MORE


cdef int look_tag(const View* v, const Stream* s, const TagTable* row, Py_ssize_t i, Py_ssize_t n,
                  int* hit) noexcept nogil:
    """Which marker is at i? The tags of elements begin as others do, so these come first, but for the closer of an
    open element with the call's own name."""
    cdef uint64_t others = row.follow_call | row.roles[CALL_CLOSE]
    cdef Py_ssize_t stop
    cdef Name name
    cdef int k = -1, verdict = match(v, row, i, n, others, hit)
    if verdict == YES and s.header_n and row.literals[hit[0]].role in (CALL_CLOSE, SECTION_CLOSE):
        stop = i + row.literals[hit[0]].n
        if match(v, row, i, stop, row.roles[ELEMENT_CLOSE], &k) == YES and (
                look_name(v, row, i + row.literals[k].n, stop, &name) == YES and is_open(s, v.p + name.at, name.n)):
            hit[0] = k
        return YES
    if verdict == NO:
        verdict = match(v, row, i, n, row.roles[ELEMENT_CLOSE], hit)
    return match(v, row, i, n, row.roles[ELEMENT_OPEN], hit) if verdict == NO else verdict


cdef int look_own_closer(const View* v, const Stream* s, const TagTable* row, Py_ssize_t i) noexcept nogil:
    """Does the open element go on from i, because a closer of its own comes? Then what is at i is part of the value."""
    cdef Py_ssize_t x = i, n = limit(v, i)
    cdef Name name
    cdef int k = -1, depth = 0, role, verdict = NO
    while x < n:
        if not row.first[v.p[x]] & row.follow_value:
            x += 1
            continue
        verdict = look_tag(v, s, row, x, n, &k)
        if verdict == MORE:
            break
        role = row.literals[k].role if verdict == YES else -1
        if role == STOP:
            return NO
        if role == ELEMENT_OPEN or role == ELEMENT_CLOSE:
            verdict = look_name(v, row, x + row.literals[k].n, n, &name)
            if verdict == MORE:
                break
            if verdict == YES and is_last(s, v.p + name.at, name.n):
                if role == ELEMENT_CLOSE and depth == 0:
                    return YES
                depth += 1 if role == ELEMENT_OPEN else -1
        x += row.literals[k].n if role >= 0 else 1
    return NO if v.end or capped(v, i) else MORE


cdef int look_bare_closer(const View* v, const Stream* s, const TagTable* row, Py_ssize_t* stop) noexcept nogil:
    """Is the open element's closer here, without what comes before `</`? It is if after ws comes a marker or the end,
    and no other closer of the element comes."""
    cdef Py_ssize_t n = limit(v, v.i), x = v.i + 1
    cdef Name name
    cdef int k = -1, verdict
    if not row.bare_closers or v.p[v.i] != c'<' or is_special(v, v.i):
        return NO
    if x == n:
        return undecided(v, v.i)
    if v.p[x] != c'/' or is_special(v, x):
        return NO
    verdict = look_name(v, row, x + 1, n, &name)
    if verdict != YES or name.key_n or not is_last(s, v.p + name.at, name.n):
        return undecided(v, v.i) if verdict == MORE else NO
    x = skip_ws(v, name.stop, n)
    verdict = look_tag(v, s, row, x, n, &k)
    if verdict == YES and row.literals[k].role == STOP:
        verdict = look_stop(v, row, x, k)
    if verdict == MORE:
        verdict = at_the_end(v, v.i)
    if verdict != YES:
        return verdict
    stop[0] = name.stop
    verdict = look_own_closer(v, s, row, name.stop)
    return MORE if verdict == MORE else NO if verdict == YES else YES


cdef int look_value_end(const View* v, const Stream* s, const TagTable* row, Py_ssize_t* stop, int* hit) noexcept nogil:
    """Does the marker here end the value? YES: *stop is after the value's own closer; 0: another marker ends it. *hit
    is that marker; -1: a part of the closer."""
    cdef Py_ssize_t n = limit(v, v.i)
    cdef Name name
    cdef int role, quoted, verdict = look_tag(v, s, row, v.i, n, hit)
    stop[0] = 0
    if verdict == NO:
        hit[0] = -1
        verdict = look_bare_closer(v, s, row, stop)
        return NO if verdict == MORE and v.end else verdict
    if verdict == MORE:
        return undecided(v, v.i)
    role = row.literals[hit[0]].role
    if role == STOP:
        return look_stop(v, row, v.i, hit[0])
    if role == ELEMENT_OPEN or role == ELEMENT_CLOSE:
        verdict = look_name(v, row, v.i + row.literals[hit[0]].n, n, &name)
        if verdict != YES:
            return undecided(v, v.i) if verdict == MORE else NO
        if role == ELEMENT_CLOSE and is_last(s, v.p + name.at, name.n):
            stop[0] = name.stop
            return YES
    quoted = look_own_closer(v, s, row, v.i)
    return MORE if quoted == MORE else NO if quoted == YES else YES


# --- ends -------------------------------------------------------------------------------------------------------------

cdef void pop(Stream* s, const Context* c) noexcept nogil:
    """The innermost object or array closes."""
    cdef TaggedCall* call = &s.tags.call.tagged
    cdef int64_t at = after(s, s.position)
    write(s, c.out, b"}" if call.path & 3 == E_OBJECT else b"]", 1, at, at)
    call.path >>= 2
    pop_name(s)
    s.tags.pairs = 1


cdef void end_elements(Stream* s, const Context* c, bint complete) noexcept nogil:
    """The call ends here. What is open is closed, unless the call is cut."""
    cdef TaggedCall* call = &s.tags.call.tagged
    while complete and call.path:
        pop(s, c)
    call.path = 0
    end_call(s, c, s.position, complete, True)


cdef bint end_at_marker(Stream* s, const Context* c, View* v, int k) noexcept nogil:
    """The marker k here ends the call, between two elements. A stop cuts an object or array."""
    cdef const TaggedCall* call = &s.tags.call.tagged
    cdef int role = c.row.literals[k].role
    cdef bint complete = role != STOP or call.path == 0
    if role != CALL_CLOSE or call.path:
        note(s, D_MISSING_CLOSER, s.position)
        if s.error:
            return True
    end_elements(s, c, complete)
    if role == CALL_CLOSE:
        consume(s, c, v, v.i + c.row.literals[k].n, IN_HEADER)
    return True


# --- PAIRS ------------------------------------------------------------------------------------------------------------

cdef void open_element(Stream* s, const Context* c, View* v, const Name* name) noexcept nogil:
    """A tag has been read; its value begins."""
    cdef TaggedCall* call = &s.tags.call.tagged
    cdef int types
    push_name(s, v.p + name.at, name.n, v.p + name.key_at, name.key_n)
    choose_mode(s, c, types_of_last(s, c.tools), name.typed)
    types = call.types
    call.may_wrap = call.own_mode = call.fresh = 0
    open_value(s)
    call.opener_due = not (types & TYPE_STRING and types & (TYPE_OBJECT | TYPE_ARRAY) == 0)
    consume(s, c, v, name.stop, IN_HEADER)


cdef void close_to(Stream* s, const Context* c, View* v, const Name* name) noexcept nogil:
    """A closer of an object or array; what is open inside of it closes before."""
    if not is_open(s, v.p + name.at, name.n):
        note(s, D_STRAY_CLOSER, s.position)
    elif not is_last(s, v.p + name.at, name.n):
        note(s, D_MISSING_CLOSER, s.position)
        if not s.error:
            pop(s, c)
        return
    else:
        pop(s, c)
    if not s.error:
        consume(s, c, v, name.stop, IN_HEADER)


cdef int look_noise(Stream* s, const View* v, const TagTable* row, Py_ssize_t* stop) noexcept nogil:
    """There is text between elements. YES: the call goes on, or is closed, at *stop. NO: the call is over.

    Continues where the last look stopped.
    """
    cdef Py_ssize_t i = v.i + (1 if s.tags.probed == 0 else s.tags.probed), n = limit(v, v.i)
    cdef int k = -1, verdict
    while i < n:
        if row.first[v.p[i]] & row.follow_value:
            verdict = look_tag(v, s, row, i, n, &k)
            if verdict == YES:
                stop[0] = i
                return YES if row.literals[k].role in (ELEMENT_OPEN, ELEMENT_CLOSE, CALL_CLOSE, SECTION_CLOSE) else NO
            if verdict == MORE:
                break
        i += 1
    s.tags.probed = i - v.i
    return NO if v.end or capped(v, v.i) else MORE


cdef int look_closer(const View* v, const Stream* s, const Context* c, Py_ssize_t i, Name* name) noexcept nogil:
    """Is the tag at i the closer of an element that is not open, but could be here? Then its opener is missing."""
    cdef Py_ssize_t n = limit(v, v.i)
    cdef int k = -1, verdict = look_tag(v, s, c.row, i, n, &k)
    if verdict == YES:
        verdict = look_name(v, c.row, i + c.row.literals[k].n, n, name) if (
            c.row.literals[k].role == ELEMENT_CLOSE) else NO
    if verdict != YES:
        return undecided(v, v.i) if verdict == MORE else NO
    return YES if has_room(s, room_of(name)) and not is_open(s, v.p + name.at, name.n) and (
        may_be_inside(s, c.tools, v.p + name.at, name.n)) else NO


cdef Py_ssize_t part_of_opener(const View* v, const TagTable* row, Py_ssize_t n) noexcept nogil:
    """How many bytes, two or more, that the noise begins with begin an element's opener, too."""
    cdef const Literal* literal
    cdef Py_ssize_t i, longest = 0
    cdef int k
    for k in range(row.n):
        literal = &row.literals[k]
        i = 0
        if literal.role == ELEMENT_OPEN:
            while i < literal.n and v.i + i < n and v.p[v.i + i] == literal.text[i] and not is_special(v, v.i + i):
                i += 1
        longest = i if i > longest else longest
    return longest if longest > 1 else 0


cdef Py_ssize_t after_broken_tag(const View* v, const TagTable* row, Py_ssize_t n, const Name* closer,
                                 uint8_t* unread) noexcept nogil:
    """Where the value begins after what is left of its opener: the name and the end of the tag, perhaps with `<` or a
    part of the marker. After such a part the tag may be any: then it is not read, and *unread says so."""
    cdef Name name
    cdef Py_ssize_t part = part_of_opener(v, row, n), x = v.i + part, i
    cdef int k = -1
    if part == 0 and v.p[x] == c'<' and not is_special(v, x):
        x += 1
    if look_name(v, row, x, n, &name) == YES and (
            name.n == closer.n and memcmp(v.p + name.at, v.p + closer.at, name.n) == 0):
        return name.stop
    if part == 0:
        return v.i
    unread[0] = 1
    for i in range(x, n):
        if match(v, row, i, n, row.roles[ELEMENT_END], &k) == YES:
            return i + row.literals[k].n
    return x


cdef bint step_noise(Stream* s, const Context* c, View* v, bint is_tag) noexcept nogil:
    """is_tag: the noise begins with a tag for whose name there is no room. That tag is not the text of a value."""
    cdef Py_ssize_t stop = 0
    cdef Name name
    cdef int found, verdict = look_noise(s, v, c.row, &stop)
    if verdict == MORE:
        return False
    if verdict == YES and not is_tag:
        found = look_closer(v, s, c, stop, &name)
        if found == MORE and not v.end:
            s.tags.probed = stop - v.i
            return False
        if found == YES:
            s.tags.probed = 0
            note(s, D_MISSING_OPENER, s.position)
            if not s.error:
                name.stop = after_broken_tag(v, c.row, stop, &name, &s.tags.unread)
                open_element(s, c, v, &name)
                s.tags.call.tagged.opener_due = 0
            return True
    s.tags.probed = 0
    note(s, D_IGNORED_TEXT if verdict == YES else D_MISSING_CLOSER, s.position)
    if s.error:
        return True
    if verdict == YES:
        s.tags.unread = 1
        consume(s, c, v, stop, IN_HEADER)
    else:
        end_elements(s, c, True)
    return True


cdef bint step_elements(Stream* s, const Context* c, View* v) noexcept nogil:
    """Between two elements."""
    cdef const TagTable* row = c.row
    cdef Name name
    cdef int k = -1, role = -1, verdict
    if is_json_space(v.p[v.i]):
        consume(s, c, v, skip_ws(v, v.i, v.n), IN_HEADER)
        return True
    verdict = look_tag(v, s, row, v.i, v.n, &k)
    if verdict == YES:
        role = row.literals[k].role
        if role == STOP:
            verdict = look_stop(v, row, v.i, k)
        elif role == ELEMENT_OPEN or role == ELEMENT_CLOSE:
            verdict = look_name(v, row, v.i + row.literals[k].n, limit(v, v.i), &name)
            if verdict == MORE:
                verdict = undecided(v, v.i)
    if verdict == MORE:
        if v.end:
            end_in_part(s, c, v, row.closers | row.roles[STOP])
        return v.end
    if verdict == YES and role == ELEMENT_OPEN and has_room(s, room_of(&name)):
        if name.foreign:
            note(s, D_IGNORED_TEXT, s.position)
        if not s.error:
            open_element(s, c, v, &name)
    elif verdict == YES and role == ELEMENT_CLOSE:
        close_to(s, c, v, &name)
    elif verdict == YES and role != ELEMENT_OPEN:
        return end_at_marker(s, c, v, k)
    elif role < 0 and is_special(v, v.i):
        drop_special(s, c, v)
    elif role < 0 and v.p[v.i] == c'{' and not s.tags.pairs and not s.tags.call.tagged.path:
        note(s, D_OTHER_BODY, s.position)
        turn_raw(s)
    else:
        s.tags.unread |= role == ELEMENT_OPEN                                # a tag that is not read
        return step_noise(s, c, v, role == ELEMENT_OPEN and verdict == YES)
    return True


# --- VALUE ------------------------------------------------------------------------------------------------------------

cdef void open_container(Stream* s, const Context* c, View* v, const Name* child) noexcept nogil:
    """The open element contains elements, so it is an object or an array. The first one begins here."""
    cdef Tags* g = &s.tags
    cdef TaggedCall* call = &s.tags.call.tagged
    cdef const MemberKey* item = &c.row.item
    cdef int types = call.types & (TYPE_OBJECT | TYPE_ARRAY)
    cdef bint array = types == TYPE_ARRAY or (types != TYPE_OBJECT and child.n == item.n
                                              and memcmp(v.p + child.at, item.text, item.n) == 0)
    if call.types and not types:
        note(s, D_VALUE_TYPE, s.position)
    begin_value(s, c, s.position)
    write(s, c.out, b"[" if array else b"{", 1, after(s, s.position), after(s, s.position))
    call.path = call.path << 2 | (E_ARRAY if array else E_OBJECT)
    g.pairs = call.opener_due = 0
    leave_value(s)


cdef bint step_opening(Stream* s, const Context* c, View* v) noexcept nogil:
    """The first thing in an element says whether it is a value or has elements."""
    cdef Py_ssize_t n = limit(v, v.i), x = skip_ws(v, v.i, n)
    cdef Name child
    cdef int k = -1, verdict = look_tag(v, s, c.row, x, n, &k)
    if verdict == YES and c.row.literals[k].role == ELEMENT_OPEN:
        verdict = look_name(v, c.row, x + c.row.literals[k].n, n, &child)
    elif verdict == YES:
        verdict = NO
    if verdict == MORE and not capped(v, v.i):
        if v.end:
            consume(s, c, v, v.n, IN_HEADER)
        return v.end
    if verdict == YES and has_room(s, room_of(&child)) and has_depth(s):
        if x > v.i:
            consume(s, c, v, x, IN_HEADER)
        open_container(s, c, v, &child)
    else:
        s.tags.call.tagged.opener_due = 0
    return True


cdef void close_element(Stream* s, const Context* c, int64_t at) noexcept nogil:
    """The value is whole. One that is empty, and can be no string, is an empty object or array: null is not written."""
    cdef Tags* g = &s.tags
    cdef const TaggedCall* call = &s.tags.call.tagged
    cdef Buffer* value = &c.out.held.value
    cdef Py_ssize_t i = 0
    flush_pending(s, c.out)
    while i < value.n and is_space(value.p[i]):
        i += 1
    if s.value_mode == HELD and i == value.n and call.types & (TYPE_OBJECT | TYPE_ARRAY) and (
            not call.types & TYPE_STRING and c.out.labels == NULL):
        if value.n == 0:
            g.value_at = g.value_stop = after(s, at)
        value.n = 0
        c.out.no_memory |= not buffer_put(value, b"[]" if not call.types & TYPE_OBJECT else b"{}", 2)
    close_value(s, c, at)
    pop_name(s)
    g.pairs = 1


cdef bint step_element(Stream* s, const Context* c, View* v) noexcept nogil:
    """The value of an element."""
    cdef const TagTable* row = c.row
    cdef Py_ssize_t q = v.i, stop = 0
    cdef int hit = -1, verdict
    if s.tags.call.tagged.opener_due:
        return step_opening(s, c, v)
    while q < v.n and not (row.first[v.p[q]] & row.value_any or is_special(v, q)):
        q += 1
    if q > v.i:
        put_run(s, c, v, q)
        flush_value(s, c)
        return True
    verdict = look_value_end(v, s, row, &stop, &hit)
    if verdict == MORE:
        if v.end:
            consume(s, c, v, v.n, IN_HEADER)                                 # a partial closer
        return v.end
    if verdict == NO:
        if is_special(v, q):
            drop_special(s, c, v)
        else:
            put_run(s, c, v, q + 1)
        if not s.error:
            flush_value(s, c)
        return True
    if hit >= 0 and row.literals[hit].role == STOP:                          # cut
        flush_pending(s, c.out)
        flush_value(s, c)
        end_elements(s, c, False)
        return True
    if stop == 0 or hit < 0:
        note(s, D_MISSING_CLOSER if stop == 0 else D_MISSPELT_CLOSER, s.position)
        if s.error:
            return True
    close_element(s, c, s.position)
    if stop:
        consume(s, c, v, stop, IN_HEADER)
    return True
