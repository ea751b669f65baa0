"""What changes how a model is computed, and must not change what comes out, or only as much as the
switch says: each graph pass, each instruction set, each family of kernels, rounded factors.

    switches(binary) -> Switch, ...
"""

import dataclasses
import json
import pathlib
import re
import subprocess

# Values of cpu.isa.
LEVELS = ("portable", "avx2", "avx512", "avx512_vnni", "avx512_bf16")
# Options of cpu_ep, each by itself.
OPTIONS = (*(("cpu.isa", level) for level in LEVELS),
           ("cpu.winograd", "off"), ("cpu.vector_kernels", False), ("cpu.onednn", False),
           ("cpu.precision", "bf16"), ("cpu.batch_cache_bytes", 1))
# By option. Two factors of 8 bits are each wrong by 2^-9 of themselves at most, so a sum of their
# products is by 2^-8 of the sum of the magnitudes.
TOLERANCES = {"cpu.precision": 2**-6}


@dataclasses.dataclass
class Switch:
    name: str
    environment: dict
    reason: str = ""  # why it cannot be tried here
    is_pass: bool = False
    tolerance: float = 0  # relative and absolute, where a case's own are smaller


NONE = Switch("", {})


def passes(binary):
    text = subprocess.run([str(binary), "list-passes"], capture_output=True, text=True,
                          check=True).stdout
    return re.findall(r"^  (\w+) ", text, re.M)


def _of_option(binary, key, value, folder):
    path = pathlib.Path(folder) / f"{key}_{value}.json"
    path.write_text(json.dumps({"providers": [{"name": "cpu_ep", "options": {key: value}}]}))
    switch = Switch(f"{key}={value}", {"ONNXD_CONFIG": str(path)},
                    tolerance=TOLERANCES.get(key, 0))
    opened = subprocess.run([str(binary), "list-eps", "--config", str(path)], capture_output=True,
                            text=True, check=False)
    if opened.returncode != 0 and "which this processor does not have" in opened.stdout:
        switch.reason = "this processor does not have it"
    return switch


def switches(binary, folder):
    for name in passes(binary):
        yield Switch(f"without {name}", {"ONNXD_MODELS_DISABLED_PASSES": name}, is_pass=True)
    for key, value in OPTIONS:
        yield _of_option(binary, key, value, folder)
