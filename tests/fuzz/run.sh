#!/usr/bin/env bash
# make fuzz: fuzz a build of the native modules under AddressSanitizer and UndefinedBehaviorSanitizer.
#
# Needs Linux and clang with its sanitizer runtime (Debian: apt-get install clang libclang-rt-14-dev llvm, the last for
# names in reports), and atheris, whose wheel brings libFuzzer. Python itself is not instrumented: its allocations go
# through malloc, so that ASan sees them, and leaks are not looked for, because the interpreter keeps what it has.
#
# Replays the cases, then stops after FUZZ_RUNS executions or FUZZ_SECONDS, or at the first finding, which is kept and
# printed as a case (see replay.py), with a non-zero exit. What is made lies in FUZZ_DIR, build/fuzz by default; what
# was learnt stays there, in corpus, for the next run.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
out=${FUZZ_DIR:-$root/build/fuzz}
tree=$out/tree

for tool in clang "$python"; do
    command -v "$tool" >/dev/null || { echo "make fuzz needs $tool; see tests/fuzz/run.sh" >&2; exit 2; }
done
where='from importlib.util import find_spec; print(find_spec("atheris").submodule_search_locations[0])'
atheris=$("$python" -c "$where" 2>/dev/null) || {
    echo "make fuzz needs atheris, which has wheels for CPython 3.11 and newer on x86-64 Linux" >&2
    exit 2
}

sources() {
    (cd "$root" && find pyproject.toml setup.py ext harmonystream \
        \( -name '*.so' -o -name '*.c' -o -name __pycache__ \) -prune -o -type f "$@" -print0)
}

# The copy has its own modules; those in the checkout stay as they are.
if [ ! -e "$out/built" ] || [ -n "$(sources -newer "$out/built" | tr -d '\0')" ]; then
    rm -rf "$tree" "$out/built"
    mkdir -p "$tree"
    touch "$out/begun"
    (cd "$root" && sources | tar --create --null --files-from=-) | tar --extract --directory="$tree"
    sanitize="-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined"
    sanitize+=" -fsanitize-ignorelist=$root/tests/fuzz/ignored.txt"
    (cd "$tree" && CC=clang LDSHARED="clang -shared" CFLAGS="-g -fno-omit-frame-pointer $sanitize" \
        PYTHONWARNINGS=ignore nice -n 10 "$python" setup.py --quiet build_ext --inplace)
    mv "$out/begun" "$out/built"
fi

mkdir -p "$out/corpus" "$out/findings"
touch "$out/started"
cd "$tree"
export PYTHONPATH=$tree:$root/tests:$root/tests/support:$root/tests/reference PYTHONMALLOC=malloc PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
sanitized=(env "LD_PRELOAD=$atheris/../asan_with_fuzzer.so" "$python")
if [ $# -gt 0 ]; then # a command to run under the sanitizers instead: tests/fuzz/run.sh -m fuzz.replay FILE
    exec "${sanitized[@]}" "$@"
fi
"${sanitized[@]}" -m fuzz.replay "$root"/tests/fuzz/cases/*.case >/dev/null
nice -n 10 "${sanitized[@]}" -m fuzz "$out/corpus" -dict="$root/tests/fuzz/markers.dict" -max_len=1024 -timeout=30 \
    -rss_limit_mb=4096 -detect_leaks=0 -print_final_stats=1 -artifact_prefix="$out/findings/" \
    -max_total_time="${FUZZ_SECONDS:-3600}" -runs="${FUZZ_RUNS:-10000000}" && exit 0
for finding in $(find "$out/findings" -type f -newer "$out/started"); do
    echo "tests/fuzz/run.sh -m fuzz.replay $finding" >&2
    "${sanitized[@]}" -m fuzz.replay "$finding" || true
done
exit 1
