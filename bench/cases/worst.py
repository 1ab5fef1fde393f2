"""The worst cases of each tag format, from worst.txt: what could take quadratic time, or hold input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from string import Template

from bench.cases.blocks import Repeated, Writer

TABLE = Path(__file__).with_suffix(".txt")
PLAIN = (("all `<`", "<"), ("spaces", " "), ("newlines", "\n"))


def words(writer: Writer) -> dict[str, str]:
    """What the table may name."""
    own = {name: value for name, value in vars(writer).items() if isinstance(value, str)}
    own |= {f"pair_{key}": writer.pair(key) for key in ("content", "o", "n", "arguments")}
    own["pair_numbered"] = own["pair_content"].replace("content", "key_{}", 1)
    own |= {"spaces": " " * 1000, "long": "a" * 300, "short": '{"content": "a"}', "name": '{"name": "write_file", '}
    own |= {"members": own["name"][1:] + '"arguments": ', "name": own["name"] + '"arguments": '}
    own["pair"] = f"{own['pair_content']}a{writer.value_end}"
    own["body"] = own["pair"] if writer.row.pair else own["short"]
    own["one"] = writer.head + own["body"] + writer.closer
    own |= {"any_stop": (*writer.row.stops, "<|x|>")[0], "outer_section": writer.section}
    return {**own, **{f"half_{name}": value[:-1] for name, value in own.items()}}


def places(group: str, own: dict[str, str], writer: Writer) -> Iterator[dict[str, str]]:
    """The words, for each place that the group is written for."""
    if group.startswith("$text"):
        yield own | {"text": "content", "begun": ""}
        yield own | {"text": "reasoning", "begun": writer.think}
    elif not group.startswith("$json"):
        yield own
    elif writer.row.call:
        yield own | {
            "json": "raw",
            "json_before": writer.section + writer.head,
            "json_after": writer.closer + writer.section_end,
        }
        if writer.row.wrapped:
            outer, end = writer.outer, writer.outer_end
            yield own | {"json": "wrapped", "json_before": outer + own["name"], "json_after": "}" + end}
            late, last = outer + '{"arguments": ', ', "name": "write_file"}' + end
            yield own | {"json": "wrapped, name last", "json_before": late, "json_after": last}


def cases(format: str) -> Iterator[Repeated]:
    writer = Writer(format)
    own = words(writer)
    for part in TABLE.read_text(encoding="ascii").split("\n= ")[1:]:
        head, *lines = part.strip().splitlines()
        where, before, after, needs = cells(head, 4)
        if all(bool(getattr(writer.row, name.removeprefix("no-"))) != name.startswith("no-") for name in needs.split()):
            for known in places(where, own, writer):
                for line in lines:
                    yield from read(line, where, before, after, known)


def cells(line: str, n: int) -> list[str]:
    found = [cell.strip() for cell in line.split("|")]
    return [*found, *[""] * (n - len(found))]


def read(line: str, where: str, before: str, after: str, known: dict[str, str]) -> Iterator[Repeated]:
    """The cases of one line of the table."""

    def spelt(cell: str) -> str:
        return Template(cell.encode().decode("unicode_escape")).substitute(known)

    name, unit, more_before, more_after, options = cells(line, 5)
    where, start, end = spelt(where), spelt(before + more_before), spelt(more_after + after)
    capped, only_text, mirror, units = False, False, "", None
    for option in options.split():
        capped, only_text = capped or option == "capped", only_text or option == "text"
        mirror = spelt(option[7:]) if option.startswith("mirror=") else mirror
        units = int(option) if option.isdigit() else units
    if not name.startswith("plain"):
        title = f"{where}: {name}" if where else name
        yield Repeated(title, start, spelt(unit), end, units, capped, only_text, mirror)
        return
    where += name.removeprefix("plain").removeprefix(" noise")
    for title, each in PLAIN:
        yield Repeated(f"{where}: {title}", start, each, end, capped="noise" in name or each != "<")
