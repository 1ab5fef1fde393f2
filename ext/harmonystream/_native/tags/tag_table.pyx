# Makes the flat tables of the tag machine from a row of docs/formats.md. The roles of the markers decide which markers
# are live in which state, and what may follow each of them. A row that cannot work is refused, with the reason.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport is_json_space, may_lead
from harmonystream._native.core.types cimport *
from harmonystream._native.core.vocab cimport V_CONTROL, V_MISSING, V_VALID, Vocab, text_class
from harmonystream._native.tags.call_object cimport ALIAS_MEMBER, ARGUMENTS_MEMBER, ID_MEMBER, KNOWN_MEMBER, NAME_MEMBER

import re
from collections.abc import Mapping

from harmonystream.errors import FormatError

DEBUG = bool(DEBUG_BUILD)

# a tag's opener up to the quote of its first attribute, or to its `=`
OPENER = re.compile(r"(.+?)(?: +([A-Za-z_]+))?=[\"']?", re.DOTALL)

cdef dict BARE = {"any": BARE_ANY, "no": BARE_NO, "declared": BARE_DECLARED}
cdef dict NAMES = {"plain": PLAIN_NAME, "function": FUNCTION_NAME, "id": ID_NAME, "call": CALL_NAME}
cdef dict NEWLINES = {"keep": False, "strip": True}
cdef dict FENCED_CALLS = {"text": True, "call": False}
cdef dict BARE_LINES = {"text": False, "call": True}
cdef dict ENCODINGS = {"": False, "dsml": True}
cdef dict MENTIONS = {"text": True, "think": False}
# what opens and closes a call, and what follows a key
cdef dict BODIES = {"json": b"\0\0\0", "python": b"()=", "object": b"{}:"}
cdef dict AFTER_CALL = {"same": False, "content": True}
cdef dict UNTYPED = {"string": False, "json": True}
cdef dict TYPED = {"string": <int>TYPE_STRING, "json": <int>TYPE_JSON}
cdef dict MEMBERS = {"name": <int>NAME_MEMBER, "arguments": <int>ARGUMENTS_MEMBER, "id": <int>ID_MEMBER,
                     "other": <int>KNOWN_MEMBER, "alias": <int>ALIAS_MEMBER}
cdef tuple ROLE_NAMES = ("think opener", "think closer", "drop", "stop", "turn", "section opener", "section closer",
                         "call opener", "end of a name", "empty call", "call closer",
                         "key opener", "end of a key", "value opener", "value closer", "string quote", "type opener",
                         "type closer", "element opener", "end of an element's tag", "element closer", "id opener",
                         "opener of text as it is", "closer of text as it is", "opener of the answer")


cdef object choice(object format, str field, dict choices):
    value = getattr(format, field)
    if not isinstance(value, str) or value not in choices:
        raise FormatError(f"format {format.name!r}: {field} is one of {', '.join(map(repr, choices))}, not {value!r}")
    return choices[value]


cdef tuple parts(object format, str field, int n):
    value = getattr(format, field)
    if value is not None and (not isinstance(value, tuple) or len(value) != n):
        raise FormatError(f"format {format.name!r}: {field} is None or a tuple of {n} markers, not {value!r}")
    if value is not None and () in value:
        raise FormatError(f"format {format.name!r}: a marker of {field} has no spelling at all")
    return value


cdef tuple several(object format, str field):
    value = getattr(format, field)
    if not isinstance(value, tuple) or not all(isinstance(spelling, str) and spelling for spelling in value):
        raise FormatError(f"format {format.name!r}: {field} is a tuple of strings, not {value!r}")
    return value


cdef tuple spelled(marker):
    """Its spellings, without the empty one."""
    return tuple(one for one in (marker if isinstance(marker, tuple) else (marker,)) if one != "")


cdef bint may_lack(marker):
    """Is one of its spellings empty?"""
    return marker == "" or (isinstance(marker, tuple) and "" in marker)


cdef uint64_t bit(int i) noexcept nogil:
    return <uint64_t>1 << i


@cython.final
cdef class Row:
    """A tag format's tables. Immutable once its Program is made."""

    def __cinit__(self, format, Vocab vocab not None):
        self.spellings, self.keys = [], []
        memset(&self.table, 0, sizeof(TagTable))
        self.fill(format)
        self.check_clashes(format)
        self.derive()

    cdef int fill(self, object format) except -1:
        cdef TagTable* t = &self.table
        think, section = parts(format, "think", 2), parts(format, "section", 2)
        call, pair = parts(format, "call", 3), parts(format, "pair", 4)
        element = parts(format, "element", 3)
        t.has_section, t.has_call, t.has_element = section is not None, call is not None, element is not None
        t.has_pair = pair is not None or t.has_element
        t.wrapped = bool(format.wrapped)
        if pair is not None and call is None:
            raise FormatError(f"format {format.name!r}: pair needs call, because pairs are the arguments of a call")
        t.bare, t.name_as = choice(format, "bare", BARE), choice(format, "name_as", NAMES)
        self.fill_body(format)
        if section is not None and call is None and not format.wrapped and not t.call_opens:
            raise FormatError(f"format {format.name!r}: section needs call, wrapped=True or a body of 'python' or "
                              "'object', because a section contains nothing but calls")
        if format.wrapped and section is None and call is None:
            raise FormatError(f"format {format.name!r}: wrapped needs section or call, because their markers enclose "
                              "the JSON")
        for switch in ("wrapped", "control"):
            said = getattr(format, switch)
            if not isinstance(said, bool) and (switch, said) != ("wrapped", "read"):
                raise FormatError(f"format {format.name!r}: {switch} is True or False, not {said!r}")
        t.strip, t.untyped_json = choice(format, "newlines", NEWLINES), choice(format, "untyped", UNTYPED)
        t.control, t.examples = bool(format.control), choice(format, "fenced", FENCED_CALLS)
        t.mentions, t.ends_reasoning = choice(format, "mention", MENTIONS), choice(format, "after_call", AFTER_CALL)
        t.line_calls = choice(format, "bare_line", BARE_LINES)
        choice(format, "encoding", ENCODINGS)
        if t.line_calls and not (t.wrapped or t.call_opens == c'('):
            raise FormatError(f"format {format.name!r}: bare_line='call' needs wrapped=True or body='python', because "
                              "only these calls show without an opener what they are")
        roles = []
        if think:
            roles += [(think[0], THINK_OPEN), (think[1], THINK_CLOSE)]
        self.fill_label(format)
        if section:
            t.unmarked, t.lacks_closer = may_lack(section[0]), may_lack(section[1])
            if (t.unmarked or may_lack(section[1])) and (call is not None or not (t.wrapped or t.call_opens)):
                raise FormatError(f"format {format.name!r}: a marker of section is empty, which needs wrapped=True or "
                                  "body='python', and no call, because only these show where they begin and end")
            if t.unmarked and t.bare_keys:
                raise FormatError(f"format {format.name!r}: with body='object' the section opener cannot be empty, "
                                  "because nothing else shows where a call begins")
            roles += [(spelled(section[0]), SECTION_OPEN), (spelled(section[1]), SECTION_CLOSE)]
        if call:
            t.open_name, t.open_end = may_lack(call[1]), may_lack(call[2])
            if t.open_end and (section is not None or pair is not None or spelled(call[2])):
                raise FormatError(f"format {format.name!r}: the call closer is empty, which needs a row without "
                                  "section and pair, and no other closer, because only JSON shows where it ends")
            t.holds_objects = t.wrapped and t.has_section and t.open_name
            roles += [(call[0], CALL_OPEN), (spelled(call[2]), CALL_CLOSE), (spelled(call[1]), NAME_END)]
        roles += self.fill_pair(format, pair)
        if format.empty_call:
            if call is None or call[1] == "":
                raise FormatError(f"format {format.name!r}: empty_call needs a call with an end of the name, "
                                  "which it replaces")
            roles.append((format.empty_call, EMPTY_CALL))
        if format.call_id != "":
            if call is None or t.name_as != PLAIN_NAME:
                raise FormatError(f"format {format.name!r}: call_id needs a call and name_as='plain', because it "
                                  "parts a name from the id after it")
            roles.append((spelled(format.call_id), ID_OPEN))
        if format.attribute != "" and (call is None or format.call_id != "" or t.name_as != PLAIN_NAME):
            raise FormatError(f"format {format.name!r}: attribute needs a call, name_as='plain' and no call_id, "
                              "because it follows a name as an id would")
        if format.quote != "":
            roles.append((spelled(format.quote), QUOTE))
        roles += [(several(format, "stops"), STOP), (several(format, "turns"), TURN), (several(format, "drop"), DROP)]
        roles += [(several(format, "answer"), ANSWER_OPEN)]
        several(format, "keep")
        self.fill_members(format)
        roles += self.fill_element(format, element)
        for marker, role in roles:
            for spelling in (marker if isinstance(marker, tuple) else (marker,)):
                self.add(format, spelling, role)
        for spelling in spelled(format.attribute):
            self.add(format, spelling, ID_OPEN, 1)         # typed: what follows is not an id
        if not isinstance(format.typed, Mapping):
            raise FormatError(f"format {format.name!r}: typed maps ends of keys to 'string' or 'json', "
                              f"not {format.typed!r:.80}")
        for spelling, kind in format.typed.items():
            if kind not in ("string", "json") or not pair:
                raise FormatError(f"format {format.name!r}: typed maps ends of keys to 'string' or 'json', "
                                  "in a row with pair")
            self.add(format, spelling, KEY_END, TYPED[kind])
        if t.n == 0:
            raise FormatError(f"format {format.name!r} has no markers")
        if call and not t.control and not t.open_name:
            self.add_stems(call[0], call[1], CALL_OPEN, &t.call_tag)
            if pair and not t.types_values:
                self.add_stems(pair[0], pair[1], KEY_OPEN, &t.key_tag)
        return 0

    cdef bytes keep(self, object text, MemberKey* key):
        """The text's bytes, which `key` has from now on."""
        data = text.encode("utf-8", "replace")
        self.keys.append(data)
        key.text = <const uint8_t*>PyBytes_AS_STRING(data)
        key.n = <int>PyBytes_GET_SIZE(data)
        return data

    cdef int add_stems(self, object opener, object end, int role, TagShape* shape) except -1:
        """Openers that end in an attribute, such as <f name=\": their tags may have others, in any order."""
        cdef TagTable* t = &self.table
        cdef int i, n = t.n
        closes = spelled(end)[0].lstrip("\"'")
        found = [(i, OPENER.fullmatch(self.spellings[i].decode())) for i in range(n) if t.literals[i].role == role]
        found = [(i, hit) for i, hit in found if hit] if closes else []
        if not found:
            return 0
        self.keep(closes, &shape.end)
        self.keep(next((hit[2] for i, hit in found if hit[2]), ""), &shape.word)
        for i, hit in found:
            stem = hit[1].encode()
            t.literals[i].stem = <uint8_t>len(stem)
            for data in (stem + b" ", stem + b"="):
                if t.n < MAX_LITERALS and not self.clashes(data, role):
                    self.add(None, data.decode(), role)
                    t.literals[t.n - 1].stem = <uint8_t>len(stem)
                    t.literals[t.n - 1].only_stem = 1
        return 0

    cdef bint clashes(self, bytes data, int role):
        """Is there this marker, or one of another kind with which it begins, or that begins so?"""
        cdef int i, other
        for i in range(self.table.n):
            other = self.table.literals[i].role
            if self.spellings[i] == data or (other != role and self.spellings[i].startswith(data)):
                return True
            if other not in (role, DROP, ELEMENT_OPEN) and data.startswith(self.spellings[i]):
                return True
        return False

    cdef int fill_label(self, object format) except -1:
        """What may follow the opener of thoughts."""
        cdef TagTable* t = &self.table
        label = format.think_label
        if not isinstance(label, str) or len(label.encode("utf-8", "replace")) > MAX_SPELLING or label != label.strip():
            raise FormatError(f"format {format.name!r}: think_label is a text of at most {MAX_SPELLING} bytes without "
                              f"whitespace around it, not {label!r:.80}")
        if label and format.think is None:
            raise FormatError(f"format {format.name!r}: think_label needs think, because it follows its opener")
        self.keep(label, &t.label)
        return 0

    cdef list fill_pair(self, object format, tuple pair):
        """The tags around keys and values."""
        cdef TagTable* t = &self.table
        roles = []
        if pair:
            t.value_opener = pair[2] != ""
            roles += [(pair[0], KEY_OPEN), (pair[1], KEY_END), (pair[3], VALUE_CLOSE)]
            roles += [(pair[2], VALUE_OPEN)] if t.value_opener else []
        types = parts(format, "value_type", 2)
        if types:
            if pair is None:
                raise FormatError(f"format {format.name!r}: value_type needs pair, because only values between tags "
                                  "lack a type")
            t.types_values = True
            roles += [(types[0], TYPE_OPEN), (types[1], TYPE_CLOSE)]
        cdata = parts(format, "cdata", 2)
        if cdata:
            if pair is None:
                raise FormatError(f"format {format.name!r}: cdata needs pair, because only values between tags have "
                                  "text that could be markup")
            roles += [(cdata[0], CDATA_OPEN), (cdata[1], CDATA_CLOSE)]
        return roles

    cdef int fill_body(self, object format) except -1:
        """How calls are written that are neither tags nor JSON."""
        cdef TagTable* t = &self.table
        cdef bytes marks = choice(format, "body", BODIES)
        t.call_opens, t.call_closes, t.key_ends = marks[0], marks[1], marks[2]
        t.bare_keys = t.key_ends == c':'
        if t.call_opens and (not t.has_section or t.has_call):
            raise FormatError(f"format {format.name!r}: body={format.body!r} needs a section and no call, because the "
                              "name is part of what the call is written as")
        if format.quote != "" and not t.bare_keys:
            raise FormatError(f"format {format.name!r}: quote needs body='object', because Python and JSON have "
                              "quotes of their own")
        if t.name_as == CALL_NAME and not t.call_opens:
            raise FormatError(f"format {format.name!r}: name_as='call' needs a body of 'python' or 'object'")
        return 0

    cdef list fill_element(self, object format, tuple element):
        """The tags that are named after arguments."""
        cdef TagTable* t = &self.table
        if not isinstance(format.item, str) or not 0 < len(format.item.encode("utf-8", "replace")) <= MAX_SPELLING:
            raise FormatError(f"format {format.name!r}: item is the name of an element, of 1 to {MAX_SPELLING} bytes, "
                              f"not {format.item!r:.80}")
        if element is None:
            return []
        if format.call is None or may_lack(format.call[1]) or format.pair is not None or t.control:
            raise FormatError(f"format {format.name!r}: element needs a call with an end of the name, and a row "
                              "without pair and control, because elements are all the arguments of a call in tags, and "
                              "text")
        self.keep(format.item, &t.item)
        self.keep(spelled(element[1])[0], &t.element_tag.end)
        self.keep("", &t.element_tag.word)
        return list(zip(element, (ELEMENT_OPEN, ELEMENT_END, ELEMENT_CLOSE)))

    cdef int fill_members(self, object format) except -1:
        """What the keys of a wrapped call mean, and what may stand between two objects."""
        cdef TagTable* t = &self.table
        what = f"format {format.name!r}: members"
        if not isinstance(format.members, Mapping) or not 0 < len(format.members) <= MAX_MEMBERS:
            raise FormatError(f"{what} maps 1 to {MAX_MEMBERS} keys of a wrapped call to what they hold")
        members = dict(format.members)
        t.key_is_name = members.pop("*", None) == "call"
        for key, member in members.items():
            if not isinstance(key, str) or not isinstance(member, str) or not key or member not in MEMBERS:
                raise FormatError(f"{what} maps keys to {', '.join(map(repr, MEMBERS))}, or '*' to 'call', "
                                  f"and cannot map {key!r:.80} to {member!r:.80}")
            if len(self.keep(key, &t.members[t.n_members])) > MAX_SPELLING:
                raise FormatError(f"{what} has a key of more than {MAX_SPELLING} bytes")
            t.members[t.n_members].member = <uint8_t><int>MEMBERS[member]
            t.n_members += 1
        if not t.key_is_name and not {"name", "arguments"} <= set(format.members.values()):
            raise FormatError(f"{what} needs a key for the name and one for the arguments")
        if not isinstance(format.between, str) or format.between not in ("", *"!#$%&*+-.:;=?@^_|~"):
            raise FormatError(f"format {format.name!r}: between is a mark such as ';', or empty, "
                              f"not {format.between!r:.80}")
        t.between = <uint8_t>ord(format.between) if format.between else 0
        return 0

    cdef int add(self, object format, object spelling, int role, int typed=0) except -1:
        cdef TagTable* t = &self.table
        cdef bytes data
        what = f"format {format.name!r}: the {ROLE_NAMES[role]} {spelling!r}" if format is not None else ""
        if not isinstance(spelling, str):
            raise FormatError(f"{what} must be a string")
        try:
            data = spelling.encode()
        except UnicodeEncodeError:
            raise FormatError(f"{what} is not text") from None
        if not 0 < len(data) <= MAX_SPELLING:
            raise FormatError(f"{what} must have 1 to {MAX_SPELLING} bytes, not {len(data)}")
        if data[:1] in b" \t\r\n{":
            raise FormatError(f"{what} begins with what separates markers (whitespace) or begins JSON")
        if t.n == MAX_LITERALS:
            raise FormatError(f"format {format.name!r} has more than {MAX_LITERALS} markers, aliases included")
        self.spellings.append(data)
        t.literals[t.n].text = <const uint8_t*>PyBytes_AS_STRING(data)
        t.literals[t.n].n = <int>PyBytes_GET_SIZE(data)
        t.literals[t.n].role = t.literals[t.n].group = <uint8_t>role
        t.literals[t.n].typed = <uint8_t>typed
        t.n += 1
        return 0

    cdef int check_clashes(self, object format) except -1:
        """Two markers of different kinds that can occur at the same place must differ before either ends."""
        cdef TagTable* t = &self.table
        cdef int i, k
        for i in range(t.n):
            for k in range(t.n):
                if i == k or not self.spellings[k].startswith(self.spellings[i]):
                    continue
                names = {t.literals[i].role, t.literals[k].role}
                if t.literals[i].n < t.literals[k].n and (len(names) == 1 or t.literals[i].role == DROP):
                    t.overlaps = True
                    continue                               # the longest counts
                if KEY_END in names and (NAME_END in names or EMPTY_CALL in names):
                    continue                               # a name and a key never end at the same place
                if len(names) == 2 and not names.isdisjoint({ELEMENT_OPEN, ELEMENT_END, ELEMENT_CLOSE}):
                    continue                               # the tags of elements begin as others do, which come first
                first = f"{ROLE_NAMES[t.literals[i].role]} {self.spellings[i].decode()!r}"
                second = f"{ROLE_NAMES[t.literals[k].role]} {self.spellings[k].decode()!r}"
                raise FormatError(f"format {format.name!r}: the {first} is the beginning of the {second}, or the same, "
                                  "so the parser could not distinguish them")
        return 0

    cdef void group(self) noexcept:
        """Put the markers into their groups, each a chain in the order of the row."""
        cdef TagTable* t = &self.table
        cdef int i
        memset(t.heads, NO_LITERAL, sizeof(t.heads))
        memset(t.roles, 0, sizeof(t.roles))
        memset(t.first, 0, sizeof(t.first))
        t.by_id = 0
        t.think_tags = t.bare_closers = False
        for i in range(t.n - 1, -1, -1):
            t.think_tags |= t.literals[i].role == THINK_CLOSE and t.literals[i].n > 1 and (
                t.literals[i].text[0] == c'<' and t.literals[i].text[1] == c'/' and t.literals[i].group < BY_ID)
            t.literals[i].next = t.heads[t.literals[i].group]
            t.heads[t.literals[i].group] = <uint8_t>i
            t.roles[t.literals[i].role] |= bit(t.literals[i].group)
            t.first[t.literals[i].text[0]] |= bit(t.literals[i].group)
            if t.literals[i].role == ELEMENT_CLOSE and t.literals[i].n > 2 and (
                    memcmp(t.literals[i].text + t.literals[i].n - 2, b"</", 2) == 0):
                t.bare_closers = True
                t.first[<uint8_t>c'<'] |= bit(t.literals[i].group)           # look for what is left of it, too
            t.by_id |= bit(t.literals[i].group) & ~<uint64_t>0xFFFFFFFF
        if t.line_calls:
            t.first[<uint8_t>c'['] |= bit(LINE_CALL)
            t.first[<uint8_t>c'{'] |= bit(LINE_CALL) if t.wrapped else 0

    cdef void derive(self) noexcept:
        """Which markers live together, and what may follow what (docs/tags.md, 4 to 6)."""
        cdef TagTable* t = &self.table
        cdef uint64_t calls, live
        cdef int i
        self.group()
        calls = t.roles[SECTION_OPEN] | t.roles[CALL_OPEN]
        t.calls = calls | t.roles[SECTION_CLOSE] | t.roles[CALL_CLOSE]
        t.closers = (t.roles[VALUE_CLOSE] | t.roles[ELEMENT_CLOSE] | t.roles[CALL_CLOSE] | t.roles[SECTION_CLOSE])
        t.lacks_closer |= t.open_end
        t.around_opens = t.roles[SECTION_OPEN] | (0 if t.has_section and not t.holds_objects else t.roles[CALL_OPEN])
        t.around_closes = t.roles[SECTION_CLOSE] | (0 if t.has_section and not t.holds_objects else t.roles[CALL_CLOSE])
        t.follow_stop = t.roles[STOP] | t.roles[TURN]
        t.follow_section = calls | t.roles[STOP]
        t.follow_call = t.follow_section | t.roles[SECTION_CLOSE]
        t.follow_value = t.follow_call | t.roles[KEY_OPEN] | t.roles[CALL_CLOSE]
        if t.has_element:
            t.follow_value |= t.roles[ELEMENT_OPEN] | t.roles[ELEMENT_CLOSE]
        t.value_any = (t.roles[VALUE_CLOSE] | t.roles[CALL_CLOSE] | t.roles[SECTION_CLOSE]
                       | t.roles[KEY_OPEN] | t.roles[STOP])
        if t.has_element:
            t.value_any = t.follow_value
        t.header = 0
        if t.control or t.open_name:
            t.header = t.follow_value | t.roles[VALUE_OPEN] | t.roles[VALUE_CLOSE] | t.roles[KEY_END]
        live = live_somewhere(t)
        t.only_first = -1
        for i in range(256):
            if t.first[i] & live:
                if t.only_first >= 0:
                    t.only_first = -1
                    break
                t.only_first = i

    # --- ids ---

    cdef void stands_for(self, uint32_t tid, int literal) noexcept:
        """The id is this marker, and any other that is spelled alike."""
        cdef TagTable* t = &self.table
        cdef int i
        t.literals[literal].group = t.literals[literal].role + BY_ID
        for i in range(t.n_control):
            if t.control_ids[i] == tid:
                return
        t.control_ids[t.n_control] = tid
        t.control_literals[t.n_control] = <uint8_t>literal
        t.n_control += 1

    cdef int resolve(self, Vocab vocab, uint8_t* classes, object format) except -1:
        """Find the markers among the ids, and give every id its class."""
        cdef TagTable* t = &self.table
        cdef const uint8_t* p
        cdef uint32_t tid
        cdef Py_ssize_t n
        cdef int i, k, n_eligible = 0
        cdef uint64_t live
        cdef uint8_t[MAX_LITERALS] eligible
        cdef bint[256] begins
        for i in range(t.n):
            if t.control or t.literals[i].role == STOP or t.literals[i].role == TURN:
                eligible[n_eligible] = <uint8_t>i
                n_eligible += 1
        text = [data.decode() for data in self.spellings] + list(format.keep)
        spelled = {vocab.by_name[name] for name in vocab.by_name if name and any(name in literal for literal in text)}
        markers = {vocab.by_name[name] for name in text[:t.n] if name in vocab.by_name}
        for k in range(n_eligible):
            name = self.spellings[eligible[k]].decode()
            if name in vocab.by_name:
                self.stands_for(vocab.by_name[name], eligible[k])
        for tid in range(vocab.n):
            p = vocab.text + vocab.offset[tid]
            n = vocab.offset[tid + 1] - vocab.offset[tid]
            for k in range(n_eligible):
                i = eligible[k]
                if (t.literals[i].n == n and t.literals[i].group < BY_ID and memcmp(t.literals[i].text, p, n) == 0
                        and not vocab.flags[tid] & V_MISSING):
                    self.stands_for(tid, i)
        self.derive()
        live = live_somewhere(t)
        for i in range(256):
            begins[i] = t.first[i] & live & ~t.by_id != 0
        for tid in range(vocab.n):
            p = vocab.text + vocab.offset[tid]
            n = vocab.offset[tid + 1] - vocab.offset[tid]
            if vocab.flags[tid] & V_MISSING:
                classes[tid] = MISSING
            elif n == 0 or (vocab.flags[tid] & V_CONTROL and tid not in spelled):
                classes[tid] = CONTROL
            elif vocab.flags[tid] & V_CONTROL and tid in markers:
                classes[tid] = CONTROL | NAMED_CLASS
            else:
                classes[tid] = class_of_text(p, n, vocab.flags[tid] & V_VALID, begins)
        for i in range(t.n_control):
            classes[t.control_ids[i]] = CONTROL | (0 if t.literals[t.control_literals[i]].role == TURN else 1)
        return 0


cdef uint64_t live_somewhere(const TagTable* t) noexcept nogil:
    """The markers that may mean something where no header, key or value is open: with control tokens, also an end of
    a name."""
    cdef uint64_t dead = (t.roles[EMPTY_CALL] | t.roles[KEY_END] | t.roles[VALUE_OPEN] | t.roles[TURN]
                          | t.roles[TYPE_OPEN] | t.roles[TYPE_CLOSE] | t.roles[ELEMENT_END] | t.roles[ID_OPEN])
    return ~(dead if t.control else dead | t.roles[NAME_END])


cdef uint8_t class_of_text(const uint8_t* p, Py_ssize_t n, bint valid, const bint* begins) noexcept nogil:
    cdef uint8_t cls = text_class(p, n, valid)
    cdef Py_ssize_t i, tail = n
    while tail > 0 and is_json_space(p[tail - 1]):
        tail -= 1
    if tail > 0 and (p[tail - 1] == c'}' or p[tail - 1] == c']'):
        cls |= ESCAPES                                     # a call may end after it
    tail = n
    while tail > 0 and may_lead(p[tail - 1]):
        tail -= 1
    for i in range(n):
        if begins[p[i]]:
            cls |= MARKS
        if p[i] == c'`':
            cls |= TICKS
    return cls | EDGE if p[0] == c'\n' or (tail > 0 and p[tail - 1] == c'\n') else cls
