"""The order of the Python layers, read from every import.

formats, vocabs <- core <- emit; grammars <- engines; prompt, tools, engines <- agent <- gateway. No module imports
itself by way of others, not even for its types.
"""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from inspect import isclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "harmonystream"
SOURCES = sorted(PACKAGE.rglob("*.py"))
CORE = {"core", "formats", "vocabs"}
MAY_USE = {
    "formats": {"formats"},
    "vocabs": {"vocabs"},
    "core": CORE,
    "emit": CORE | {"emit"},
    "grammars": CORE | {"grammars"},
    "prompt": CORE | {"prompt"},
    "columns": CORE | {"prompt", "columns"},
    "tools": CORE | {"tools"},
    "engines": CORE | {"grammars", "engines"},
    "agent": CORE | {"grammars", "prompt", "tools", "engines", "agent"},
    "gateway": CORE | {"emit", "prompt", "tools", "engines", "agent", "integrations", "gateway"},
    "integrations": CORE | {"columns", "compat", "emit", "engines", "grammars", "integrations"},
    "compat": CORE | {"prompt", "compat"},
    "cli": CORE | {"prompt", "tools", "engines", "agent", "gateway", "grammars", "cli"},
}
"""A layer -> the layers that its modules may import. The core is `_native` and the modules beside it."""
EXCEPTIONS = {
    ("vocabs", "errors"),
    ("vocabs", "surrogates"),
    ("vocabs", "_native"),  # a file has the image of a native vocabulary
    ("formats", "errors"),  # an unknown format raises FormatError, which errors.py keeps with the other errors
}
"""(layer, module) that the table does not allow."""
LEAVES = {
    "integrations": {"gateway"},  # whose responses are those of integrations/starlette.py
    "gateway": {"cli"},
    "cli": {"__main__.py"},
}
"""What nobody may import but these, and itself."""
TOOLS_NOUN = {"tools.Tool", "tools.Tools"}
"""What `prompt`, `engines` and `grammars` may know of `tools`."""
DOORS = {"__init__.py", "__main__.py", "batch.py", "inside.py", "prompts.py"}
"""Modules of the package itself that give its names to users, or run it: they may import every layer. Nobody imports
them."""


def imports(tree: ast.AST, package: tuple[str, ...]) -> set[str]:
    """What a module imports from harmonystream, in full and without that name; also inside functions, and for types."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            names = [(*base, *(node.module or "").split("."), alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        else:
            continue
        found |= {".".join(filter(None, name[1:])) for name in names if name[0] == "harmonystream"}
    return found


def layer(module: str) -> str:
    room = module.partition(".")[0]
    return room if (PACKAGE / room).is_dir() and room != "_native" else "core"


def of_file(path: Path) -> set[str]:
    package = ("harmonystream", *path.parent.relative_to(PACKAGE).parts)
    return imports(ast.parse(path.read_text(encoding="utf-8")), package)


def forbidden(where: str, used: set[str]) -> set[str]:
    """The imports of a module of a layer that are against the order."""
    allowed = MAY_USE[where]
    return {
        name
        for name in used
        if layer(name) not in allowed
        and (where, name.partition(".")[0]) not in EXCEPTIONS
        and not (where in ("prompt", "engines", "grammars") and name in TOOLS_NOUN)
    }


def test_every_subpackage_is_a_layer():
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {"_native"}
    assert rooms == set(MAY_USE) - {"core"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_imports_only_the_layers_below(path):
    relative = path.relative_to(PACKAGE)
    if relative.as_posix() not in DOORS:
        assert forbidden(layer(relative.with_suffix("").as_posix().replace("/", ".")), of_file(path)) == set()


def test_nobody_imports_a_door():
    doors = {door.removesuffix(".py") for door in DOORS}
    for path in SOURCES:
        if path.relative_to(PACKAGE).as_posix() not in DOORS:
            assert {name.partition(".")[0] for name in of_file(path)} & doors == set(), path


def test_nobody_imports_a_leaf():
    for path in SOURCES:
        own = path.relative_to(PACKAGE).parts[0]
        for leaf in {layer(name) for name in of_file(path)} & LEAVES.keys() - {own}:
            assert own in LEAVES[leaf], path


def module_of(name: str) -> str:
    """The module that an import names, or from which it takes a name."""
    path = PACKAGE.joinpath(*name.split("."))
    while name and not (path.is_dir() or path.with_suffix(".py").is_file()):
        name, path = name.rpartition(".")[0], path.parent
    return name


def test_no_module_imports_itself_by_way_of_others():
    """Neither when it runs nor for its types, and not inside functions either."""
    names = {path: ".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in SOURCES}
    names = {path: name.removesuffix("__init__").rstrip(".") for path, name in names.items()}  # the package is ""
    uses = {name: {module_of(used) for used in of_file(path)} - {name} for path, name in names.items()}
    assert sum(map(len, uses.values())) > len(uses)
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_importing_the_package_imports_the_core_alone():
    """The other layers are loaded when one of their names is first asked for."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    later = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    assert len(later) == 1
    now = ast.Module([node for node in tree.body if node not in later], [])
    assert {layer(name) for name in imports(now, ("harmonystream",))} <= CORE


def test_the_reader_of_imports_reads_them_all():
    source = (
        "import harmonystream.cli.chat\ndef f():\n    from ..emit import chat\n    from . import own\n    import json\n"
        "if TYPE_CHECKING:\n    from ..events import Event"
    )
    found = {"cli.chat", "emit.chat", "tools.own", "events.Event"}
    assert imports(ast.parse(source), ("harmonystream", "tools")) == found
    assert forbidden("tools", found) == {"cli.chat", "emit.chat"}
    assert forbidden("prompt", {"tools.Tools", "tools.running"}) == {"tools.running"}
    assert sum(len(of_file(path)) for path in SOURCES) > 2 * len(SOURCES)


def test_no_emitter_and_no_item_has_more_than_three_ancestors_of_ours():
    found = {}
    for path in (PACKAGE / "emit").rglob("*.py"):
        module = import_module(".".join(("harmonystream", *path.relative_to(PACKAGE).with_suffix("").parts)))
        for kind in filter(isclass, vars(module).values()):
            found[kind] = sum(one.__module__.startswith("harmonystream") for one in kind.__mro__[1:])
    assert len(found) > 30
    assert {kind.__qualname__: n for kind, n in found.items() if n > 3} == {}


BELOW = {
    "refused": set[str](),
    "limits": set[str](),
    "requests": {"refused"},
    "generating": {"requests", "refused", "limits"},
    "operating": {"requests", "refused", "limits"},
    "answering": {"requests", "generating", "operating", "refused", "limits"},
}
"""A room of the gateway, or a module between them -> what it may import of the gateway, beside itself."""


@pytest.mark.parametrize("path", sorted((PACKAGE / "gateway").glob("*/*.py")), ids=lambda path: path.stem)
def test_a_room_of_the_gateway_imports_only_the_rooms_below(path):
    room = path.parent.name
    used = {name.split(".")[1] for name in of_file(path) if name.startswith("gateway.")}
    assert used <= BELOW[room] | {room}


@pytest.mark.parametrize("name", ["refused", "limits", "answering"])
def test_a_module_between_the_rooms_imports_only_what_is_below(name):
    used = {one.split(".")[1] for one in of_file(PACKAGE / "gateway" / f"{name}.py") if one.startswith("gateway.")}
    assert used <= BELOW[name] | {name}
