"""A host whose names change: each change is found, and the log says once what went back to the host's own."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import logging
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harmonystream import integrations
from harmonystream.integrations.host_names import Host, HostName, differs

SOURCE = """
from dataclasses import dataclass

@dataclass
class Output:
    index: int
    token_ids: list

class Serving:
    registry = {}

    def __init__(self, tools):
        self.parser_cls = tools
        self.names = self.registry

    def generate(self, request, results, *, finished): ...

    def anything(self, *args, **kwargs): ...

class Special(Serving):
    def __init__(self):
        super().__init__(None)

def count(ids, top=None): ...
"""
NAMES = (
    HostName("a_host:Output.token_ids", "outputs", "1"),
    HostName("a_host:Serving.registry", "names", "1"),
    HostName("a_host:Special.parser_cls", "parsers", "1"),
    HostName("a_host:Serving.generate", "a stream", "1", ("request", "results", "*", "finished"), replaced=True),
    HostName("a_host:Serving.anything", "a stream", "1", ("whatever",)),
    HostName("a_host:count", "usage", "1", ("ids",)),
    HostName("a_host:count", "usage", "1", ("*", "top", "ids")),
)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("a_host")
    monkeypatch.setitem(sys.modules, "a_host", made)
    exec(SOURCE, made.__dict__)
    return made


def test_what_is_as_it_was_fits(host):
    assert differs(NAMES) == ""


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.path)
def test_a_name_that_is_taken_away_is_found(host, name, monkeypatch):
    class Other:
        def __init__(self) -> None: ...

    owner, _, last = name.path.partition(":")[2].rpartition(".")
    if owner:
        monkeypatch.setattr(host, owner, Other)
    else:
        monkeypatch.delattr(host, last)
    assert f"{name.path} is not there" in differs([name])


@pytest.mark.parametrize(
    ("path", "change", "said"),
    [
        ("generate", lambda self, asked, results, *, finished: None, "(asked, results, finished), and not (request"),
        ("generate", lambda self, results, request, *, finished: None, "(results, request, finished)"),
        ("generate", lambda self, request, results: None, "(request, results), and not"),
        ("generate", 3, "is not a function"),
    ],
)
def test_another_signature_is_found(host, path, change, said, monkeypatch):
    monkeypatch.setattr(host.Serving, path, change)
    assert said in differs(NAMES)


def test_one_more_parameter_counts_where_we_call(host, monkeypatch):
    monkeypatch.setattr(host, "count", lambda ids, vocab, top=None: None)
    assert "(ids, vocab, top), and not (ids) (usage)" in differs(NAMES)
    monkeypatch.setattr(host, "count", lambda ids, top=None, vocab=None: None)
    monkeypatch.setattr(host.Serving, "generate", lambda self, request, results, adapter, *, finished: None)
    assert differs(NAMES) == ""


def test_a_module_that_has_moved_is_found(host, monkeypatch):
    monkeypatch.delitem(sys.modules, "a_host")
    assert differs(NAMES).startswith("a_host cannot be imported: ModuleNotFoundError")


def test_the_log_says_it_once(host, caplog, monkeypatch):
    monkeypatch.delattr(host, "count")
    caplog.set_level(logging.WARNING)
    made = Host("pytest", "pytest", {"frames": NAMES, "parsers": NAMES[:2]}, logging.getLogger("a_host"))
    assert [made.fits("parsers"), made.fits("frames"), made.fits("frames")] == [True, False, False]
    (record,) = caplog.records
    said = record.getMessage()
    assert f"frames: pytest's own, because ours does not fit pytest {pytest.__version__}" in said
    assert "a_host:count is not there (usage)" in said


def each_change(name: HostName) -> list[tuple[Any, str, Any]]:
    """(owner, attribute, another value) of a name of a real host; its owner is a module or a class."""
    module, _, path = name.path.partition(":")
    found: Any = importlib.import_module(module)
    *above, last = path.split(".")
    for part in above:
        found = getattr(found, part)
    if not isinstance(found, (type, ModuleType)):
        found = type(found)
    fields = (*getattr(found, "model_fields", ()), *getattr(found, "__dataclass_fields__", ()))
    if last in fields or last not in vars(found):
        return []  # a field, or what a constructor sets
    value = getattr(found, last)
    changes = [(found, last, _GONE)]
    if name.parameters is not None:

        @functools.wraps(value, assigned=(), updated=())
        def other(something_else: Any) -> None: ...

        del other.__wrapped__
        assert list(inspect.signature(other).parameters) == ["something_else"]
        changes.append((found, last, other))
    return changes


_GONE = object()


@pytest.mark.parametrize("plugin", ["vllm", "sglang", "lmdeploy"])
def test_every_name_of_a_real_host_is_missed_when_it_changes(plugin, monkeypatch):
    """Where the host is installed, as in `make engines-vllm`."""
    pytest.importorskip(plugin)
    if plugin != "vllm":  # what makes the host's modules importable without a GPU
        monkeypatch.syspath_prepend(Path(__file__).parents[1] / "engines" / f"real_{plugin}")
        importlib.import_module(f"scripted_{plugin}")
    table = importlib.import_module(f"harmonystream.integrations.{plugin}.table")
    for feature, names in table.NAMES.items():
        assert differs(names) == "", feature
        for name in names:
            for owner, attribute, value in each_change(name):
                with monkeypatch.context() as changed:
                    if value is _GONE:
                        changed.delattr(owner, attribute)
                    else:
                        changed.setattr(owner, attribute, value)
                    needs_none = value is not _GONE and not [one for one in name.parameters or () if one != "*"]
                    inherited = value is _GONE and hasattr(owner, attribute)
                    assert differs([name]) or needs_none or inherited, name


PUBLIC = {
    "vllm.reasoning:ReasoningParserManager",
    "vllm.tool_parsers:ToolParserManager",
    "lmdeploy.cli.entrypoint:run",
}
"""What the hosts' own pages offer to plug-ins and users."""


def asked_of(host: str) -> dict[str, str]:
    """What the modules for a host import from it, and the attributes of modules among that: path -> our file."""
    found = {}
    for path in sorted((Path(integrations.__path__[0]) / host).glob("*.py")):
        tree, modules = ast.parse(path.read_text()), {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules |= {each.asname: each.name for each in node.names if each.asname}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for each in node.names:
                    found[f"{node.module}:{each.name}"] = path.name
                    modules[each.asname or each.name] = f"{node.module}.{each.name}"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                owner = modules[node.value.id]
                if not owner.rpartition(".")[2][:1].isupper():  # not of a class: the table has those that matter
                    found[f"{owner}:{node.attr}"] = path.name
    return {name: file for name, file in found.items() if name.split(".")[0] == host}


@pytest.mark.parametrize("host", ["vllm", "sglang", "lmdeploy"])
def test_every_name_that_is_imported_is_in_the_table(host):
    table = importlib.import_module(f"harmonystream.integrations.{host}.table").NAMES
    listed = {name.path for names in table.values() for name in names} | PUBLIC
    modules = {path.replace(":", ".") for path in listed} | {path.partition(":")[0] for path in listed}
    asked = asked_of(host)
    assert len(asked) > 5
    assert not {
        name: file
        for name, file in asked.items()
        if not any(f"{path}.".startswith(f"{name}.") for path in listed) and name.replace(":", ".") not in modules
    }
