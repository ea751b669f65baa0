#!/bin/bash
# Builds build/<preset>/onnxd and everything else. Usage: scripts/build.sh [release|debug|asan|tsan]
# CC and CXX choose the compiler, ONNXD_BUILD_DIR another folder.
set -euo pipefail
cd "$(dirname "$0")/.."

preset="${1:-release}"
case "$preset" in
    release | debug | asan | tsan) ;;
    *)
        echo "usage: $0 [release|debug|asan|tsan]" >&2
        exit 64
        ;;
esac
folder="${ONNXD_BUILD_DIR:-build/$preset}"

scripts/install_dependencies.sh build
cmake --preset "$preset" -B "$folder" >&2
cmake --build "$folder" -j "$(nproc)" >&2
echo "$folder/onnxd"
