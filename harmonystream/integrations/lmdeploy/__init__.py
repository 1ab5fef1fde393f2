"""Our parsers in LMDeploy's server. docs/lmdeploy.md explains how to use them.

LMDeploy has no entry points, so `register` must run before its server is made.
"""

from __future__ import annotations

import logging
from importlib.metadata import version

from ..engine_releases import check_release
from ..host_names import Host
from .table import NAMES

__all__ = ["HOST", "check_version", "register"]

OLDEST, NEWEST = (0, 18), (0, 18)
"""The first and last minor release of LMDeploy with which `make engines-lmdeploy` passes."""

_log = logging.getLogger("lmdeploy.harmonystream")
HOST = Host("LMDeploy", "lmdeploy", NAMES, _log)


def register() -> None:
    """Replace LMDeploy's response parsers by ours in this process. Calling it again changes nothing.

    `--tool-call-parser` and `--reasoning-parser` then accept the names `harmonystream`, `harmonystream_hermes` and so
    on, one for each format, and no others. If LMDeploy has changed so that they do not fit, the change is logged, and
    nothing is replaced.

    Raises ImportError if LMDeploy is missing, or older than the supported releases.
    """
    check_version()
    if not HOST.fits("parsers"):
        return
    try:
        from .parsers import register_parsers
    except Exception as error:  # a name that no table has
        HOST.gives_up("parsers", repr(error))
        return
    register_parsers()


def check_version(found: str | None = None) -> None:
    """Refuse an LMDeploy that is older than the supported releases, and warn about a newer one.

    Raises ImportError, which names the release to install.
    """
    check_release("LMDeploy", found or version("lmdeploy"), OLDEST, NEWEST, _log)
