"""The native modules; everything else about the build is in pyproject.toml."""

import hashlib
import os
import sys
from pathlib import Path

from Cython.Build import cythonize
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
flags = ["/O2"] if sys.platform == "win32" else ["-O0", "-g"] if DEBUG else ["-O3", "-g0"]
EXT = Path("ext")
modules = [
    Extension(
        ".".join(path.relative_to(EXT).with_suffix("").parts),
        [path.as_posix()],
        define_macros=list(macros.items()),
        extra_compile_args=flags,
    )
    for path in sorted(EXT.rglob("*.pyx"))
]
# The C code of a release build lies apart from a debug build's, which coverage.py wants beside the source: a release
# build that reused the latter would be three times slower. Only what changed, or cimports what changed, is translated.
JOBS = os.cpu_count() or 1
modules = cythonize(
    modules,
    nthreads=JOBS if sys.platform == "linux" else 0,
    build_dir=None if DEBUG else "build/cython",
    include_path=["ext"],
    compiler_directives=directives,
    force=DEBUG,
    quiet=True,
)
setup(ext_modules=modules, options={"build_ext": {"parallel": JOBS}})
