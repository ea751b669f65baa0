#!/bin/bash
# Installs the Debian packages that are missing. Usage: scripts/install_dependencies.sh [build|test]
set -euo pipefail

build_packages=(
    build-essential cmake ninja-build pkg-config curl ca-certificates
    libuv1-dev node-llhttp libcjson-dev libdnnl-dev libprotobuf-c-dev protobuf-c-compiler
    libsystemd-dev libre2-dev libturbojpeg0-dev libpng-dev libwebp-dev libtiff-dev
    libopenjp2-7-dev libcriterion-dev python3
)
test_packages=(
    clang clang-tidy clang-format libclang-rt-dev libomp-dev python3-venv
)
# tests/emulated/
if [ "$(uname -m)" = x86_64 ]; then
    test_packages+=(bochs linux-image-cloud-amd64 busybox-static grub-pc-bin xorriso lz4)
fi

case "${1:-build}" in
    build) packages=("${build_packages[@]}") ;;
    test) packages=("${build_packages[@]}" "${test_packages[@]}") ;;
    *)
        echo "usage: $0 [build|test]" >&2
        exit 64
        ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "not a Debian system: these packages have to be there already: ${packages[*]}" >&2
    exit 0
fi

missing=()
for package in "${packages[@]}"; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
        missing+=("$package")
    fi
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo)
fi
echo "installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
