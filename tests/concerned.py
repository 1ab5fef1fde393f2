"""The tests that concern what has changed since the last commit, for `make quick`: one path or test a line.

The tests mirror the sources, so a source names its tests: `harmonystream/tools/schema.py` has
`tests/tools/test_schema*.py`, and `ext/harmonystream/_native/core/utf8.pyx` has `tests/native/core/test_utf8*.py`. A
file without tests of its own name has those of its folder.
"""

from __future__ import annotations

import subprocess
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = ("tests/house/test_house.py", "tests/house/test_layers.py")
CORPUS = {"harmony": "tests/invariants/test_corpus.py", "tags": "tests/invariants/test_corpus_tags.py"}
"""By machine, the file that runs its corpus."""
SLICE = {room: f"{file}::test_native_at_every_chunking" for room, file in CORPUS.items()}
"""By machine, the one test that concerns the native sources: every stream of the corpus, cut at every place."""
ROOMS = "ext/harmonystream/_native/"


def changed(root: Path = ROOT) -> list[str]:
    """Files that differ from the last commit, and new ones."""
    commands = (["git", "diff", "--name-only", "HEAD"], ["git", "ls-files", "--others", "--exclude-standard"])
    runs = [subprocess.run(command, cwd=root, check=True, capture_output=True, text=True) for command in commands]
    return sorted({name for run in runs for name in run.stdout.splitlines()})


def tests_of(name: str, root: Path = ROOT) -> set[str]:
    """The test files and folders that concern one changed file, as paths under the root."""
    path = PurePosixPath(name)
    if path.suffix == ".md":
        return {"tests/house/test_docs.py"}
    if path.parts[0] == "bench":
        return own(PurePosixPath("tests/bench"), path, root)
    if path.parts[0] == "tests":
        if path.name.startswith("test_"):
            return {name} if (root / name).is_file() else set()
        return set(CORPUS.values()) if path.suffix == ".py" and len(path.parts) > 2 else set()
    if name.startswith(ROOMS):
        room = path.relative_to(ROOMS).parent
        return own(PurePosixPath("tests/native") / room, path, root) | corpus(room.as_posix())
    if path.parts[0] == "harmonystream":
        folder = "/".join(path.parent.parts[1:]).replace("_native", "native")
        return own(PurePosixPath("tests") / folder, path, root)
    return set()


def corpus(room: str) -> set[str]:
    """A machine's own corpus; both for what is under the machines or around them. `wire` has no machine in it."""
    return {SLICE[room]} if room in SLICE else set() if room == "wire" else set(SLICE.values())


def own(folder: PurePosixPath, path: PurePosixPath, root: Path) -> set[str]:
    """The tests with the module's name, or all of the folder. A header concerns the whole folder: others include it."""
    stem = path.stem.lstrip("_")
    named = [] if path.suffix == ".pxd" else sorted((root / folder).glob(f"test_{stem}*.py"))
    if named:
        return {found.relative_to(root).as_posix() for found in named}
    return {folder.as_posix()} if folder.name != "tests" and (root / folder).is_dir() else set()


def concerned(names: list[str], root: Path = ROOT) -> list[str]:
    """What pytest should run: no file of a listed folder, and no test of a listed file."""
    found = set(ALWAYS).union(*(tests_of(name, root) for name in names))
    whole = [f"{name}::" if name.endswith(".py") else f"{name}/" for name in found if "::" not in name]
    return sorted(name for name in found if not name.startswith(tuple(whole)))


if __name__ == "__main__":
    print("\n".join(concerned(changed())))
