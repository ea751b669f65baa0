#!/usr/bin/env python3
"""Real models through onnxd and onnxruntime: those that Python packages carry, scikit-learn's as
skl2onnx exports them, and networks built here, some quantised with onnxruntime's tool.

    real_models.py [--binary PATH] [--match TEXT]

Packages are installed into build/real-models, never into the checkout. Prints a line for each model
and the operators that onnxd lacks for it. Exit 0 when all agree.
"""

import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

import batches
import built_models
import onnxd_binary
import sklearn_models
from random_case import tensor

PACKAGES = ("silero-vad==6.2.3", "magika==1.0.3", "rapidocr-onnxruntime==1.4.4")
FOLDER = onnxd_binary.ROOT / "build" / "real-models"
RTOL, ATOL = 1e-3, 1e-4


@dataclasses.dataclass
class Model:
    """`feeds`: input name to array, for each run. `steps`: outputs are quantised with this step and
    may differ by one. `is_classifier`: the greatest of the last axis must be the same."""
    name: str
    path: pathlib.Path
    feeds: list
    step: float = 0.0
    is_classifier: bool = False


def install():
    """The packages' files; pip is asked once for each version."""
    stamp = FOLDER / "installed.txt"
    wanted = "\n".join(PACKAGES)
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--upgrade",
                        "--disable-pip-version-check", "--target", str(FOLDER), *PACKAGES],
                       check=True)
        stamp.write_text(wanted)
    return FOLDER


def packaged(rng):
    folder = install()
    silero = folder / "silero_vad" / "data"

    def sound(batch, length):
        return rng.uniform(-0.5, 0.5, (batch, length)).astype(np.float32)

    for name in ("silero_vad", "silero_vad_op18_ifless", "silero_vad_16k_op15"):
        rates = (16000,) if "16k" in name else (16000, 8000)
        yield Model(name, silero / f"{name}.onnx", [
            {"input": sound(batch, 576 if rate == 16000 else 288),
             "state": rng.uniform(-1, 1, (2, batch, 128)).astype(np.float32),
             "sr": np.array(rate, np.int64)} for rate in rates for batch in (1, 3)])
    yield Model("silero_vad_half", silero / "silero_vad_half.onnx", [
        {"input": sound(2, 576), "state": np.zeros((2, 2, 128), np.float32)}])
    yield Model("silero_vad_16k_sequence", silero / "silero_vad_16k_sequence.onnx", [
        {"input": sound(length, 576), "h": np.zeros((1, 1, 128), np.float32),
         "c": np.zeros((1, 1, 128), np.float32)} for length in (1, 5)])
    yield Model("magika", folder / "magika" / "models" / "standard_v3_3" / "model.onnx", [
        {"bytes": rng.integers(0, 257, (batch, 2048)).astype(np.int32)} for batch in (1, 4)],
        is_classifier=True)
    ocr = folder / "rapidocr_onnxruntime" / "models"

    def image(batch, height, width):
        return {"x": rng.uniform(-1, 1, (batch, 3, height, width)).astype(np.float32)}

    yield Model("rapidocr_det", ocr / "ch_PP-OCRv4_det_infer.onnx",
                [image(1, 64, 96), image(2, 96, 64)])
    yield Model("rapidocr_cls", ocr / "ch_ppocr_mobile_v2.0_cls_infer.onnx",
                [image(1, 48, 192), image(3, 48, 192)], is_classifier=True)
    yield Model("rapidocr_rec", ocr / "ch_PP-OCRv4_rec_infer.onnx",
                [image(1, 48, 160), image(2, 48, 96)], is_classifier=True)


def models(folder, match=""):
    rng = np.random.default_rng(3)
    sources = (packaged(rng),
               (Model(*m) for m in sklearn_models.models(folder, rng)),
               (Model(*m) for m in built_models.models(folder, rng)))
    for source in sources:
        yield from (model for model in source if match in model.name)


def missing_operators(binary, path):
    """Operators of the model, subgraphs included, that `list-operators` does not have."""
    known = {(row["domain"], row["operator"]) for row in onnxd_binary.definitions(binary)}
    loaded = onnx.load(path, load_external_data=False)
    functions = {(f.domain, f.name) for f in loaded.functions}
    found = set()

    def walk(nodes):
        for node in nodes:
            domain = node.domain or "ai.onnx"
            if (domain, node.op_type) not in known and (node.domain, node.op_type) not in functions:
                found.add(f"{domain}.{node.op_type}")
            for attribute in node.attribute:
                for graph in [attribute.g, *attribute.graphs]:
                    walk(graph.node)

    walk(loaded.graph.node)
    for function in loaded.functions:
        walk(function.node)
    return sorted(found)


def run_onnxd(binary, model, inputs, count):
    """The outputs; RuntimeError with the message where it fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "out").mkdir()
        (folder / "onnxd.json").write_text(batches.CONFIG)
        for index, value in enumerate(inputs):
            (folder / f"input_{index}.pb").write_bytes(tensor(value).SerializeToString())
        for index in range(count):
            empty = onnx.helper.make_tensor("none", onnx.TensorProto.FLOAT, [0], [])
            (folder / f"output_{index}.pb").write_bytes(empty.SerializeToString())
        result = subprocess.run(
            [str(binary), "run", str(model), "--data", str(folder), "--save-outputs",
             str(folder / "out"), "--config", str(folder / "onnxd.json")],
            capture_output=True, text=True, errors="replace", timeout=300)
        paths = [folder / "out" / f"output_{i}.pb" for i in range(count)]
        if not all(path.exists() for path in paths):
            raise RuntimeError((result.stderr.strip().splitlines() or ["no outputs"])[-1])
        return [onnx.numpy_helper.to_array(onnx.load_tensor(path)) for path in paths]


def difference(model, actual, expected):
    """Why one output is not the other, or None."""
    expected = np.asarray(expected)
    if actual.shape != expected.shape:
        return f"found shape {actual.shape}, expected {expected.shape}"
    if expected.dtype.kind in "OUS":
        texts = [v.decode() if isinstance(v, bytes) else str(v) for v in actual.ravel()]
        return None if texts == [str(v) for v in expected.ravel()] else "other texts"
    if expected.dtype.kind != "f":
        return None if np.array_equal(actual, expected) else "other integers"
    atol = max(model.step * 1.01, ATOL)
    near = np.isclose(actual, expected, rtol=RTOL, atol=atol, equal_nan=True)
    if not near.all():
        worst = float(np.nanmax(np.abs(actual.astype(np.float64) - expected)))
        return f"{int((~near).sum())} of {near.size} elements differ, by up to {worst:.3g}"
    if model.is_classifier and (actual.argmax(-1) != expected.argmax(-1)).any():
        return "another class"
    return None


def check(binary, model):
    """Why onnxd and onnxruntime disagree about the model, or None."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(model.path), options,
                                           providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    for feeds in model.feeds:
        expected = session.run(None, feeds)
        try:
            actual = run_onnxd(binary, model.path, [feeds[n] for n in names], len(expected))
        except RuntimeError as error:
            missing = missing_operators(binary, model.path)
            text = re.sub(r"/\S*/", "", str(error))
            return f"lacks {', '.join(missing)}" if missing else text
        for output, found, wanted in zip(session.get_outputs(), actual, expected):
            text = difference(model, found, wanted)
            if text:
                shapes = {n: v.shape for n, v in feeds.items()}
                return f"{shapes}, output '{output.name}': {text}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=onnxd_binary.DEFAULT)
    parser.add_argument("--match", default="")
    options = parser.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for model in models(pathlib.Path(folder), options.match):
            text = check(options.binary, model)
            count += 1
            failed += text is not None
            print(f"{'equal ' if text is None else 'failed'} {model.name}"
                  f"{'' if text is None else ': ' + text}", flush=True)
    print(f"real models: {count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
