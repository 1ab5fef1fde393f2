"""The native modules; everything else about the build is in pyproject.toml."""

import hashlib
import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Distribution, Extension, setup
from setuptools.command.build_ext import build_ext

RANKS = Path("harmonystream", "data", "o200k_base.tokens")
RANKS_SHA256 = "1bc812ae2d1700aa59660af453c7c98ac6e655445d17a2f932386a2d3d0236b5"
DEBUG = os.environ.get("HARMONYSTREAM_DEBUG") == "1"  # line tracing, for coverage of the .pyx files

if not RANKS.is_file() or hashlib.sha256(RANKS.read_bytes()).hexdigest() != RANKS_SHA256:
    sys.exit(f"{RANKS} is missing or damaged (expected sha256 {RANKS_SHA256}); take it from a clean checkout or sdist")

directives = {
    **{"language_level": 3, "cdivision": True},
    **{"boundscheck": False, "wraparound": False, "initializedcheck": False},
    "binding": False,  # plain C functions: a call with one argument costs half
    "always_allow_keywords": False,
    **{"embedsignature": True, "embedsignature.format": "clinic", "autotestdict": False},  # for help() and inspect
    "freethreading_compatible": True,
    "auto_pickle": False,  # what can be pickled has a method of its own for it
    "linetrace": DEBUG,
}
# coverage.py follows .pyx files through settrace alone, not through sys.monitoring
macros = {"CYTHON_TRACE": "1", "CYTHON_TRACE_NOGIL": "1", "CYTHON_USE_SYS_MONITORING": "0"} if DEBUG else {}
# Without tables for unwinding, which nothing here uses, a module is a twentieth smaller. Python binds all names of a
# module when it loads it, so calls need no stubs that would bind them later.
release = ["-O3", "-g0", "-fno-asynchronous-unwind-tables", *(["-fno-plt"] if sys.platform == "linux" else [])]
flags = ["/O2"] if sys.platform == "win32" else ["-O0", "-g"] if DEBUG else release
links = ["-Wl,-s"] if sys.platform == "linux" and not DEBUG else []  # no symbols, an eighth of the size
EXT = Path("ext")
# What is rare, or runs once per stream, is compiled for size: these modules were a sixth of the wheel.
SMALL = (
    *("arrow_out", "arrow_stream", "frames", "markup", "message_reader", "program", "prompt", "ranks"),
    *("snapshot", "tag_snapshot", "tag_table", "tools", "vocab", "vocab_image", "watch"),
)
modules = [
    Extension(
        ".".join(path.relative_to(EXT).with_suffix("").parts),
        [path.as_posix()],
        define_macros=list(macros.items()),
        extra_compile_args=flags + (["-Os"] if links and path.stem in SMALL else []),
        extra_link_args=links,
    )
    for path in sorted(EXT.rglob("*.pyx"))
]
# Only a module that changed, or that cimports what changed, is translated and compiled, unless the last build here was
# of another kind. The C code of a release build has a folder of its own, because coverage.py wants a debug build's
# beside the source.
JOBS = os.cpu_count() or 1
LAST, KIND = Path("build", "kind"), repr((flags, links, SMALL, macros, directives))
CHANGED = not LAST.is_file() or LAST.read_text(encoding="utf-8") != KIND
modules = cythonize(
    modules,
    nthreads=JOBS if sys.platform == "linux" else 0,
    build_dir=None if DEBUG else "build/cython",
    include_path=["ext"],
    compiler_directives=directives,
    cache=os.environ.get("CYTHON_CACHE_DIR") or False,  # C code by the hash of what it was made of
    force=DEBUG or CHANGED,
    quiet=True,
)


class Build(build_ext):
    """Compiles everything anew when the kind of build changes: a release with modules of a debug build is slow."""

    def run(self) -> None:
        self.force = self.force or CHANGED
        folders = self.build_lib, self.build_temp
        if self.inplace:  # an editable install would build in a folder that is gone afterwards, and build_ext all anew
            build = Distribution().get_command_obj("build")
            build.ensure_finalized()
            self.build_lib, self.build_temp = build.build_platlib, build.build_temp
        super().run()
        self.build_lib, self.build_temp = folders
        LAST.parent.mkdir(exist_ok=True)
        LAST.write_text(KIND, encoding="utf-8")


setup(ext_modules=modules, cmdclass={"build_ext": Build}, options={"build_ext": {"parallel": JOBS}})
