#!/usr/bin/env bash
# tests/fuzz/tsan.sh [SECONDS]: random cases of the threads target under ThreadSanitizer, without a GIL.
#
# PYTHON is a free-threaded CPython that was built with the sanitizer. From CPython's source:
#     CC=clang ./configure --disable-gil --with-thread-sanitizer --prefix=/opt/tsan && make install
# CYTHON is the Python that translates the modules; it has Cython and setuptools (.venv/bin/python by default). Needs
# clang with its runtime (Debian: apt-get install clang libclang-rt-14-dev llvm).
#
# Exits with 66 if a race is found that explained.txt does not explain. What is made lies in build/tsan.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:?the path of a free-threaded CPython built with --with-thread-sanitizer}
cython=${CYTHON:-$root/.venv/bin/python}
tree=${TSAN_DIR:-$root/build/tsan}/tree
rm -rf "$tree"
mkdir -p "$tree"
(cd "$root" && find pyproject.toml setup.py ext harmonystream \
    \( -name '*.so' -o -name '*.c' -o -name __pycache__ \) -prune -o -type f -print0 \
    | tar --create --null --files-from=-) | tar --extract --directory="$tree"
cd "$tree"
"$cython" setup.py --quiet --version >/dev/null # translates, and compiles nothing
read -r include suffix < <("$python" -c '
import sysconfig
print(sysconfig.get_path("include"), sysconfig.get_config_var("EXT_SUFFIX"))')
compile() {
    local source=${1#build/cython/ext/}
    clang -shared -fPIC -O1 -g -w -fsanitize=thread "-I$2" -Iext "-Iext/$(dirname "$source")" -o "${source%.c}$3" "$1"
}
export -f compile
find build/cython/ext -name '*.c' -print0 |
    nice -n 10 xargs -0 -P "$(nproc)" -I'{}' bash -c 'compile "$@"' - '{}' "$include" "$suffix"
export PYTHONPATH=$tree:$root/tests:$root/tests/support:$root/tests/reference PYTHON_GIL=0 PYTHONDONTWRITEBYTECODE=1
export TSAN_OPTIONS="exitcode=66 history_size=4 suppressions=$root/tests/fuzz/explained.txt"
exec nice -n 10 "$python" -m fuzz.racing "${1:-300}"
