"""Codex CLI, Claude Code and opencode as npm has them, before coding_server.py, with a task that needs two calls.

Their settings are those of docs/clients.md.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from coding_server import FAMILIES, FIRST, SECOND, WORD

__all__ = ["PACKAGES", "SCRIPTS", "rows"]

PACKAGES = ["@openai/codex", "@anthropic-ai/claude-code", "opencode-ai"]
SCRIPTS = {"@anthropic-ai/claude-code": "install.cjs", "opencode-ai": "postinstall.mjs"}
"""What npm runs of each after it is installed, if it is configured to."""
TASK = f"Which word do the files have? Begin with {FIRST}."
SECONDS = 300
PAGE = Path(__file__).resolve().parents[2] / "docs" / "clients.md"


class Program(NamedTuple):
    """prepare: writes the program's settings into its home folder, and gives its arguments and its environment."""

    name: str
    package: str
    command: str
    api: str
    prepare: Callable[[Path, str, str], tuple[list[str], dict[str, str]]]


def _settings(heading: str, url: str, model: str) -> str:
    """The settings that docs/clients.md has under this heading, for this gateway and model."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    block = section.partition("\n```")[2].partition("\n")[2].partition("```")[0]
    return block.replace("http://localhost:8000", url).replace("gpt-oss", model)


def _codex(home: Path, url: str, model: str) -> tuple[list[str], dict[str, str]]:
    alone = 'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
    (home / "config.toml").write_text(alone + _settings("Codex CLI", url, model))
    return ["exec", "--skip-git-repo-check", TASK], {"CODEX_HOME": str(home), "GATEWAY_KEY": "none"}


def _claude(home: Path, url: str, model: str) -> tuple[list[str], dict[str, str]]:
    (home / "settings.json").write_text(_settings("Claude Code", url, model))
    own = {"CLAUDE_CONFIG_DIR": str(home), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    return ["-p", TASK, "--allowedTools", "Bash"], own


def _opencode(home: Path, url: str, model: str) -> tuple[list[str], dict[str, str]]:
    settings = json.loads(_settings("opencode", url, model)) | {"autoupdate": False, "share": "disabled"}
    (home / "opencode.json").write_text(json.dumps(settings))
    folders = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
    more = {"OPENCODE_CONFIG": str(home / "opencode.json"), "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    return ["run", "-m", f"gateway/{model}", TASK], {**folders, **more}


PROGRAMS = [
    Program("Codex CLI", "@openai/codex", "codex", "Responses", _codex),
    Program("Claude Code", "@anthropic-ai/claude-code", "claude", "Messages", _claude),
    Program("opencode", "opencode-ai", "opencode", "Chat Completions", _opencode),
]


def rows(packages: Path, url: str) -> Iterator[dict[str, Any]]:
    """A row for each program, with the outcome for each format. packages: npm's folder."""
    for program in PROGRAMS:
        version = json.loads((packages / "node_modules" / program.package / "package.json").read_text())["version"]
        row: dict[str, Any] = {"client": program.name, "version": version, "api": program.api, "note": ""}
        for model in FAMILIES:
            row[model], note = _works(program, packages, url, model)
            row["note"] = row["note"] or note
        yield row


def _works(program: Program, packages: Path, url: str, model: str) -> tuple[bool, str]:
    """Does it find the word, with two commands? And what it said, if it does not."""
    with TemporaryDirectory() as folder:
        home, work = Path(folder, "home"), Path(folder, "work")
        home.mkdir()
        work.mkdir()
        (work / FIRST).write_text(f"The word is in {SECOND}.\n")
        (work / SECOND).write_text(f"{WORD}\n")
        arguments, own = program.prepare(home, url, model)
        command = [str(packages / "node_modules" / ".bin" / program.command), *arguments]
        env = {**os.environ, "HOME": str(home), "PWD": str(work), **own}
        try:
            done = subprocess.run(
                command, cwd=work, env=env, stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=SECONDS
            )
        except (OSError, subprocess.SubprocessError) as error:
            return False, f"{type(error).__name__}"
        fine = done.returncode == 0 and f"The word is {WORD}." in done.stdout
        return fine, "" if fine else (done.stderr or done.stdout).strip()[-120:]
