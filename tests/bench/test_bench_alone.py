"""The cases that pytest-benchmark times, and the comparison of two commits that CONTRIBUTING.md describes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from bench.cases import alone, emitters
from bench.clock import Case
from bench.worker import ROOT


def test_a_row_has_the_unit_of_its_case():
    case = Case("x", lambda: None, [], 1)
    assert alone.Alone(case, "MB/s", 500).row(2.0).cells == ("x", "500 MB/s", "at least 500", "PASS", "")
    assert alone.Alone(case, "µs", 2).row(2001).cells == ("x", "2.00 µs", "at most 2", "FAIL", "")
    rows = list(alone.emitter_rows(64, 1))
    assert [row.cells[0] for row in rows] == ["Chat", "Responses", "Messages", emitters.ALONE]
    assert all(len(row.cells) == len(alone.EMITTERS_HEAD) for row in rows)
    assert [row.cells[0] for row in alone.rows(alone.groups(64)["limits"], 1)] == [
        each.case.name for each in alone.limits(64)
    ]


@pytest.mark.slow
def test_the_commands_that_compare_two_commits_find_what_is_slower(tmp_path):
    """As CONTRIBUTING.md writes them, with one small case. The median of the first commit is then changed."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split()[1:] for line in page.splitlines() if line.startswith(".venv/bin/python -m pytest bench")]
    small = ["-k", "modf", "--rounds=1", "--tokens=64", f"--benchmark-storage={tmp_path}", "-p", "no:cacheprovider"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}

    def run(line: list[str]) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([sys.executable, *line, *small], cwd=ROOT, env=environment, capture_output=True)

    save, compare = lines
    assert run(save).returncode == 0
    (saved,) = tmp_path.rglob("0001_before.json")
    before = json.loads(saved.read_text("utf-8"))
    for median, slower in ((1e-9, True), (1e9, False)):
        before["benchmarks"][0]["stats"]["median"] = median
        saved.write_text(json.dumps(before), "utf-8")
        done = run(compare)
        assert b"0001_before" in done.stdout
        assert (b"modf" in done.stderr, done.returncode) == (slower, int(slower))
