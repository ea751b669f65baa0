#!/bin/bash
# Builds onnxd and serves a model with the CPU provider, by default the example model.
# Usage: scripts/serve.sh [--smoke | MODEL]
# MODEL is an .onnx file or a folder of models. --smoke sends the example request, checks the answer
# and ends. ONNXD_HTTP_LISTEN chooses another address than 127.0.0.1:8000.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
smoke=false
model="$root/examples/digits/digits.onnx"
is_example=true

usage() {
    echo "usage: $0 [--smoke | MODEL]" >&2
    exit 64
}

[ $# -le 1 ] || usage
case "${1:-}" in
    "") ;;
    --smoke) smoke=true ;;
    -*) usage ;;
    *)
        model="$(realpath -e "$1")"
        is_example=false
        ;;
esac
cd "$root"
listen="${ONNXD_HTTP_LISTEN:-127.0.0.1:8000}"
request="$root/examples/digits/request.json"
expected_class=1 # the label of the image in the request

echo "building onnxd, which takes some minutes the first time" >&2
onnxd="$(scripts/build.sh release onnxd)"
log="$(mktemp)"
server=
stop() {
    if [ -n "$server" ]; then
        kill -TERM "$server" 2>/dev/null || true
        wait "$server" || true
    fi
    rm -f "$log"
}
trap stop EXIT
trap 'exit 143' TERM
# A terminal sends the server its own interrupt.
trap '[ -z "$server" ] || wait "$server" || true; server=; exit 130' INT

# start ADDRESS: in the background; returns 1 when the server has ended instead of listening.
start() {
    "$onnxd" serve "$model" --listen "$1" 2>"$log" &
    server=$!
    for _ in $(seq 300); do
        address="$(sed -n 's/.*listening address=//p' "$log" | head -n 1)"
        if [ -n "$address" ] && "$onnxd" healthcheck --url "$address" >/dev/null 2>&1; then
            return 0
        fi
        if ! kill -0 "$server" 2>/dev/null; then
            server=
            return 1
        fi
        sleep 0.1
    done
    echo "the server did not become ready" >&2
    return 1
}

if ! start "$listen"; then
    cat "$log" >&2
    if ! grep -qi 'address already in use' "$log"; then
        exit 1
    fi
    if ! $smoke; then
        echo "'$listen' is taken, choose another: ONNXD_HTTP_LISTEN=127.0.0.1:9000 $0" >&2
        exit 1
    fi
    echo "'$listen' is taken, using a free port" >&2
    start 127.0.0.1:0 || { cat "$log" >&2; exit 1; }
fi

if $is_example; then
    echo "serving $model at http://$address, try:"
    echo
    echo "  curl -s http://$address/v2/models/digits/infer -d @$request"
    echo
else
    echo "serving $model at http://$address"
fi

if ! $smoke; then
    cat "$log" >&2
    tail -n 0 -f "$log" --pid="$server" >&2 &
    wait "$server"
    exit
fi

answer="$(curl -sS --fail-with-body --max-time 10 "http://$address/v2/models/digits/infer" \
    -d "@$request")"
echo "$answer"
# the index of the greatest of the numbers in "data"
class="$(printf '%s' "$answer" | sed -n 's/.*"data":\[\([^]]*\)\].*/\1/p' | tr ',' '\n' |
    awk 'NR == 1 || $1 + 0 > greatest { greatest = $1 + 0; at = NR - 1 } END { print at }')"
if [ "$class" != "$expected_class" ]; then
    echo "the model says class '$class', expected is $expected_class" >&2
    exit 1
fi
kill -TERM "$server"
code=0
wait "$server" || code=$?
server=
if [ "$code" -ne 0 ]; then
    cat "$log" >&2
    echo "the server ended with $code after SIGTERM" >&2
    exit 1
fi
echo "smoke test passed: class $class"
