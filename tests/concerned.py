"""The tests that concern what has changed since the last commit, for `make quick`: one path a line.

The tests mirror the sources, so a source names its tests: `harmonystream/emit/chat.py` has `tests/emit/test_chat*.py`,
and `ext/harmonystream/_native/core/utf8.pyx` has `tests/native/core/test_utf8*.py`. A file without tests of its own
name has those of its folder.
"""

from __future__ import annotations

import subprocess
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = ("tests/house/test_house.py", "tests/house/test_layers.py")
SLICE = ("tests/invariants/test_corpus.py", "tests/invariants/test_corpus_tags.py")
"""Every stream of the corpora, cut at every place: for a change of the native sources, or of what tests them."""
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
        return set(SLICE) if path.suffix == ".py" and len(path.parts) > 2 else set()
    if name.startswith(ROOMS):
        return own(PurePosixPath("tests/native") / path.relative_to(ROOMS).parent, path, root) | set(SLICE)
    if path.parts[0] == "harmonystream":
        folder = "/".join(path.parent.parts[1:]).replace("_native", "native")
        return own(PurePosixPath("tests") / folder, path, root)
    return set()


def own(folder: PurePosixPath, path: PurePosixPath, root: Path) -> set[str]:
    """The tests with the module's name, or all of the folder. A header concerns the whole folder: others include it."""
    stem = path.stem.lstrip("_")
    named = [] if path.suffix == ".pxd" else sorted((root / folder).glob(f"test_{stem}*.py"))
    if named:
        return {found.relative_to(root).as_posix() for found in named}
    return {folder.as_posix()} if folder.name != "tests" and (root / folder).is_dir() else set()


def concerned(names: list[str], root: Path = ROOT) -> list[str]:
    """What pytest should run: no file beside its folder."""
    found = set(ALWAYS).union(*(tests_of(name, root) for name in names))
    folders = {name for name in found if not name.endswith(".py")}
    return sorted(name for name in found if not any(name.startswith(folder + "/") for folder in folders))


if __name__ == "__main__":
    print("\n".join(concerned(changed())))
