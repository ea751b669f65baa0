"""Many cases through one `onnxd run`: they are packed into a model of independent nodes, so that a
process starts once for all of them. Where a run fails, the case that the message names is set
aside, or the batch is halved, until every case has outputs or an error of its own.

    run(binary, cases, imports) -> {case number: outputs or text of the error}
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile

import onnx
from onnx import numpy_helper

from random_case import build_model, tensor

TIMEOUT_S = 30
# One thread: the shapes are small, and OpenMP's teams spin where processors are shared.
CONFIG = json.dumps({"providers": [{"name": "cpu_ep", "options": {"cpu.threads": "1"}}]})
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}


def _write(folder, prefix, values):
    for index, value in enumerate(values):
        (folder / f"{prefix}_{index}.pb").write_bytes(value.SerializeToString())


def _proto(name, value):
    if isinstance(value, list):
        return onnx.helper.make_sequence(name, onnx.SequenceProto.TENSOR,
                                         [tensor(v) for v in value])
    return tensor(value, name)


def _read(path, kind):
    data = path.read_bytes()
    if isinstance(kind, tuple):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def _run_once(binary, cases, imports):
    """(outputs by case, "") or (None, error text)."""
    model, feeds, wanted = build_model(cases, imports)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "out").mkdir()
        onnx.save(model, folder / "model.onnx")
        (folder / "onnxd.json").write_text(CONFIG)
        _write(folder, "input", [_proto(n, v) for n, v in feeds.items()])
        # Only what is saved counts; what it is compared with just has to be there.
        nothing = onnx.helper.make_tensor("none", onnx.TensorProto.FLOAT, [0], [])
        empty = onnx.helper.make_sequence("none", onnx.SequenceProto.TENSOR, [])
        _write(folder, "output", [
            empty if isinstance(case.outputs[index], tuple) else nothing
            for case, index in wanted])
        try:
            result = subprocess.run(
                [str(binary), "run", str(folder / "model.onnx"), "--data", str(folder),
                 "--save-outputs", str(folder / "out"), "--config", str(folder / "onnxd.json")],
                capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S,
                env=ENVIRONMENT)
        except subprocess.TimeoutExpired:
            return None, "timed out"
        paths = [folder / "out" / f"output_{i}.pb" for i in range(len(wanted))]
        if result.returncode not in (0, 1) or not all(p.exists() for p in paths):
            lines = result.stderr.strip().splitlines() or [f"exit {result.returncode}"]
            if result.returncode < 0 or "Sanitizer" in result.stderr or \
                    "runtime error" in result.stderr:
                lines = [f"crashed ({result.returncode}): {lines[0]} ... {lines[-1]}"]
            return None, lines[-1]
        outputs = {case.number: [None] * len(case.outputs) for case in cases}
        for (case, index), path in zip(wanted, paths):
            outputs[case.number][index] = _read(path, case.outputs[index])
        return outputs, ""


def run(binary, cases, imports):
    if not cases:
        return {}
    outputs, error = _run_once(binary, cases, imports)
    if outputs is not None:
        return outputs
    if len(cases) == 1:
        return {cases[0].number: error}
    named = re.search(r"'c(\d+)(?:_\w+)?'", error)
    suspects = [c for c in cases if named and c.number == int(named.group(1))]
    if suspects:
        rest = [c for c in cases if c is not suspects[0]]
        parts = (suspects, rest)
    else:
        middle = len(cases) // 2
        parts = (cases[:middle], cases[middle:])
    found = {}
    for part in parts:
        found.update(run(binary, part, imports))
    return found
