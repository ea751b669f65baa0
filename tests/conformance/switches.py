"""What changes how a model is computed, and must not change what comes out: each graph pass, each
instruction set, each family of kernels.

    switches(binary) -> Switch, ...
"""

import dataclasses
import json
import pathlib
import re
import subprocess

# Options of cpu_ep, each by itself.
OPTIONS = (("cpu.isa", "portable"), ("cpu.isa", "avx2"), ("cpu.isa", "avx512"),
           ("cpu.isa", "avx512_vnni"), ("cpu.winograd", "off"), ("cpu.vector_kernels", False),
           ("cpu.onednn", False))


@dataclasses.dataclass
class Switch:
    name: str
    environment: dict
    reason: str = ""  # why it cannot be tried here
    is_pass: bool = False


def passes(binary):
    text = subprocess.run([str(binary), "list-passes"], capture_output=True, text=True,
                          check=True).stdout
    return re.findall(r"^  (\w+) ", text, re.M)


def _of_option(binary, key, value, folder):
    path = pathlib.Path(folder) / f"{key}_{value}.json"
    path.write_text(json.dumps({"providers": [{"name": "cpu_ep", "options": {key: value}}]}))
    switch = Switch(f"{key}={value}", {"ONNXD_CONFIG": str(path)})
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
