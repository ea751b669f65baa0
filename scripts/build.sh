#!/bin/bash
# Builds build/<preset>/onnxd, and all else unless targets are given.
# Usage: scripts/build.sh [release|debug|asan|tsan] [TARGET ...]
# CC and CXX choose the compiler, ONNXD_BUILD_DIR another folder.
set -euo pipefail
cd "$(dirname "$0")/.."

preset="${1:-release}"
case "$preset" in
    release | debug | asan | tsan) ;;
    *)
        echo "usage: $0 [release|debug|asan|tsan] [TARGET ...]" >&2
        exit 64
        ;;
esac
shift || true
targets=()
if [ $# -gt 0 ]; then
    targets=(--target "$@")
fi
folder="${ONNXD_BUILD_DIR:-build/$preset}"

scripts/install_dependencies.sh build
cmake --preset "$preset" -B "$folder" >&2
cmake --build "$folder" -j "$(nproc)" "${targets[@]}" >&2
echo "$folder/onnxd"
