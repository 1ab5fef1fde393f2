"""Tools in a Python file, for `harmonystream chat --tools FILE` and the gateway's settings."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from pathlib import Path

from .registry import Tools

__all__ = ["load_tools"]


def load_tools(path: str | os.PathLike[str]) -> Tools:
    """The `Tools` named `tools` in a Python file. Without that name, the file's public functions become tools.

    The file is run, because it is a part of the program, like its settings.

    Raises ValueError, with the file and the line, if the file cannot be read or run, or defines no tools. Raises
    ImportError if a package that the tools need is not installed.
    """
    path = Path(path)
    name = f"harmonystream_tools_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file of tools")
    if spec is None or spec.loader is None:
        raise ValueError(f"{path}: a file of tools is Python, and its name ends in .py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look up types there
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}") from error
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == spec.origin]
        where = f"{path}, line {lines[-1]}" if lines else str(path)
        raise ValueError(f"{where}: {type(error).__name__}: {error}") from error
    if isinstance(tools := getattr(module, "tools", None), Tools):
        return tools
    own = [
        value
        for key, value in vars(module).items()
        if not key.startswith("_") and getattr(value, "__module__", None) == name and callable(value)
    ]
    if not own:
        raise ValueError(f"{path} has neither `tools`, a harmonystream.Tools, nor a public function")
    try:
        return Tools(*own)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    except ImportError as error:
        raise ImportError(f"{path}: {error}", name=error.name) from error
