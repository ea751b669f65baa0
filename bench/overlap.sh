#!/bin/bash
# Measures what overlapping uploads, kernels and downloads gains on the simulated device: prints the
# time of some requests that overlap, the time of the same requests one after another, and the ratio.
# Usage: bench/overlap.sh
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh release test_scheduler_overlap onnxd_sim_ep >/dev/null
folder="${ONNXD_BUILD_DIR:-build/release}"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
if ! ctest --test-dir "$folder" -V -L timing -j 1 >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
awk '
    match($0, /overlapped [0-9.]+ ms, one after another [0-9.]+ ms/) {
        line = substr($0, RSTART, RLENGTH)
        split(line, words, " ")
        printf "%s, ratio %.2f\n", line, words[7] / words[2]
        found = 1
    }
    END { exit !found }' "$log" || { cat "$log" >&2; exit 1; }
