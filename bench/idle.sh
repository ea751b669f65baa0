#!/bin/bash
# Measures what a server with a loaded model costs while nobody asks it for anything: prints the CPU
# time of all its threads as a share of one core, and fails above 0.5 %.
# Usage: bench/idle.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds="${1:-60}"
most_percent=0.5
binary="${ONNXD_BUILD_DIR:-build/release}/onnxd"
log="$(mktemp)"
pid=
finish() {
    [ -z "$pid" ] || { kill "$pid" && wait "$pid" || true; }
    rm -f "$log"
}
trap finish EXIT

# utime and stime, in clock ticks, of all threads. The name before them may hold anything but ")".
ticks() {
    sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }'
}

"$binary" serve --listen 127.0.0.1:0 --model-repository examples/digits/digits.onnx 2>"$log" &
pid=$!
for _ in $(seq 100); do
    address="$(sed -n 's/.*listening.*address=\([^ ]*\).*/\1/p' "$log" | head -n 1)"
    if [ -n "$address" ] && curl -sf "http://$address/v2/health/ready" >/dev/null; then
        break
    fi
    kill -0 "$pid" || { cat "$log" >&2; exit 1; }
    sleep 0.1
done
# Every thread has had something to do and is done with it.
for _ in 1 2 3 4; do
    curl -sf -H "Content-Type: application/json" -d @examples/digits/request.json \
        "http://$address/v2/models/digits/infer" >/dev/null
done

before="$(ticks)"
sleep "$seconds"
after="$(ticks)"
awk -v ticks="$((after - before))" -v hz="$(getconf CLK_TCK)" -v s="$seconds" -v most="$most_percent" \
    'BEGIN {
        percent = 100 * ticks / hz / s
        printf "idle for %s s: %.3f %% of a core\n", s, percent
        exit percent > most
    }'
