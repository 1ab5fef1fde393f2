"""A hook of mkdocs: a page's link to a file outside docs/ leads to the file in the repository.

On the host of the repository the same links work as they are, because there the whole tree can be read.
"""

from __future__ import annotations

import re
from typing import Any

OUTSIDE = re.compile(r"\]\(\.\./([^)]+)\)")


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Returns the page with each link that leaves docs/ made absolute."""
    return OUTSIDE.sub(rf"]({config.repo_url}/blob/main/\1)", markdown)
