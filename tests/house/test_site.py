"""The documentation site: it has every page, its reference every name, and its pictures say what the pages say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "site"))
import links  # noqa: E402
import written_pages  # noqa: E402

NAV = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
REPOSITORY = re.search(r'^Repository = "(.+)"$', PROJECT, re.MULTILINE)[1]


OUTSIDE = {"harmony.md", "tags.md"}
"""Specifications, which only people who change the parser read. Pages link to them."""


def test_every_page_is_in_the_navigation_once():
    named = re.findall(r"([\w/-]+\.md)$", NAV, re.MULTILINE)
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    assert sorted(named) == sorted({*pages, links.RELEASES} - OUTSIDE)


def test_the_reference_has_every_public_name():
    """A page for each room; those of the package itself are on the pages of what they are for."""
    pages = (page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    shown = [name for page in pages for name in re.findall(r"^::: harmonystream\.([\w.]+)$", page, re.MULTILINE)]
    assert sorted(shown) == sorted(set(shown))
    assert {line.partition("(")[0] for line in SURFACE if line[0] != " "} - set(shown) == NOT_SHOWN


def test_the_reference_has_every_name_that_a_page_or_an_example_imports():
    """Names that the reference does not list may change in any version, so pages must not use them."""
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    shown = set(re.findall(r"^::: (harmonystream\.[\w.]+)$", pages, re.MULTILINE))
    sources = [ROOT / "README.md", *DOCS.glob("*.md"), *(ROOT / "examples").rglob("*.py")]
    imported = {
        f"{module}.{name.split()[0]}"
        for source in sources
        for module, names in re.findall(
            r"^ *from (harmonystream[\w.]*) import (\([^)]*\)|.*)$", source.read_text(encoding="utf-8"), re.MULTILINE
        )
        for name in filter(str.strip, names.partition("#")[0].strip("()").split(","))
    }
    assert len(imported) > 30
    assert {name for name in imported if name not in shown and name.rpartition(".")[0] not in shown} == set()


SURFACE = (ROOT / "tests" / "house" / "surface.txt").read_text(encoding="utf-8").splitlines()
NOT_SHOWN = {"__version__", "events.Event", "errors.missing_extra", "errors.suggestion", "engines.EngineError"}
"""The version; a name that is shown at the top; what is for this library's own errors; and a second place of a name."""


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.stderr, done.returncode) == ("", 0)
    reference = (tmp_path / "site" / "reference" / "parsing" / "index.html").read_text(encoding="utf-8")
    assert 'id="harmonystream.Parser"' in reference
    assert "<li><code>max_hold</code>: " in reference
    built = {page.parent.name: page.read_text(encoding="utf-8") for page in (tmp_path / "site").glob("*/index.html")}
    assert [name for name, page in built.items() if re.search(r"<td><code>[^<]*\\\|", page)] == []
    assert "<code>&lt;|channel|&gt;</code></td>" in built["harmony"]
    assert re.search(r"that fits applies:<ul>\s*<li>", built["harmony"])  # a list within a list
    assert "github.com" in (tmp_path / "site" / "design" / "index.html").read_text(encoding="utf-8")


def test_the_page_of_the_installation_has_every_extra_with_its_packages():
    extras = pytest.importorskip("tomllib").loads(PROJECT)["project"]["optional-dependencies"]
    needed = {name: sorted(re.match(r"[\w-]+", each)[0] for each in packages) for name, packages in extras.items()}
    shown = {}
    for line in (DOCS / "installation.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            names, _, packages = (cell.strip() for cell in line.split("|")[1:-1])
            shown |= zip(re.findall(r"`(\w+)`", names), packages.split(", ")) if "`, `" in names else {}
            if "`, `" not in names:
                shown[names.strip("`")] = packages
    needed_here = {name: ", ".join(packages) for name, packages in needed.items()}
    assert shown == {name: text.replace("tomli, ", "") for name, text in needed_here.items()}


@pytest.mark.parametrize("page", written_pages.PAGES)
def test_a_page_that_is_made_from_the_code_says_what_the_code_says(page):
    """Run `python docs/site/written_pages.py` after a change of the command line or of the gateway's settings."""
    assert (DOCS / page).read_text(encoding="utf-8") == written_pages.PAGES[page]()


def test_the_pages_of_the_site_have_plain_pipes_in_the_code_of_tables_and_absolute_links():
    page = r"""| `a\|b` | c\|d |

`a\|b`, [see](../ext/README.md)."""
    made = links.on_page_markdown(page, config=SimpleNamespace(repo_url="https://host/repo"))
    assert made == page.replace(r"| `a\|b`", "| `a|b`").replace("../ext", "https://host/repo/blob/main/ext")


def test_the_reference_lists_what_a_docstring_explains():
    pytest.importorskip("griffe")
    import parameters

    text = "Reads.\n\nids: one. More. text: a str:\n    or bytes\nlast: the end\n\nRaises: nothing. ids: no"
    assert parameters.with_lists(text, ["ids", "text", "last"]) == (
        "Reads.\n\n- `ids`: one. More.\n- `text`: a str: or bytes\n- `last`: the end\n\nRaises: nothing. ids: no"
    )


@pytest.mark.parametrize("picture", sorted((DOCS / "pictures").glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_loads_nothing_and_is_used(picture):
    text = picture.read_text(encoding="utf-8")
    assert re.findall(r"(?:href|src)=\"https?:|url\(\"?https?:|<script", text) == []
    assert any(picture.name in page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))


def test_the_bars_are_those_of_the_table():
    rows = [line.split("|") for line in (DOCS / "benchmarks.md").read_text(encoding="utf-8").splitlines()]
    ratios = [float(row[4].strip(" ×").replace(",", "")) for row in rows if len(row) == 10 and row[4].endswith("× ")]
    picture = (DOCS / "pictures" / "speed.svg").read_text(encoding="utf-8")
    assert len(ratios) >= 10
    assert [f"{ratio:,.0f}×" for ratio in ratios if f"{ratio:,.0f}×" not in picture] == []


def test_absolute_links_to_the_repository_lead_to_files():
    """The README is shown on PyPI, too, where a relative link leads nowhere."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    defined = dict(re.findall(r"^\[([^]]+)\]: ([^#\s]+)", readme, re.MULTILINE))
    assert set(re.findall(r"\]\[([A-Za-z][^]\"]*)\]", readme)) == defined.keys()
    links = [*defined.values(), *re.findall(r"\]\(([^)#]+)[^)]*\)", readme)]
    assert [link for link in links if not link.startswith("https://")] == []
    inside = [link for link in links if link.startswith(REPOSITORY)]
    assert inside
    for link in inside:
        path = re.sub(r"^/(?:blob|raw)/main/", "", link.removeprefix(REPOSITORY))
        assert (ROOT / path).exists(), link
