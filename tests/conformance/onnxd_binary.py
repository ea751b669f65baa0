"""The daemon's command line as the conformance scripts use it."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT = pathlib.Path(os.environ.get("ONNXD_BINARY", ROOT / "build" / "release" / "onnxd"))


def definitions(binary):
    """The rows of `onnxd list-operators --json`: dictionaries, see daemon/operator_table.h."""
    text = subprocess.run([str(binary), "list-operators", "--json"], check=True,
                          capture_output=True, text=True).stdout
    return [json.loads(line) for line in text.splitlines()]
