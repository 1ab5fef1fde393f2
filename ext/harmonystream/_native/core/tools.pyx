# Tools: the request's tools as the machines look them up.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.fnv cimport fnv_bytes, fnv_empty, fnv_number
from harmonystream._native.core.types cimport ToolTable
from collections.abc import Mapping
from marshal import dumps

from harmonystream._schema import declared_levels

DEBUG = bool(DEBUG_BUILD)


def tool_name(tool):
    """The name in a tool's description; None for a tool without one (a server-side tool such as web search)."""
    if isinstance(tool, str):
        name = tool
    elif isinstance(tool, Mapping):
        inner = tool.get("function")
        name = inner.get("name") if isinstance(inner, Mapping) else tool.get("name")
        if name is None:
            if isinstance(inner, Mapping) or tool.get("type") == "function":
                raise ValueError(f"this tool is a function without a name: {tool!r}")
            if not tool.get("type"):
                raise ValueError(f"this tool has neither a name nor a type: {tool!r}; a tool is a name or a dict as "
                                 f"the APIs have it")
            return None
    elif callable(tool):
        own = getattr(tool, "__name__", type(tool).__name__)
        kind = "class" if isinstance(tool, type) else "function"
        raise TypeError(f"{own} is a {kind}, which a parser does not read: pass tools=hs.Tools({own})")
    else:
        raise TypeError(f"a tool is a name, a dict as the APIs have it, or such a model of pydantic, not "
                        f"{type(tool).__name__}")
    if not isinstance(name, str) or not name:
        raise ValueError(f"a tool's name must be a non-empty string, not {name!r}")
    return name


cdef object plain(object tool):
    """A pydantic model of a tool as its dict; any other tool unchanged."""
    if isinstance(tool, (dict, str)) or callable(tool):
        return tool
    return tool.model_dump() if callable(getattr(tool, "model_dump", None)) else tool


cdef bytes encoded(object name):
    return name.encode("utf-8", "replace")


@cython.final
cdef class Tools:
    """Declared tools, and the types of their parameters. Immutable. Of two tools with one name, the later counts."""

    def __cinit__(self, tools=None):
        cdef dict by_name
        self.table.n = -1
        self.names = self.parameter_names = self.parameter_types = self.other_types = b""
        self.fingerprint = self.hashed()
        if tools is None:
            return
        if not isinstance(tools, type) and callable(schemas := getattr(tools, "schemas", None)):  # harmonystream.Tools
            tools = schemas("chat")
        if callable(tools):
            tool_name(tools)  # raises TypeError, because no function or class is a list of tools
        if isinstance(tools, (str, bytes, Mapping)):
            raise TypeError("tools is a list of names or tool dicts; pass [] if there are no tools")
        if not hasattr(type(tools), "__iter__"):
            raise TypeError(f"tools is a list of names or tool dicts, or a Tools, not {type(tools).__name__}")
        tools = [plain(tool) for tool in tools]
        by_name = {}
        for tool in tools:
            name = tool_name(tool)
            if name is not None:
                by_name[encoded(name)] = tool
        self.table.forbidden = not tools
        self.fill(by_name)
        self.fingerprint = self.hashed()

    def __dealloc__(self):
        free(<void*>self.table.offset)
        free(<void*>self.table.parameters)
        free(<void*>self.table.parameter_offset)
        free(<void*>self.table.inside)
        free(<void*>self.table.other_inside)

    cdef int fill(self, dict tools) except -1:
        cdef ToolTable* t = &self.table
        cdef list names = sorted(tools), parameters = [], first = [0], others = []
        cdef list found = [declared_levels(tools[name]) for name in names]
        cdef list tops = [], within = []                   # levels, each with what its numbers of levels count from
        for own in found:
            base = len(found) + len(within) - 1
            tops.append((own[0], base))
            within += [(level, base) for level in own[1:]]
        for level, base in tops + within:
            parameters += sorted({encoded(key): (mask, base + level.inside[key] if level.inside.get(key) else 0)
                                  for key, mask in level.parameters.items()}.items())
            first.append(len(parameters))
            others.append((level.others, base + level.other_inside if level.other_inside else 0))
        self.names = b"".join(names)
        self.parameter_names = b"".join([key for key, _ in parameters])
        self.parameter_types = bytes([mask for _, (mask, _) in parameters])
        self.other_types = bytes([mask for mask, _ in others])
        t.n = len(names)
        t.n_levels = len(tops) + len(within)
        if t.n_levels > t.n:
            t.inside = integers([inside for _, (_, inside) in parameters])
            t.other_inside = integers([inside for _, inside in others])
        t.max_spaces = max([len(name.split()) - 1 for name in names if name.strip() == name], default=0)
        t.names = <const uint8_t*>PyBytes_AS_STRING(self.names)
        t.parameter_names = <const uint8_t*>PyBytes_AS_STRING(self.parameter_names)
        t.parameter_types = <const uint8_t*>PyBytes_AS_STRING(self.parameter_types)
        t.other_types = <const uint8_t*>PyBytes_AS_STRING(self.other_types)
        t.offset = offsets_of(names)
        t.parameters = integers(first)
        t.parameter_offset = offsets_of([key for key, _ in parameters])
        return 0

    cdef uint64_t hashed(self) noexcept:
        """A hash of names, parameters and types, which notices that a state was made with other tools."""
        cdef const ToolTable* t = &self.table
        cdef uint64_t h = fnv_empty() + <uint64_t>(t.n + 1)
        cdef Py_ssize_t i, n_parameters = PyBytes_GET_SIZE(self.parameter_types)
        h = fnv_bytes(h, t.names, PyBytes_GET_SIZE(self.names)) if t.n > 0 else h
        for i in range(t.n):
            h = fnv_number(h, t.offset[i])
        if n_parameters:
            h = fnv_bytes(h, t.parameter_names, PyBytes_GET_SIZE(self.parameter_names))
            h = fnv_bytes(h, t.parameter_types, n_parameters)
            for i in range(n_parameters):
                h = fnv_number(h, t.parameter_offset[i])
            for i in range(t.n_levels):
                h = fnv_number(h, t.parameters[i])
        if self.other_types.strip(b"\0"):
            h = fnv_bytes(h, t.other_types, t.n_levels)
        if t.inside != NULL:
            for i in range(n_parameters):
                h = fnv_number(h, t.inside[i])
            for i in range(t.n_levels):
                h = fnv_number(h, t.other_inside[i])
        return h ^ t.forbidden

    def index(self, str name not None):
        """The tool's number among the sorted names; -1: it is not declared."""
        cdef bytes key = encoded(name)
        return tool_index(&self.table, <const uint8_t*>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))

    def types(self, str name not None, str parameter not None):
        """The types of a tool's parameter, declared or not, one bit each; 0: anything, or unknown."""
        cdef bytes key = encoded(parameter)
        return parameter_types(&self.table, self.index(name), <const uint8_t*>PyBytes_AS_STRING(key),
                               PyBytes_GET_SIZE(key))


cdef uint32_t* integers(list values) except NULL:
    cdef uint32_t* made = <uint32_t*>malloc(len(values) * sizeof(uint32_t))
    cdef Py_ssize_t i
    if made == NULL:
        raise MemoryError()
    for i in range(len(values)):
        made[i] = values[i]
    return made


cdef uint32_t* offsets_of(list names) except NULL:
    """Where each name begins when they stand one after the other, and where the last one ends."""
    cdef list at = [0]
    cdef Py_ssize_t end = 0
    for name in names:
        end += PyBytes_GET_SIZE(name)
        at.append(end)
    return integers(at)


cdef Tools UNKNOWN_TOOLS = Tools(None), NO_TOOLS = Tools(())

cdef enum:
    MAX_COMPILED = 64                  # lists of tools that are remembered
    MAX_KEY = 1 << 16                  # bytes of one that is

cdef dict COMPILED = {}                # a list's content, as marshal writes it -> its Tools


cdef Tools tools_of(object tools):
    """The tools that a caller has passed, compiled. Equal lists of plain dicts and names share their Tools."""
    if tools is None:
        return UNKNOWN_TOOLS
    if isinstance(tools, Tools):
        return tools
    if isinstance(tools, (list, tuple)):
        return NO_TOOLS if not tools else by_content(tools)
    ready = getattr(tools, "compiled", None)                                 # harmonystream.Tools has compiled itself
    if isinstance(ready, Tools):
        return ready
    if not isinstance(tools, type) and callable(schemas := getattr(tools, "schemas", None)):
        return tools.compile() if hasattr(tools, "compile") else by_content(schemas("chat"))
    return Tools(tools)


def compiled_tools(tools):
    """The `Tools` that a parser makes of its argument `tools=`. Other parsers take it in place of that argument."""
    return tools_of(tools)


cdef Tools by_content(object tools):
    cdef Tools made
    cdef list items = [plain(tool) for tool in tools]
    try:
        key = dumps(items, 2)                                                # version 2: equal content, equal bytes
    except ValueError:                                                       # not plain data, or nested without end
        key = None
    if key is None or len(key) > MAX_KEY:
        return Tools(items)
    made = COMPILED.get(key)
    if made is None:
        made = Tools(items)
        if len(COMPILED) >= MAX_COMPILED:                                    # every request has other tools
            COMPILED.clear()
        COMPILED[key] = made
    return made


# --- a name with more around it ---------------------------------------------------------------------------------------

cdef inline bint is_joint(uint8_t c) noexcept nogil:
    return c == c'.' or c == c'_' or c == c':' or c == c'-' or c == c'/'


cdef inline bint is_digit(uint8_t c) noexcept nogil:
    return c'0' <= c <= c'9'


cdef inline bint takes(const ToolTable* t, const uint8_t* p, Py_ssize_t start, Py_ssize_t stop,
                       Py_ssize_t* at, Py_ssize_t* size) noexcept nogil:
    """Is a tool of this name declared? Then it is the name."""
    if start >= stop or tool_index(t, p + start, stop - start) < 0:
        return False
    at[0] = start
    size[0] = stop - start
    return True


cdef inline Py_ssize_t kind_length(const uint8_t* p, Py_ssize_t n, bint alone) noexcept nogil:
    """How long the word at the start is that says what kind of thing is called. alone: need nothing follow it?"""
    cdef Py_ssize_t size = 0
    if n > 8 and memcmp(p, b"function", 8) == 0:
        size = 8
    elif n > 4 and memcmp(p, b"tool", 4) == 0:
        size = 4
    size += size > 0 and p[size] == c's'
    if size and size + 1 < n and is_joint(p[size]):
        return size + 1
    return 9 if alone and size == 9 else 0


cdef bint find_name(const ToolTable* t, const uint8_t* p, Py_ssize_t n, bint numbered,
                    Py_ssize_t* at, Py_ssize_t* size) noexcept nogil:
    """Finds the name of a declared tool in one that is not declared and has more around it, such as `functions.f` or
    `f:f`. numbered: may digits follow, as in `functions_f_2`?"""
    cdef Py_ssize_t i, end = n, half
    if takes(t, p, 0, n, at, size):
        return True
    i = kind_length(p, n, numbered)
    if takes(t, p, i, n, at, size):
        return True
    half = (n - i) // 2
    if (n - i) % 2 and p[i + half] == c':' and memcmp(p + i, p + i + half + 1, half) == 0:
        return takes(t, p, i, i + half, at, size)
    if not numbered:
        return False
    while end > i and is_digit(p[end - 1]):
        end -= 1
    if takes(t, p, i, end, at, size):
        return True
    return end > i and is_joint(p[end - 1]) and takes(t, p, i, end - 1, at, size)
