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
NUMBERS = {"tensor(float)": onnx.TensorProto.FLOAT, "tensor(int64)": onnx.TensorProto.INT64,
           "tensor(string)": onnx.TensorProto.STRING, "tensor(double)": onnx.TensorProto.DOUBLE}
RTOL, ATOL = 1e-3, 1e-5


@dataclasses.dataclass
class Model:
    """`feeds`: input name to array, for each run. `step`: outputs are quantised with this step and
    may differ by one. `is_classifier`: the greatest of the last axis must be the same. `state`:
    output name to the input that takes it in the next run, over what the feeds hold for it."""
    name: str
    path: pathlib.Path
    feeds: list
    step: float = 0.0
    is_classifier: bool = False
    state: dict = dataclasses.field(default_factory=dict)


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


def waveform(rate, seconds):
    """Vowel-like: the harmonics of a gliding pitch, in syllables with pauses, over faint noise."""
    t = np.arange(int(rate * seconds)) / rate
    pitch = np.cumsum(120 + 30 * np.sin(2 * np.pi * 0.7 * t)) / rate
    voice = sum(np.sin(2 * np.pi * k * pitch) / k for k in range(1, 16))
    syllables = np.clip(np.sin(2 * np.pi * 2.5 * t), 0, None)
    noise = np.random.default_rng(rate).normal(size=t.size)
    return (0.2 * voice * syllables + 0.002 * noise).astype(np.float32)


def chunks(rate, seconds=0.5):
    """What silero-vad takes at each step: 32 ms behind the last 4 ms of the chunk before."""
    size, before = rate * 32 // 1000, rate * 4 // 1000
    sound = np.concatenate([np.zeros(before, np.float32), waveform(rate, seconds)])
    return [sound[None, start:start + before + size]
            for start in range(0, sound.size - before - size + 1, size)]


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
        for rate in rates:
            yield Model(f"{name}_steps_{rate}", silero / f"{name}.onnx", [
                {"input": chunk, "state": np.zeros((2, 1, 128), np.float32),
                 "sr": np.array(rate, np.int64)} for chunk in chunks(rate)],
                state={"stateN": "state"})
    yield Model("silero_vad_half", silero / "silero_vad_half.onnx", [
        {"input": sound(2, 576), "state": np.zeros((2, 2, 128), np.float32)}])
    yield Model("silero_vad_16k_sequence", silero / "silero_vad_16k_sequence.onnx", [
        {"input": sound(length, 576), "h": np.zeros((1, 1, 128), np.float32),
         "c": np.zeros((1, 1, 128), np.float32)} for length in (1, 5, 40)])
    yield Model("magika", folder / "magika" / "models" / "standard_v3_3" / "model.onnx", [
        {"bytes": rng.integers(0, 257, (batch, 2048)).astype(np.int32)} for batch in (1, 4)],
        is_classifier=True)
    ocr = folder / "rapidocr_onnxruntime" / "models"

    def image(batch, height, width):
        return {"x": rng.uniform(-1, 1, (batch, 3, height, width)).astype(np.float32)}

    yield Model("rapidocr_det", ocr / "ch_PP-OCRv4_det_infer.onnx",
                [image(1, 64, 96), image(2, 96, 64), image(1, 320, 256)])
    yield Model("rapidocr_cls", ocr / "ch_ppocr_mobile_v2.0_cls_infer.onnx",
                [image(1, 48, 192), image(3, 48, 192), image(6, 48, 192)],
                is_classifier=True)
    yield Model("rapidocr_rec", ocr / "ch_PP-OCRv4_rec_infer.onnx",
                [image(1, 48, 160), image(2, 48, 96), image(6, 48, 320)], is_classifier=True)


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


def from_map(proto):
    """A MapProto of scalars as a dictionary."""
    keys = [key.decode() for key in proto.string_keys] or list(proto.keys)
    values = [onnx.numpy_helper.to_array(v).item() for v in proto.values.tensor_values]
    return dict(zip(keys, values))


def read_output(path, is_sequence):
    if not is_sequence:
        return onnx.numpy_helper.to_array(onnx.load_tensor(path))
    sequence = onnx.SequenceProto.FromString(path.read_bytes())
    return [from_map(item) for item in sequence.map_values]


def run_once(binary, model, inputs, outputs):
    """The outputs of `onnxd run`; RuntimeError with the message where it fails. `outputs`: of the
    onnxruntime session."""
    are_sequences = [output.type.startswith("seq") for output in outputs]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "out").mkdir()
        (folder / "onnxd.json").write_text(batches.CONFIG)
        for index, value in enumerate(inputs):
            (folder / f"input_{index}.pb").write_bytes(tensor(value).SerializeToString())
        for index, is_sequence in enumerate(are_sequences):
            # What is saved counts; what it is compared with just has to be there.
            empty = onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP) if is_sequence else \
                onnx.helper.make_tensor("none", NUMBERS[outputs[index].type], [0], [])
            (folder / f"output_{index}.pb").write_bytes(empty.SerializeToString())
        result = subprocess.run(
            [str(binary), "run", str(model), "--data", str(folder), "--save-outputs",
             str(folder / "out"), "--config", str(folder / "onnxd.json")],
            capture_output=True, text=True, errors="replace", timeout=300)
        paths = [folder / "out" / f"output_{i}.pb" for i in range(len(outputs))]
        if not all(path.exists() for path in paths):
            raise RuntimeError((result.stderr.strip().splitlines() or ["no outputs"])[-1])
        return [read_output(*pair) for pair in zip(paths, are_sequences)]


def scores(maps):
    return np.array([list(m.values()) for m in maps], np.float32)


def difference(model, actual, expected):
    """Why one output is not the other, or None. A sequence of maps from label to score may also be
    served as the tensor of the scores."""
    if isinstance(expected, list) and isinstance(actual, list):
        if [list(a) for a in actual] != [list(e) for e in expected]:
            return "other labels"
        actual = scores(actual)
    expected = scores(expected) if isinstance(expected, list) else np.asarray(expected)
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


def peer(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # Without it, sums of products of bytes saturate on processors before AVX-VNNI, and are wrong.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def check(model, run):
    """Why onnxd and onnxruntime disagree about the model, or None. `run(model, session, inputs)`
    returns onnxd's outputs or raises RuntimeError; `session` is onnxruntime's."""
    session = peer(model.path)
    outputs = session.get_outputs()
    own, peers = {}, {}  # what each carries to its next run
    for number, feeds in enumerate(model.feeds):
        expected = session.run(None, {**feeds, **peers})
        try:
            actual = run(model, session, {**feeds, **own})
        except RuntimeError as error:
            return re.sub(r"/\S*/", "", str(error))
        for output, found, wanted in zip(outputs, actual, expected):
            text = difference(model, found, wanted)
            if text:
                shapes = {n: v.shape for n, v in feeds.items()}
                return f"run {number}, {shapes}, output '{output.name}': {text}"
            if output.name in model.state:
                own[model.state[output.name]] = found
                peers[model.state[output.name]] = wanted
    return None


def command_line(binary):
    """Runs models with `onnxd run`."""
    def run(model, session, inputs):
        values = [inputs[i.name] for i in session.get_inputs()]
        try:
            return run_once(binary, model.path, values, session.get_outputs())
        except RuntimeError as error:
            missing = missing_operators(binary, model.path)
            raise RuntimeError(f"lacks {', '.join(missing)}" if missing else str(error)) from None
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=onnxd_binary.DEFAULT)
    parser.add_argument("--match", default="")
    options = parser.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for model in models(pathlib.Path(folder), options.match):
            text = check(model, command_line(options.binary))
            count += 1
            failed += text is not None
            print(f"{'equal ' if text is None else 'failed'} {model.name}"
                  f"{'' if text is None else ': ' + text}", flush=True)
    print(f"real models: {count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
