"""What README and docs claim: every snippet, command and table row is run."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import rank_file
from command import ENV

import harmonystream as hs
from harmonystream.deviations import CODES, EXPECTED

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "ext" / "harmonystream" / "_native"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "ext" / "README.md"]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

# Before a block that is not run here: why not, and what covers it.
NOT_RUN = re.compile(r"<!-- not run here: (.+) -->\n\Z")


def text_of(page: Path | str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: Path, *languages: str) -> list[tuple[int, str]]:
    """Line number and text of each fenced block in one of these languages, but for those marked as not run."""
    text = text_of(page)
    found = []
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if match[1] in languages and not NOT_RUN.search(text[: match.start()]):
            found.append((text.count("\n", 0, match.start()) + 2, match[2]))
    return found


def rows(page: str, columns: int) -> list[list[str]]:
    """The cells of each table row whose first cell is code; `\\|` is a pipe."""
    found = []
    for line in text_of(page).splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == columns and cells[0].startswith("`"):
            found.append(cells)
    return found


# --- snippets -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_python_of_a_page_runs_from_top_to_bottom(page, tmp_path):
    snippets = blocks(page, "python")
    if not snippets:
        return  # its texts are not printed by any
    if any("openai_harmony" in code for _, code in snippets):
        pytest.importorskip("openai_harmony")
    script = ""
    for line, code in snippets:
        script += "\n" * (line - 1 - script.count("\n")) + code  # errors name the page's own lines
    file = tmp_path / page.name
    file.write_text(script, encoding="utf-8")
    environment = ENV | {"TIKTOKEN_ENCODINGS_BASE": rank_file.folder()}
    command = [sys.executable, "-W", "error", str(file)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == "".join(output for _, output in blocks(page, "text"))


def commands(page: Path) -> list[tuple[str, str]]:
    """Each `$` line of the page's console blocks, and the output shown under it."""
    return [
        (match[1], match[2])
        for _, text in blocks(page, "console")
        for match in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
    ]


CONSOLE = [(name, *command) for page, name in zip(PAGES, NAMES) for command in commands(page)]


@pytest.mark.parametrize(("page", "command", "output"), CONSOLE, ids=[f"{page}: {line}" for page, line, _ in CONSOLE])
def test_commands_print_what_the_page_shows(page, command, output, tmp_path):
    shell = f'harmonystream() {{ "{sys.executable}" -m harmonystream "$@"; }}; {command}'
    done = subprocess.run(["sh", "-c", shell], cwd=tmp_path, env=ENV, capture_output=True, text=True, timeout=60)
    assert done.stdout + done.stderr == output


# By language, the pages that have blocks in it: tests/gateway/test_app_documented.py reads the gateway's settings, and
# `make clients` runs the clients in JavaScript and the coding agents, as the mark above such a block says.
ELSEWHERE = {
    "yaml": ("gateway-migrating.md",),
    "toml": ("gateway-migrating.md", "gateway-production.md", "clients.md"),
    "js": ("clients.md",),
    "json": ("clients.md",),
}


def test_only_these_languages_are_used_so_that_no_block_is_missed():
    used = {match[1] for page in PAGES for match in re.finditer(r"^```(\w+)", text_of(page), re.MULTILINE)}
    assert used <= {"python", "console", "sh", "text", "mermaid", *ELSEWHERE}


@pytest.mark.parametrize("language", ELSEWHERE)
def test_a_block_in_another_language_is_where_its_test_or_its_mark_is(language):
    found = {page.name for page in PAGES if f"\n```{language}\n" in text_of(page)}
    assert found <= set(ELSEWHERE[language])
    if "clients.md" in found:
        marks = re.findall(rf"(.*)\n```{language}\n", text_of("docs/clients.md"))
        assert all(mark.startswith("<!-- not run here: ") for mark in marks)


def test_a_shell_block_says_why_it_is_not_run():
    assert [line for page in PAGES for line, _ in blocks(page, "sh")] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    broken = []
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text_of(page)):
        if not target.startswith("https://") and not (page.parent / target).exists():
            broken.append(target)
    assert broken == []


def test_the_verbs_of_make_that_a_page_names_exist():
    verbs = set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE))
    assert {verb for page in PAGES for verb in re.findall(r"\bmake ([a-z]+)`", text_of(page))} <= verbs


def test_the_figures_of_the_readme_are_those_of_the_benchmarks():
    table = text_of("README.md").split("<!-- bench: these rows are in docs/benchmarks.md -->")[1].split("<!--")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()[2:]]
    lines = [line.split("|")[1:-1] for line in text_of("docs/benchmarks.md").splitlines() if line.startswith("| ")]
    measured = {cells[0].strip(): [cell.strip() for cell in cells] for cells in lines}
    assert len(rows) >= 5
    assert [row for row in rows if [measured[row[0]][at] for at in (0, 1, 2, 3, 6, 7)] != row] == []


def test_the_theory_of_operation_is_quoted_as_it_stands():
    source = text_of("ext/harmonystream/_native/stream/parser.pyx").split("# Theory of operation\n#\n")[1]
    comment = [line.removeprefix("#").strip() for line in source[: source.index("\n\n")].splitlines()]
    page = text_of("docs/design.md").split("<!-- quoted from ext/harmonystream/_native/stream/parser.pyx -->\n")[1]
    quoted = [line.removeprefix(">").strip() for line in page[: page.index("\n\n")].splitlines()]
    assert quoted == comment


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(page):
    """A pipe in a cell, even within code, begins another cell unless it is escaped."""
    for table in re.findall(r"(?:^\|.*\n)+", text_of(page), re.MULTILINE):
        head, *lines = (re.split(r"(?<!\\)\|", line) for line in table.splitlines())
        assert [cells for cells in lines if len(cells) != len(head)] == []


WIDTH = 120
# Lines that are as long as they need to be: rows of tables, quotes, comments, images and the targets of links.
NOT_PROSE = re.compile(r"\s*(?:\||>|<|!\[|\[!\[|\[[^\]]+\]: )")


def long_lines_of_prose(text: str) -> list[int]:
    """The numbers of the lines outside of code blocks that are prose and longer than WIDTH."""
    without_code = re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)
    lines = enumerate(without_code.splitlines(), 1)
    return [at for at, line in lines if len(line) > WIDTH and not NOT_PROSE.match(line)]


def test_a_long_line_is_found_in_prose_alone():
    long = "word " * 30
    text = f"{long}\n\n```text\n{long}\n```\n| {long} |\n> {long}\n- {long}\n[name]: https://example.org/{'x' * 120}\n"
    assert long_lines_of_prose(text) == [1, 8]


@pytest.mark.parametrize("page", [*NAMES, "CONTRIBUTING.md", "SECURITY.md"])
def test_lines_of_prose_fit_the_width(page):
    assert long_lines_of_prose(text_of(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_sources_and_functions_that_a_page_names_exist(page):
    sources = {f"{path.parent.name}/{path.name}": path.read_text(encoding="utf-8") for path in NATIVE.rglob("*.p*")}
    named = set(re.findall(r"\b((?:core|harmony|tags|stream|wire)/\w+\.(?:pyx|pxd))\b", text_of(page)))
    assert named - sources.keys() == set()
    for step in (
        line for line in text_of(page).splitlines() if re.search(r"`\w+/\w+\.p[yx]", line) and line.startswith("| ")
    ):
        files = re.findall(r"`(\w+/\w+\.(?:pyx|pxd))`", step)
        functions = re.findall(r"`(\w+)\(\)`", step)
        assert [name for name in functions if not any(f"{name}(" in sources[file] for file in files)] == []


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_an_example_prints_what_it_says(example):
    promised = re.search(r"^Prints:\n\n((?:    .*\n|\n)+)", text_of(example), re.MULTILINE)
    if promised is None:
        # One writes a file (tests/cli/test_cli_terminal.py compares it), one serves (test_starlette_example.py), one
        # prints what a die has thrown (tests/grammars/test_grammar_at.py runs it), and four need what is not installed:
        # they run in tests/engines/real and tests/engines/real_lmdeploy.
        elsewhere = (
            "record_demo.py",
            "fastapi_server.py",
            "constrained_arguments.py",
            "mlx_events.py",
            "lmdeploy_server.py",
        )
        assert example.name in (*elsewhere, "transformers_events.py", "llama_cpp_events.py")
        return
    done = subprocess.run([sys.executable, str(example)], env=ENV, capture_output=True, text=True, timeout=60)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.strip() == textwrap.dedent(promised[1]).strip()


# --- docs/bad-input.md --------------------------------------------------------------------------------------------

DEVIATIONS = {row[0].strip("`"): row[1:] for row in rows("docs/bad-input.md", 5)}
MISTAKES = rows("docs/bad-input.md", 2)
BEFORE = "<|channel|>analysis<|message|>Hm<|end|>"


def repeated(text: str) -> str:
    return re.sub(r"\{(.)×(\d+)\}", lambda match: match[1] * int(match[2]), text)


def outcome(messages: tuple[hs.Message, ...]) -> str:
    said = []
    for message in messages:
        if message.role != "assistant":
            said.append(f"suppressed {message.role}")
        if message.reasoning:
            said.append(f"reasoning `{message.reasoning}`")
        if message.content:
            said.append(f"content[{message.channel or '-'}] `{message.content}`")
        said += [f"call {call.name} `{call.arguments}`" for call in message.tool_calls]
    return ", ".join(said) or "nothing"


def declared(names: str) -> list[object]:
    """`f, g(s: string)` as tools."""
    tools: list[object] = []
    for name, parameters in re.findall(r"(\w+)(?:\(([^)]*)\))?", names):
        types = dict(re.findall(r"(\w+): (\w+)", parameters))
        properties = {key: {"type": kind} for key, kind in types.items()}
        tools.append({"name": name, "parameters": {"properties": properties}})
    return tools


@pytest.mark.parametrize("code", CODES[1:])
def test_every_deviation_has_an_example_that_shows_it_and_nothing_else(code):
    _, _, example, expected = (re.sub(r"`` (.*?) ``(?!`)", r"`\1`", cell) for cell in DEVIATIONS[code])
    match = re.fullmatch(r"(?:`(\w+)`: )?(?:tools=(\S*|\w+\(.*\)) )?`(.*)`", example)
    source = repeated(match[3])
    tools = None if match[2] is None else declared(match[2])
    skipped = source.startswith("…")
    output = [int(tid) for tid in source[1:-1].split(", ")] if source.startswith("[") else source.replace("…", BEFORE)
    format = match[1] or "harmony"
    done = hs.parse(output, format, tools=tools)
    assert [deviation.code for deviation in done.deviations] == [code]
    assert outcome(done.messages[skipped:]) == repeated(expected)
    if code in EXPECTED:
        with pytest.raises(hs.errors.ParseError) as caught:
            hs.parse(output, format, tools=tools, strict=True)
        assert (caught.value.code, caught.value.expected) == (code, EXPECTED[code])
        assert caught.value.position == done.deviations[0].position
    else:
        assert hs.parse(output, format, tools=tools, strict=True) == done


def test_the_table_of_deviations_is_whole_and_in_order():
    assert list(DEVIATIONS) == list(CODES[1:])
    strict, lenient = text_of("docs/bad-input.md").split("### Recorded, and accepted")
    assert {code for code in CODES[1:] if f"\n| `{code}` |" in strict} == set(EXPECTED)
    assert {code for code in CODES[1:] if f"\n| `{code}` |" in lenient} == set(CODES[1:]) - set(EXPECTED)


@pytest.mark.parametrize(("call", "result"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_raises_what_the_table_says(call, result):
    markers = {name: tid for tid, name in enumerate(hs.vocab.o200k_harmony().control)}
    names = {"hs": hs, "pickle": pickle, "p": hs.Parser(), "other": hs.vocab.from_bytes([], markers)}
    if result.startswith("nothing"):
        assert eval(call.strip("`"), names)[-1] == ()
        return
    match = re.fullmatch(r"`(\w+)`: (.*)", result)
    with pytest.raises(Exception, match=re.escape(match[2])) as caught:
        eval(call.strip("`"), names)
    assert type(caught.value).__name__ == match[1]
