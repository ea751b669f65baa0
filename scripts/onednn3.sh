#!/bin/bash
# Builds the CPU provider against oneDNN 3.x from PyPI and runs its tests, since Debian 12 has 2.6 and
# later distributions have 3.x. Usage: scripts/onednn3.sh
set -euo pipefail
cd "$(dirname "$0")/.."

version=2023.2.0 # oneDNN 3.2
prefix=build/onednn3-prefix
folder=build/onednn3

if [ ! -e "$prefix/include/oneapi/dnnl/dnnl.h" ]; then
    rm -rf "$prefix"
    mkdir -p "$prefix/wheels"
    .venv/bin/pip download -q --disable-pip-version-check --no-deps -d "$prefix/wheels" \
        "onednn-devel-cpu-gomp==$version" "onednn-cpu-gomp==$version"
    # pip's own installation loses the library that the development wheel links to.
    /usr/bin/python3 - "$prefix" <<'PYTHON'
import pathlib
import sys
import zipfile

prefix = pathlib.Path(sys.argv[1])
for wheel in sorted((prefix / "wheels").glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            inside = name.partition(".data/data/")[2]
            if inside and not name.endswith("/"):
                target = prefix / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))
PYTHON
fi

cmake --preset release -B "$folder" -DONNXD_DNNL_ROOT="$PWD/$prefix" >/dev/null
cmake --build "$folder" -j "$(nproc)" --target onnxd \
    test_cpu_agreement test_cpu_kernel test_cpu_operators test_conformance_cpu >/dev/null
ctest --test-dir "$folder" -V -R '^(cpu_agreement|cpu_kernel|cpu_operators|conformance_cpu)$'
