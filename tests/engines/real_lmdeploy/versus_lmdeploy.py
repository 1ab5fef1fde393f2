"""LMDeploy's parsers beside ours in its own application: which of the scenarios the official client is told rightly.

Prints the table of docs/lmdeploy.md. tests/support, tests/reference and tests must be on the path. Right is what the
scenario says, which is written down by hand. LMDeploy stops gpt-oss at its first call, so scenarios that go on after
one are left out.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from asgi_clients import ROUTES, wrong_answer
from host_scenarios import FORMATS, Sides, played, scenarios
from scripted_lmdeploy import STOCK, Server

COMPARED = [format for format, family in FORMATS.items() if family in STOCK]
KINDS = ("stock", "ours")  # in this order: our parsers take the place of LMDeploy's for good


def answers(format: str, kind: str) -> dict[tuple[str, str], str]:
    """(scenario, route) -> what is wrong."""
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        host = Server(Path(directory), FORMATS[format], kind)
        for name, scenario in scenarios(format).items():
            play = played(format, scenario)
            host.play(play.ids, finish=play.finish)
            if len(host.script.ids) >= len(play.ids):
                for route in ROUTES:
                    found[name, route] = wrong_answer(route, host, play, format, scenario)
    return found


def main() -> None:
    logging.getLogger("lmdeploy").setLevel("ERROR")
    stock, ours = ({format: answers(format, kind) for format in COMPARED} for kind in KINDS)
    sides = Sides("LMDeploy", ROUTES)
    for format in COMPARED:
        sides.add(format, {key: (theirs, ours[format][key]) for key, theirs in stock[format].items()})
    sides.end()


if __name__ == "__main__":
    main()
