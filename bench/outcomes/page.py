"""The tables of docs/outcomes.md, from the data of a run."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from textwrap import fill
from typing import Any

from bench.publish import PAGE_BLOCK, WIDTH, block
from bench.report import markdown_table as table
from bench.worker import ROOT

from .classes import CLASSES, OURS_DIFFERS, OWN
from .counts import OURS, RENDERED
from .families import FAMILIES
from .outputs import DAMAGES

DATA = Path(__file__).parent / "results.json"
PAGE = ROOT / "docs" / "outcomes.md"
COLUMNS = ("vLLM streamed", "vLLM whole", "SGLang streamed", "SGLang whole")

Data = dict[str, Any]


def publish() -> None:
    """Write the tables into the page."""
    before, _, after = block(PAGE.read_text(encoding="utf-8"), PAGE_BLOCK)
    PAGE.write_text(before + tables(json.loads(DATA.read_text(encoding="utf-8"))) + after, encoding="utf-8")


def tables(data: Data) -> str:
    versions = " and ".join(f"{side} {version}" for side, version in data["versions"].items())
    parts = [f"Measured with {versions}.", *rendered(data), *mutations(data), *classes(data), *own(data), *ours(data)]
    return "\n\n".join(parts) + "\n\n"


def known(name: str, column: str) -> bool:
    return column.split()[0] in FAMILIES[name].parsers


def rendered(data: Data) -> list[str]:
    rows = []
    for name in (name for name in FAMILIES if name in data["families"]):
        same = data["families"][name]["same"][RENDERED]
        total = same["outputs"]
        cells = [f"{same.get(column, 0):,}" if known(name, column) else "–" for column in COLUMNS]
        rows.append([f"`{name}`", f"{total:,}", f"{same.get(OURS, 0):,}", *cells])
    return ["### Right, of the outputs as rendered", table(["family", "outputs", "ours", *COLUMNS], rows)]


def mutations(data: Data) -> list[str]:
    total: dict[str, Counter[str]] = {}
    seen: dict[str, Counter[str]] = {}
    for name, family in data["families"].items():
        for mutation, same in family["same"].items():
            total.setdefault(mutation, Counter()).update(same)
            for column in (column for column in COLUMNS if known(name, column)):
                seen.setdefault(mutation, Counter())[column] += same["outputs"]
    rows = []
    for mutation in sorted(total.keys() - {RENDERED}):
        same = total[mutation]
        shares = [
            f"{100 * same[column] / seen[mutation][column]:.0f} %" for column in COLUMNS if seen[mutation][column]
        ]
        right = "–" if mutation in DAMAGES else f"{100 * same[OURS] / same['outputs']:.0f} %"
        rows.append([mutation, f"{same['outputs']:,}", right, *shares])
    intro = (
        "The shares are over all families that a rival knows. Where we have a share, the meaning is known, and it is "
        "of right outputs. (With another name, it is known only where no schema is needed to read it.) Where we have "
        "none, the meaning is open, and the shares are of outputs that are read as we read them."
    )
    return ["### Mutated outputs", fill(intro, WIDTH), table(["mutation", "outputs", "ours", *COLUMNS], rows)]


def summed(data: Data, kind: str) -> dict[str, Counter[str]]:
    """Class -> column -> how often."""
    found: dict[str, Counter[str]] = {}
    for family in data["families"].values():
        for column, counts in family[kind].items():
            for name, count in counts.items():
                found.setdefault(name, Counter())[column] += count
    return found


def classes(data: Data) -> list[str]:
    parts = []
    for kind, title in (("rendered", "outputs as rendered"), ("mutated", "mutated outputs")):
        found = summed(data, kind)
        rows = [[name, *(f"{found[name][column]:,}" for column in COLUMNS)] for name in CLASSES if name in found]
        parts += [f"### Classes of difference, {title}", table(["class", *COLUMNS], rows)]
    named = [[name, why, example(data, name)] for name, why in CLASSES.items() if says(data, name)]
    intro = "What the classes are. The examples are the shortest that were found; ↵ is a newline."
    return [*parts, intro, table(["class", "what it is", "example"], named, text=True)]


def says(data: Data, name: str) -> bool:
    return any(name in summed(data, kind) for kind in ("rendered", "mutated"))


def example(data: Data, name: str) -> str:
    """The shortest of a class, as rendered before mutated."""
    for kind in ("rendered", "mutated"):
        if f"{kind}: {name}" in data["examples"]:
            return shown(data["examples"][f"{kind}: {name}"])
    return ""


def shown(found: list[str]) -> str:
    family, column, text, right, given = found
    if column == OURS:
        return f"`{family}`: {code(text)} gives {flat(given)}; meant was {flat(right)}."
    return f"`{family}`, {column}: {code(text)} gives {flat(given)}, and not {flat(right)}."


def flat(text: str) -> str:
    """In one line."""
    text = text.replace("``", "(an empty text)")
    return re.sub("`((?:[^`]|`(?![,. ]|$))*)`", lambda part: code(part[1]), text).replace("\n", "↵")


def code(text: str) -> str:
    ticks = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    return ticks + space + text.replace("\n", "↵") + space + ticks


def own(data: Data) -> list[str]:
    found = summed(data, "own")
    total = Counter[str]()
    for counts in found.values():
        total.update(counts)
    found = ", ".join(f"{side} in {count:,}" for side, count in sorted(total.items(), reverse=True))
    return ["### A rival beside itself", fill(f"{OWN} {found}.", WIDTH)]


def ours(data: Data) -> list[str]:
    found: dict[tuple[str, str], int] = {}
    for family in data["families"].values():
        for mutation, counts in family["ours differs"].items():
            for name, count in counts.items():
                found[mutation, name] = found.get((mutation, name), 0) + count
    rows = []
    for (mutation, name), count in sorted(found.items()):
        known = data["examples"].get(f"ours, {mutation}: {name}")
        rows.append([mutation, name, f"{count:,}", shown(known) if known else ""])
    found_in = table(["mutation", "class", "outputs", "example"], rows, text=True)
    return ["### Where ours differs from the meaning", OURS_DIFFERS, found_in]
