"""Rules of the native sources that no test of behaviour can see on every machine: a compiler may hide a breach."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parents[2] / "ext" / "harmonystream" / "_native"
SOURCES = {
    path.relative_to(NATIVE).as_posix(): re.sub(
        r'"""(?:.|\n)*?"""|#.*|"(?:[^"\\\n]|\\.)*"', "", path.read_text(encoding="utf-8")
    )
    for path in sorted(NATIVE.rglob("*.p[yx][xd]"))
}
"""A file -> its text, without comments and strings."""

ENUM = re.compile(r"^cdef enum\b.*:\n((?:[ \t]+.*\n|[ \t]*\n)+)", re.MULTILINE)
NUMBER = re.compile(r"^[A-Z]\w*$")


def constants(text: str) -> list[str]:
    """The names that the enumerations of a file define."""
    items = [item.partition("=")[0].strip() for body in ENUM.findall(text) for item in re.split(r"[,\n]", body)]
    return [item for item in items if NUMBER.match(item)]


def plain_reads(text: str) -> list[str]:
    """Where a caller's buffer of ids is read without `read_once`. `x.ids[i]` is our own copy of one."""
    return [line.strip() for line in text.splitlines() if re.search(r"(?<![.\w])(?:ids|slots|offsets)\[[^\]]", line)]


def unlocked_indices(text: str) -> list[str]:
    """Where a field of a stream is the index of a table in a method that does not take the stream's lock."""
    methods = re.split(r"\n(?= *(?:def|cdef|cpdef) )", text)
    return [hit for one in methods if "self.claim(" not in one for hit in re.findall(r"\w+\[self\.s\.\w+\]", one)]


def test_no_constant_is_written_twice():
    """A copy of another file's number goes wrong without a word when that enumeration gets a member."""
    homes: dict[str, list[str]] = {}
    shared = {name: text for name, text in SOURCES.items() if name.endswith(".pxd")}
    for name, text in shared.items():
        for constant in constants(text):
            homes.setdefault(constant, []).append(name)
    assert len(homes) > 100
    assert {constant: files for constant, files in homes.items() if len(files) > 1} == {}


@pytest.mark.parametrize("name", [name for name in SOURCES if not name.startswith("core/")])
def test_a_buffer_of_the_caller_is_read_once(name):
    """Another thread may write to it meanwhile: what was checked must be what is used."""
    assert plain_reads(SOURCES[name]) == []


@pytest.mark.parametrize("name", [name for name in SOURCES if name.startswith("stream/") and name.endswith(".pyx")])
def test_what_a_long_call_may_change_is_read_once(name):
    """A check and an index are two reads if the compiler likes. Between them a feed without the GIL may write."""
    assert unlocked_indices(SOURCES[name]) == []


def test_breaches_would_be_found():
    copied = "cdef enum Expect:\n    X_KEY, X_IN_KEY\n\ncdef enum:\n    X_KEY_BEGUN = 1\n    X_KEY = 0\n"
    assert constants(copied) == ["X_KEY", "X_IN_KEY", "X_KEY_BEGUN", "X_KEY"]
    assert plain_reads("    take(s, ids[i])\n    take(s, read_once(ids + i))\n    cuts.ids[i]\n    uint32_t ids[]") == [
        "take(s, ids[i])"
    ]
    unlocked = "    def region(self):\n        return REGIONS[self.s.region]\n    def spot(self):\n"
    locked = "        self.claim(NO_INPUT)\n        return REGIONS[self.s.region]\n"
    assert unlocked_indices(unlocked + locked) == ["REGIONS[self.s.region]"]


def test_races_that_are_explained_name_what_there_is():
    """A renamed class would make ThreadSanitizer report its reads, which are explained, as faults."""
    sources = "\n".join(SOURCES.values())
    explained = Path(__file__).parents[1] / "fuzz" / "explained.txt"
    races = [line for line in explained.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert len(races) == 9
    for race in races:
        owner, name = re.fullmatch(r"race:([A-Za-z]+)_\*?(\w+?)(?:\*__get__)?", race).groups()
        assert re.search(rf"cdef class {owner}\b", sources)
        assert re.search(rf"def .*\b{name}\(", sources)
