"""`harmonystream inspect`: the page of a file."""

from __future__ import annotations

import json
import re

from harmonystream.cli import main

IDS = [200005, 17196, 200008, 12194, 0, 200002]


def data_of(page):
    return json.loads(re.search(r"const GIVEN = (.*);\n", page.read_text("utf-8"))[1])


def test_ids_and_text_become_a_page(tmp_path):
    (tmp_path / "ids").write_text(json.dumps(IDS), "utf-8")
    (tmp_path / "text").write_text("<|channel|>final<|message|>Hi!<|return|>", "utf-8")
    page = tmp_path / "page.html"
    assert main(["inspect", str(tmp_path / "ids"), "--output", str(page)]) == 0
    assert data_of(page)["ids"] == IDS
    assert main(["inspect", str(tmp_path / "text"), "--finish-reason", "length", "--output", str(page)]) == 0
    assert data_of(page)["texts"][-1] == ">"


def test_without_an_output_the_page_is_opened(tmp_path, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "ids").write_text(json.dumps(IDS), "utf-8")
    assert main(["inspect", str(tmp_path / "ids")]) == 0
    (url,) = opened
    assert url.removeprefix("file://") == capsys.readouterr().out.strip()


def test_what_cannot_be_shown_is_refused(tmp_path, capsys):
    (tmp_path / "ids").write_text("[1, -5]", "utf-8")
    assert main(["inspect", str(tmp_path / "ids"), "--output", str(tmp_path / "page")]) == 2
    assert main(["inspect", str(tmp_path / "none")]) == 2
    assert main(["inspect", str(tmp_path / "ids"), "--format", "no/such"]) == 2
    assert "no/such" in capsys.readouterr().err
