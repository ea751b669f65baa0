"""cpu.precision=bf16 at every level: the outputs of a model whose products have few rows and many
weights, which every processor rounds the factors of, are those of rounded factors."""

import json
import subprocess

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import support
import switches

WIDTHS = (601, 520, 513, 512)


def weights():
    rng = np.random.default_rng(7)
    return [rng.uniform(-1, 1, shape).astype(np.float32) / 16
            for shape in zip(WIDTHS, WIDTHS[1:])]


def model(path):
    """MatMul, Gemm and a pointwise Conv, one after the other."""
    first, second, third = weights()
    constants = {"first": first, "second": np.ascontiguousarray(second.T),
                 "third": third.T[:, :, None, None], "shape": np.array([1, WIDTHS[2], 1, 1])}
    nodes = [helper.make_node("MatMul", ["x", "first"], ["a"]),
             helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Gemm", ["b", "second"], ["c"], transB=1),
             helper.make_node("Reshape", ["c", "shape"], ["d"]),
             helper.make_node("Conv", ["d", "third"], ["y"])]
    graph = helper.make_graph(
        nodes, "precision", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, WIDTHS[0]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, WIDTHS[3], 1, 1])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
              path)


def expected(x, rounded):
    """In double but for the factors."""
    def product(a, b):
        if rounded:
            a, b = (m.astype(np.float32).astype(ml_dtypes.bfloat16) for m in (a, b))
        return a.astype(np.float64) @ b.astype(np.float64)

    first, second, third = weights()
    return product(product(np.maximum(product(x, first), 0), second), third).reshape(1, -1, 1, 1)


@pytest.mark.parametrize("level", switches.LEVELS)
@pytest.mark.parametrize("precision", ("fp32", "bf16"))
def test_outputs(level, precision, tmp_path):
    config, result = tmp_path / "config.json", tmp_path / "result"
    config.write_text(json.dumps({"providers": [{"name": "cpu_ep", "options": {
        "cpu.isa": level, "cpu.precision": precision}}]}))
    result.mkdir()
    x = np.random.default_rng(8).uniform(-1, 1, (1, WIDTHS[0])).astype(np.float32)
    model(tmp_path / "model.onnx")
    (tmp_path / "input_0.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    done = subprocess.run([support.BINARY, "run", tmp_path / "model.onnx", "--data", tmp_path,
                           "--save-outputs", result, "--config", config],
                          capture_output=True, text=True, check=False)
    if "which this processor does not have" in done.stderr:
        pytest.skip(f"this processor lacks {level}")
    assert done.returncode == 0, done.stderr
    found = numpy_helper.to_array(onnx.load_tensor(result / "output_0.pb"))
    off = {of: np.abs(found - wanted).max() / np.abs(wanted).max()
           for of in ("fp32", "bf16") for wanted in [expected(x, of == "bf16")]}
    print(off)
    # Between products a sum whose last bit differs may be rounded to the other side.
    assert off[precision] < (1e-5 if precision == "fp32" else 5e-4)
    assert off["bf16" if precision == "fp32" else "fp32"] > 1e-3
