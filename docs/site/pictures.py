"""Draws the pictures of the pages: `make pictures`.

The charts read the tables in docs/benchmarks.md and docs/benchmarks-rivals.md, so that a picture and a page cannot
disagree. The terminal is the demo itself, as rich records it.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1]
PICTURES = DOCS / "pictures"
OURS, THEIRS = "#3f51b5", ("#e07b39", "#2e8b57")
INK = "#123456"  # a colour that nothing else has
STYLE = {
    "svg.hashsalt": "harmonystream",  # the same input gives the same file
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}
INKS = "svg { color: #222 } @media (prefers-color-scheme: dark) { svg { color: #ddd } }"
"""Text and lines on a page that is bright, or dark."""
WIDTH = 92  # columns of the terminal
UNITS = {"ns": 1.0, "µs": 1e3, "ms": 1e6}


def table_rows(page: str) -> list[list[str]]:
    """The cells of every row of every table of a page."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]


def nanoseconds(cell: str) -> float:
    """`20.4 ns` or `64.1 µs` as nanoseconds."""
    number, unit = cell.replace(",", "").split()
    return float(number) * UNITS[unit]


def save(figure: plt.Figure, name: str) -> None:
    """Writes one chart, without a date."""
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    svg = drawn.getvalue().replace(INK, "currentColor").replace("<defs>", f"<style>{INKS}</style>\n <defs>", 1)
    (PICTURES / name).write_text(svg, encoding="utf-8")


def speed_ratios() -> dict[str, float]:
    """Case → how many times faster than openai-harmony, from the first table of docs/benchmarks.md."""
    rows = (row for row in table_rows("benchmarks.md") if len(row) == 8 and row[3].endswith("×"))
    return {row[0].replace("`", ""): float(row[3].rstrip("×").replace(",", "")) for row in rows}


def draw_speed() -> None:
    """Bars: how many times faster than openai-harmony."""
    ratios = speed_ratios()
    figure, axes = plt.subplots(figsize=(9, 0.36 * len(ratios) + 0.8))
    names = list(ratios)[::-1]
    bars = axes.barh(names, [ratios[name] for name in names], color=OURS, log=True)
    axes.bar_label(bars, [f"{ratios[name]:,.0f}×" for name in names], padding=4)
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.set_xlabel("times faster than openai-harmony 0.0.8, per token (logarithmic)")
    save(figure, "speed.svg")


def growth_lines(family: str = "`hermes`") -> dict[str, dict[int, float]]:
    """Parser → tokens of a call's arguments → nanoseconds per token, from docs/benchmarks-rivals.md."""
    rows = table_rows("benchmarks-rivals.md")
    head = next(row for row in rows if row[0] == "per token")
    columns = {name: at for at, name in enumerate(head) if name.startswith(("harmonystream", "vLLM", "SGLang"))}
    lines: dict[str, dict[int, float]] = {name: {} for name in columns}
    for row in rows:
        if len(row) == len(head) and family in row[0] and row[0].endswith("call"):
            for name, at in columns.items():
                lines[name][int(row[1].replace(",", ""))] = nanoseconds(row[at])
    return lines


def draw_growth() -> None:
    """Lines: the cost of a token against the length of the arguments."""
    figure, axes = plt.subplots(figsize=(9, 4.2))
    colours = (OURS, *THEIRS)
    for colour, (name, line) in zip(colours, growth_lines().items(), strict=True):
        axes.loglog(list(line), list(line.values()), marker="o", color=colour, label=name)
    axes.set_xticks([200, 1000, 4000, 16000], ["200", "1,000", "4,000", "16,000"])
    axes.minorticks_off()
    axes.set_yticks([1e1, 1e2, 1e3, 1e4, 1e5, 1e6], ["10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms"])
    axes.set_xlabel("tokens of one call's arguments (Qwen3, Hermes)")
    axes.set_ylabel("time per token")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(frameon=False)
    save(figure, "growth.svg")


def draw_demo() -> None:
    """The demo's terminal: what the command writes, without the program that it prints at its end."""
    from rich.console import Console
    from rich.text import Text

    command = [sys.executable, "-m", "harmonystream", "demo", "--color", "always"]
    environment = os.environ | {"COLUMNS": str(WIDTH), "PYTHONUTF8": "1", "TERM": "xterm"}
    shown = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", env=environment).stdout
    # Each token is painted by itself. Neighbours of one colour become one run, or a viewer would space them apart.
    colour = re.compile(r"(\x1b\[[\d;]+m)((?:(?!\x1b).|\n)*)\x1b\[0m\1")
    while (joined := colour.sub(r"\1\2", shown)) != shown:
        shown = joined
    shown = re.sub(r"\x1b\[[\d;]+mThe same in Python.*", "", shown, flags=re.DOTALL)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(shown.rstrip()))
    svg = console.export_svg(title="harmonystream demo", unique_id="demo")
    # rich's template loads a font from elsewhere; the reader's own monospace font does.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    (PICTURES / "demo.svg").write_text(svg.replace("Fira Code, monospace", "monospace"), encoding="utf-8")


def main() -> None:
    """Draws all of them but the architecture, which is written by hand."""
    PICTURES.mkdir(exist_ok=True)
    with plt.rc_context(STYLE):
        draw_speed()
        draw_growth()
    draw_demo()


if __name__ == "__main__":
    main()
