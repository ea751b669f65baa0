"""Cases whose stored output is itself random: checked for shape, type and distribution instead."""

import math
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

RUNS = 40
# How many standard deviations the mean of all draws may lie off.
DEVIATIONS = 6.0


def _tensor(path):
    return numpy_helper.to_array(onnx.TensorProto.FromString(pathlib.Path(path).read_bytes()))


def check_bernoulli(binary, folder):
    """None, or what is wrong: draws of 0 and 1 with the probabilities that are the input."""
    data = folder / "test_data_set_0"
    probability, stored = _tensor(data / "input_0.pb"), _tensor(data / "output_0.pb")
    is_seeded = any(a.name == "seed" for n in onnx.load(folder / "model.onnx").graph.node
                    for a in n.attribute)
    draws = []
    with tempfile.TemporaryDirectory() as out:
        for _ in range(1 if is_seeded else RUNS):
            result = subprocess.run(
                [str(binary), "run", str(folder / "model.onnx"), "--data", str(data),
                 "--save-outputs", out], capture_output=True, text=True, errors="replace")
            path = pathlib.Path(out) / "output_0.pb"
            if not path.exists():
                return result.stderr.strip() or f"exit {result.returncode}"
            draws.append(_tensor(path))
            path.unlink()
    for draw in draws:
        if draw.shape != stored.shape or draw.dtype != stored.dtype:
            return f"{draw.dtype}{draw.shape}, not {stored.dtype}{stored.shape}"
        if not np.isin(draw, (0, 1)).all():
            return "draws other than 0 and 1"
    if is_seeded:
        return None
    p = np.asarray(probability, np.float64)
    if folder.name.endswith("_expanded"):
        p = 1 - p  # the function's body compares the other way round
    expected, variance = len(draws) * p.sum(), len(draws) * (p * (1 - p)).sum()
    ones = float(np.sum(draws))
    if abs(ones - expected) > DEVIATIONS * math.sqrt(variance):
        return f"{ones:.0f} ones in {RUNS} runs, {expected:.1f} are expected"
    return None
