"""The native modules; everything else about the build is in pyproject.toml."""

import hashlib
import os
import sys
from pathlib import Path

from setuptools import Extension, setup

RANKS = Path("harmonystream", "data", "o200k_base.tiktoken")
RANKS_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
DEBUG = os.environ.get("HARMONYSTREAM_DEBUG") == "1"  # line tracing, for coverage of the .pyx files

if not RANKS.is_file() or hashlib.sha256(RANKS.read_bytes()).hexdigest() != RANKS_SHA256:
    sys.exit(f"{RANKS} is missing or damaged (expected sha256 {RANKS_SHA256}); take it from a clean checkout or sdist")

directives = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "binding": False,  # plain C functions: a call with one argument costs half
    "always_allow_keywords": False,
    **{"embedsignature": True, "embedsignature.format": "clinic", "autotestdict": False},  # for help() and inspect
    "freethreading_compatible": True,
    "linetrace": DEBUG,
}
# coverage.py follows .pyx files through settrace alone, not through sys.monitoring
macros = {"CYTHON_TRACE": "1", "CYTHON_TRACE_NOGIL": "1", "CYTHON_USE_SYS_MONITORING": "0"} if DEBUG else {}
flags = ["/O2"] if sys.platform == "win32" else ["-O0", "-g"] if DEBUG else ["-O3"]
modules = [
    Extension(
        "harmonystream." + path.stem, [path.as_posix()], define_macros=list(macros.items()), extra_compile_args=flags
    )
    for path in sorted(Path("ext", "harmonystream").glob("*.pyx"))
]
# force: C code left behind by a debug build would be reused, and is three times slower.
options = {"force": True, "cython_include_dirs": ["ext"], "cython_directives": directives}
setup(ext_modules=modules, options={"build_ext": options})
