"""A hook of mkdocs, for what pages on the host of the repository need in another form than on the site.

A link to a file outside docs/ works on the host, where the whole tree can be read. On the site it leads to the host,
but for the changelog, which is a page of the site, too.
In a table, the host reads `\\|` within code as a pipe. The site's Markdown would show the backslash.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

OUTSIDE = re.compile(r"\]\(\.\./([^)]+)\)")
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
CODE = re.compile(r"(`+).+?\1")


CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
RELEASES = "releases.md"


def on_files(files: Any, *, config: Any, **_: Any) -> Any:
    """Adds the changelog as a page."""
    from mkdocs.structure.files import File

    text = CHANGELOG.read_text(encoding="utf-8").replace("](docs/", "](").replace("# Changelog", "# Release notes", 1)
    files.append(File.generated(config, RELEASES, content=text))
    return files


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Returns the page with absolute links to what is outside docs/, and with plain pipes in the code of tables."""
    markdown = markdown.replace("](../CHANGELOG.md", f"]({RELEASES}")
    linked = OUTSIDE.sub(rf"]({config.repo_url}/blob/main/\1)", markdown)
    return ROW.sub(lambda row: CODE.sub(lambda code: code[0].replace(r"\|", "|"), row[0]), linked)
