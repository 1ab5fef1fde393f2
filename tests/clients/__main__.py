"""Runs real clients, the newest that there are, against the example server and the gateway: `make clients`.

The gateway is three of them behind nginx, with a store.

Each is installed into an environment of its own under .venv-clients. The table goes to docs/clients.md.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import coding_agents
import several
from ports import free_port  # several makes it known

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
HOME = ROOT / ".venv-clients"
PAGE = ROOT / "docs" / "clients.md"
BEGIN, END = "<!-- measured: written by make clients -->\n", "<!-- measured: end -->\n"
STRUCTURED = BEGIN.replace("written", "structured output, written")
CODING = BEGIN.replace("written", "coding agents, written")

PYTHON = {  # script: what it needs
    "with_official": ["openai", "anthropic"],
    "with_agents": ["openai-agents"],
    "with_langchain": ["langchain-openai", "langchain-anthropic"],
    "with_litellm": ["litellm", "mcp"],
    "with_pydantic_ai": ["pydantic-ai-slim[openai,anthropic]"],
    "with_instructor": ["instructor", "openai", "anthropic"],
}
OF_FORMS = "with_instructor"
"""The script that runs in front of structured.py alone."""
# The AI SDK 7 needs Node 22; 6 runs with 20, too.
NODE = {
    "with_official": ["openai", "@anthropic-ai/sdk"],
    "with_ai_sdk": ["ai@6", "@ai-sdk/openai@3", "@ai-sdk/openai-compatible@2", "@ai-sdk/anthropic@3"],
}


def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, text=True, timeout=900, **options)


def python_of(script: str) -> list[str]:
    home = HOME / script
    if not (home / "done").exists():
        run([sys.executable, "-m", "venv", str(home)], check=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        run([*pip, "--only-binary", ":all:", *PYTHON[script]], check=True)
        (home / "done").touch()
    return [str(home / "bin" / "python"), str(HERE / f"{script}.py")]


def node_of(script: str) -> list[str]:
    """Node looks for packages beside the script: so the scripts are copied there."""
    home = HOME / f"node_{script}"
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "done").exists():
        (home / "package.json").write_text('{"private": true, "type": "module"}\n')
        run(["npm", "install", "--no-audit", "--no-fund", "--silent", *NODE[script]], cwd=home, check=True)
        (home / "done").touch()
    for name in (f"{script}.mjs", "report.mjs"):
        shutil.copy(HERE / name, home / name)
    return ["node", str(home / f"{script}.mjs")]


def coding_packages() -> Path:
    """npm's folder of the coding agents."""
    home = HOME / "node_coding_agents"
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "done").exists():
        (home / "package.json").write_text('{"private": true}\n')
        run(["npm", "install", "--no-audit", "--no-fund", "--silent", *coding_agents.PACKAGES], cwd=home, check=True)
        for package, script in coding_agents.SCRIPTS.items():
            run(["node", script], cwd=home / "node_modules" / package, check=True)
        (home / "done").touch()
    return home


def table_of_coding(rows: list[dict[str, Any]]) -> str:
    names = list(coding_agents.FAMILIES)
    lines = [f"| program | version | API | {' | '.join(names)} | |", "|---" * (4 + len(names)) + "|"]
    for row in rows:
        checks = " | ".join(cell(row[name]) for name in names)
        note = row["note"].replace("|", "\\|").replace("\n", " ")
        lines.append(f"| {row['client']} | {row['version']} | {row['api']} | {checks} | {note} |")
    return "\n".join(lines) + "\n"


def rows_of(kind: str, script: str, url: str) -> list[dict[str, Any]]:
    try:
        command = (python_of if kind == "Python" else node_of)(script)
        done = run([*command, url], stdout=subprocess.PIPE, env={**os.environ, "PYTHONUTF8": "1"})
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"client"')]
        return rows or [missing(script, f"exit status {done.returncode}")]
    except (OSError, subprocess.SubprocessError) as error:
        return [missing(script, f"could not be had: {type(error).__name__}")]


def missing(script: str, note: str) -> dict[str, Any]:
    return {"client": script, "version": "", "api": "", "call": None, "answer": None, "note": note}


def cell(value: Any) -> str:
    return {True: "right", False: "**wrong**", None: "–"}[value]


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| client | version | API | call | answer | reasoning | gateway | |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        seen = "not shown" if row.get("reasoning") is None else cell(row["reasoning"])
        note = row["note"].replace("|", "\\|").replace("\n", " ")
        checks = f"{cell(row['call'])} | {cell(row['answer'])} | {seen} | {cell(row['gateway'])}"
        lines.append(f"| {row['client']} | {row['version']} | {row['api']} | {checks} | {note} |")
    return "\n".join(lines) + "\n"


FORMS = ("create", "create_partial", "create_iterable")


def table_of_forms(rows: list[dict[str, Any]]) -> str:
    lines = [f"| client | version | API | mode | {' | '.join(FORMS)} | |", "|---" * (5 + len(FORMS)) + "|"]
    for row in rows:
        checks = " | ".join(cell(row.get(form)) for form in FORMS)
        client = " | ".join((row["client"], row["version"], row["api"], row.get("mode", "")))
        lines.append(f"| {client} | {checks} | {row['note']} |")
    return "\n".join(lines) + "\n"


@contextmanager
def running(*command: str) -> Iterator[str]:
    """The URL of a server, whose command gets its port as the last argument."""
    port = free_port()
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen([sys.executable, *command, str(port)], env=env, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > deadline or server.poll() is not None:
                    raise
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=60)


CHECKS = ("call", "answer", "reasoning")


def both(kind: str, script: str, example: str, gateway: str) -> list[dict[str, Any]]:
    """The rows of a script before the example server, and whether the gateway does as well."""
    rows, others = rows_of(kind, script, example), rows_of(kind, script, gateway)
    by_name = {(row["client"], row["api"]): row for row in others}
    for row in rows:
        other = by_name.get((row["client"], row["api"]), {})
        row["gateway"] = all(other.get(check, False) == row.get(check) for check in CHECKS) if row["version"] else None
        row["note"] = row["note"] or other.get("note", "")
    return rows


def main() -> int:
    example = running(str(ROOT / "examples" / "fastapi_server.py"))
    gateway = several.running("-m", "harmonystream", "serve", "--store", "{store}", "--port", "{port}")
    with example as first, gateway as second:
        scripts = [("Python", script) for script in PYTHON if script != OF_FORMS]
        scripts += [("Node", script) for script in NODE]
        rows = [row for kind, script in scripts for row in both(kind, script, first, second)]
    with running(str(HERE / "structured.py")) as url:
        forms = rows_of("Python", OF_FORMS, url)
    with several.running(str(HERE / "coding_server.py"), "{port}", "{store}") as url:
        coding = list(coding_agents.rows(coding_packages(), url))
    write(CODING, table_of_coding(coding))
    write(BEGIN, table(rows))
    write(STRUCTURED, table_of_forms(forms))
    right = (row["call"] and row["answer"] and row["gateway"] and row.get("reasoning") is not False for row in rows)
    right_forms = all(row.get(form) for row in forms for form in FORMS)
    right_coding = all(row[name] for row in coding for name in coding_agents.FAMILIES)
    return 0 if all(right) and right_forms and right_coding else 1


def write(begin: str, made: str) -> None:
    """Print a table, and put it in its place on the page."""
    print(made)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    PAGE.write_text(before + begin + made + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
