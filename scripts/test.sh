#!/bin/bash
# Builds and runs every test; the last line is "N passed, N failed". Usage: scripts/test.sh
#
#   release, gcc   all tests, the checks of the sources, the end-to-end tests, ONNX's own cases,
#                  random cases against onnxruntime, real models; ONNX's cases again without each
#                  graph pass, with each instruction set and each family of kernels
#   AVX-512        the tests of the vector kernels on an emulated processor, and ONNX's cases of them
#   oneDNN 3       the tests of the CPU provider
#   debug, clang   all tests
#   asan, gcc      all tests but the timed ones, the end-to-end tests of the daemon itself, ONNX's
#                  own and random cases
#   tsan, gcc      the tests that use threads, and the end-to-end tests of the daemon's life
#   clang-tidy     every source file
set -uo pipefail
cd "$(dirname "$0")/.." || exit

results=build/test-results
mkdir -p "$results"
passed=0
failed=0
failures=()

say() {
    echo "==> $*"
}

# count KIND FILE NAME: adds what the file holds; a file without a result is a failure.
count() {
    local pair
    pair="$(/usr/bin/python3 scripts/count_tests.py "$1" "$2" 2>/dev/null)" || pair="0 1"
    [ "$pair" = "0 0" ] && pair="0 1"
    passed=$((passed + ${pair% *}))
    failed=$((failed + ${pair#* }))
    echo "    $3: ${pair% *} passed, ${pair#* } failed"
    [ "${pair#* }" -eq 0 ] || failures+=("$3")
    /usr/bin/python3 scripts/count_tests.py "$1-skipped" "$2" 2>/dev/null | sed 's/^/    skipped: /'
}

# one NAME COMMAND...: a step that is a test by itself.
one() {
    local name="$1"
    shift
    say "$name"
    if "$@" >"$results/step.log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        failures+=("$name")
        tail -n 100 "$results/step.log"
    fi
}

# run_ctest NAME FOLDER ARGUMENTS...
run_ctest() {
    local name="$1" folder="$2"
    shift 2
    say "tests: $name"
    timeout 1200 ctest --test-dir "$folder" -V "$@" >"$results/$name.log" 2>&1
    count ctest "$results/$name.log" "$name"
    grep -E '\[FAIL\]|Assertion Failed|runtime error|ERROR: |WARNING: ThreadSan|\*\*\*' \
        "$results/$name.log" | head -n 60
}

# conformance NAME BINARY SCRIPT ARGUMENTS...: one step; the totals that SCRIPT ends with are shown.
conformance() {
    local name="$1" binary="$2" script="$3"
    shift 3
    say "conformance: $name"
    if timeout 1500 .venv/bin/python "tests/conformance/$script" --binary "$binary" "$@" \
        >"$results/$name.log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        failures+=("$name")
        grep -E '^(failed|no peer|not hit)' "$results/$name.log" | head -n 60
    fi
    tail -n 8 "$results/$name.log" | cut -c1-200 | sed 's/^/    /'
}

# run_pytest NAME BINARY ARGUMENTS...
run_pytest() {
    local name="$1" binary="$2"
    shift 2
    say "end-to-end: $name"
    rm -f "$results/$name.xml"
    ONNXD_BINARY="$binary" timeout 1500 .venv/bin/python -m pytest -p no:cacheprovider \
        --junitxml="$results/$name.xml" "$@" >"$results/$name.log" 2>&1
    count junit "$results/$name.xml" "$name"
    tail -n 40 "$results/$name.log"
}

prepare_python() {
    local stamp=.venv/requirements.sum
    if ! sha256sum --status -c "$stamp" 2>/dev/null; then
        rm -rf .venv
        /usr/bin/python3 -m venv .venv || return 1
        .venv/bin/pip install -q --disable-pip-version-check -r tests/requirements.txt || return 1
        sha256sum tests/requirements.txt >"$stamp"
    fi
}

run_tidy() {
    # compat_v3.c is for another oneDNN than the one that is here.
    find base config memory graph ops ep model scheduler http daemon -name '*.c' \
        ! -name compat_v3.c -print0 |
        xargs -0 -n 4 -P "$(nproc)" clang-tidy --quiet -p build/clang
}

build() {
    case "$1" in
        clang) CC=clang CXX=clang++ ONNXD_BUILD_DIR=build/clang scripts/build.sh debug ;;
        *) CC=gcc CXX=g++ scripts/build.sh "$1" ;;
    esac
}

export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-second_deadlock_stack=1}"
untimed=(-LE 'timing|check' -j "$(nproc)")

one "dependencies" scripts/install_dependencies.sh test
one "python packages" prepare_python

one "build: release, gcc" build release
run_ctest release build/release -LE timing -j "$(nproc)"
run_ctest timing build/release -L timing -j 1
one "smoke test" scripts/serve.sh --smoke
run_pytest e2e build/release/onnxd tests/e2e tests/conformance
conformance compare-ort build/release/onnxd compare_ort.py --all
conformance onnx-cases-switches build/release/onnxd run_onnx_cases.py --each-switch

if [ "$(uname -m)" = x86_64 ]; then
    say "tests: AVX-512, emulated"
    .venv/bin/python tests/emulated/avx512.py --build build/release >"$results/avx512.log" 2>&1
    before=$failed
    count ctest "$results/avx512.log" avx512
    [ "$failed" -eq "$before" ] || tail -n 60 "$results/avx512.log"
fi

say "tests: oneDNN 3"
scripts/onednn3.sh >"$results/onednn3.log" 2>&1
before=$failed
count ctest "$results/onednn3.log" onednn3
[ "$failed" -eq "$before" ] || tail -n 60 "$results/onednn3.log"

one "build: asan, gcc" build asan
run_ctest asan build/asan "${untimed[@]}"
run_pytest e2e-asan build/asan/onnxd tests/e2e/test_lifecycle.py tests/e2e/test_command_line.py \
    tests/e2e/test_service.py
conformance onnx-cases-asan build/asan/onnxd run_onnx_cases.py
conformance compare-ort-asan build/asan/onnxd compare_ort.py --all --seed 2

one "build: debug, clang" build clang
run_ctest clang build/clang "${untimed[@]}"
one "clang-tidy" run_tidy

one "build: tsan, gcc" build tsan
run_ctest tsan build/tsan "${untimed[@]}" -R '^(base|memory|ep|model|scheduler|http|daemon)'
TSAN_OPTIONS="$TSAN_OPTIONS:suppressions=$PWD/tests/tsan.supp" \
    run_pytest e2e-tsan build/tsan/onnxd tests/e2e/test_lifecycle.py

for name in "${failures[@]}"; do
    echo "failed: $name"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
