"""The models that bench/compare.py measures, with inputs for a batch: files made or installed once
into build/, never committed.

    cases(match, batch) -> Case, ...
"""

import dataclasses
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnx.version_converter
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "bench-models"
sys.path[:0] = [str(ROOT / "tests" / "e2e"), str(ROOT / "tests" / "conformance")]

import built_models  # noqa: E402
import models as light_models  # noqa: E402
import real_models  # noqa: E402

# Tolerances where a difference of the last bit can become one of a whole step of a quantised tensor:
# of probabilities that are all about 1e-3, and of an encoder's elements up to 3.6, of which
# quantising changes some by 0.25, and onnxruntime's own optimisations by 0.06.
ROUNDED_PROBABILITIES, ROUNDED_ENCODING = (1e-2, 0.0), (5e-2, 1e-1)

LIGHT = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


@dataclasses.dataclass
class Case:
    name: str
    path: pathlib.Path
    inputs: list
    rtol: float = 1e-3
    atol: float = 1e-5
    options: dict = dataclasses.field(default_factory=dict)  # of onnxd's CPU provider
    needs: str = ""  # a processor feature without which there is nothing to measure


def seeded(shape, low=0.0, high=1.0):
    return np.random.default_rng(0).uniform(low, high, shape).astype(np.float32)


# ---- the nine light models ----------------------------------------------------------------------


def with_batch(model, batch):
    """The model for inputs of another batch: the first extent of its input and of the shapes that
    activations are reshaped to."""
    weights = {t.name: t for t in model.graph.initializer}
    inputs = [v for v in model.graph.input if v.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    activations = {v.name for v in inputs}
    for node in model.graph.node:
        if not activations.intersection(node.input):
            continue
        activations.update(node.output)
        if node.op_type == "Reshape":
            shape = numpy_helper.to_array(weights[node.input[1]]).copy()
            shape[0] = batch
            weights[node.input[1]].CopyFrom(numpy_helper.from_array(shape, node.input[1]))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = batch
    del model.graph.value_info[:]
    return model


def light_cases(match, batch):
    for name in light_models.LIGHT_NAMES:
        if match not in name:
            continue
        path = FOLDER / f"{name}_{batch}.onnx"
        if not path.exists():
            onnx.save(with_batch(light_models.random_light_model(LIGHT, name), batch), path)
        (value,) = onnx.load(path, load_external_data=False).graph.input
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        yield Case(name, path, [seeded(shape)])


# ---- models that packages carry -----------------------------------------------------------------


def packaged_cases(match, batch):
    images = (("ppocr_det", "ch_PP-OCRv4_det_infer", (3, 640, 640)),
              ("ppocr_rec", "ch_PP-OCRv4_rec_infer", (3, 48, 320)),
              ("ppocr_cls", "ch_ppocr_mobile_v2.0_cls_infer", (3, 48, 192)))
    if not any(match in name for name in ("silero_vad", *(image[0] for image in images))):
        return
    folder = real_models.install()
    ocr = folder / "rapidocr_onnxruntime" / "models"
    for name, file, shape in images:
        if match in name:
            yield Case(name, ocr / f"{file}.onnx", [seeded((batch, *shape), -1, 1)], atol=1e-4)
    if match in "silero_vad":
        yield Case("silero_vad", folder / "silero_vad" / "data" / "silero_vad.onnx",
                   [seeded((batch, 576), -0.5, 0.5), seeded((2, batch, 128), -1, 1),
                    np.array(16000, np.int64)])


# ---- built here ---------------------------------------------------------------------------------


def minilm(path, width=384, heads=12, layers=6, vocabulary=30522):
    """An encoder of the shape of all-MiniLM-L6-v2, as exporters write it."""
    g = built_models.Graph(np.random.default_rng(5))
    size = width // heads

    def split(x):
        return g.add("Transpose", g.add("Reshape", x, g.ints(0, 0, heads, size)),
                     perm=[0, 2, 1, 3])

    x = g.add("Gather", g.weight(vocabulary, width), "ids")
    x = g.norm(g.add("Add", x, g.weight(1, 1, width)), width)
    far = g.add("Mul", g.add("Sub", g.constant(np.float32(1)),
                             g.add("Cast", "mask", to=TensorProto.FLOAT)),
                g.constant(np.float32(-10000)))
    bias = g.add("Unsqueeze", far, g.ints(1, 2))
    for _ in range(layers):
        query, key, value = (split(g.dense(x, width, width)) for _ in range(3))
        scores = g.add("MatMul", query, g.add("Transpose", key, perm=[0, 1, 3, 2]))
        scores = g.add("Add", g.add("Div", scores, g.constant(np.float32(size ** 0.5))), bias)
        mixed = g.add("MatMul", g.add("Softmax", scores, axis=-1), value)
        flat = g.add("Reshape", g.add("Transpose", mixed, perm=[0, 2, 1, 3]),
                     g.ints(0, 0, width))
        x = g.norm(g.add("Add", x, g.dense(flat, width, width)), width)
        hidden = g.dense(x, width, 4 * width)
        erf = g.add("Erf", g.add("Div", hidden, g.constant(np.float32(2 ** 0.5))))
        gelu = g.add("Mul", g.add("Mul", hidden, g.add("Add", erf, g.constant(np.float32(1)))),
                     g.constant(np.float32(0.5)))
        x = g.norm(g.add("Add", x, g.dense(gelu, 4 * width, width)), width)
    g.add("Identity", x, output="hidden")
    g.save(path, [("ids", TensorProto.INT64, ["n", "t"]), ("mask", TensorProto.INT64, ["n", "t"])],
           [("hidden", TensorProto.FLOAT, ["n", "t", width])])


def wake_word(path, frames, width):
    """A small dense head over a window of features."""
    g = built_models.Graph(np.random.default_rng(frames))
    x = g.add("Flatten", "x")
    x = g.norm(g.dense(x, frames * 96, width), width)
    x = g.norm(g.dense(g.add("Relu", x), width, width), width)
    g.add("Sigmoid", g.dense(g.add("Relu", x), width, 1), output="y")
    g.save(path, [("x", TensorProto.FLOAT, ["n", frames, 96])], [("y", TensorProto.FLOAT, ["n", 1])])


def built_cases(match, batch):
    path = FOLDER / "minilm.onnx"
    if not path.exists():
        minilm(path)
    for tokens in (128, 16):
        if match in f"minilm_{tokens}":
            ids = np.random.default_rng(tokens).integers(0, 30522, (batch, tokens))
            yield Case(f"minilm_{tokens}", path, [ids, np.ones((batch, tokens), np.int64)])
    for name, frames, width in (("head_16", 16, 32), ("head_22", 22, 64), ("head_28", 28, 128)):
        path = FOLDER / f"{name}.onnx"
        if not path.exists():
            wake_word(path, frames, width)
        if match in name:
            yield Case(name, path, [seeded((batch, frames, 96), -1, 1)])


# ---- quantised ----------------------------------------------------------------------------------


def calibration(name, shape, count=2):
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = iter([{name: np.random.default_rng(i).uniform(0, 1, shape)
                               .astype(np.float32)} for i in range(count)])

        def get_next(self):
            return next(self.left, None)

    return Reader()


def resnet50_int8(path, batch):
    """ResNet-50 between DequantizeLinear and QuantizeLinear: UINT8 activations, INT8 weights with a
    scale for each channel. Weights are of 7 bits, since onnxruntime's kernels for AVX2 saturate
    sums of two products of more."""
    from onnxruntime import quantization
    from onnxruntime.quantization import shape_inference
    model = with_batch(light_models.random_light_model(LIGHT, "resnet50"), batch)
    for node in model.graph.node:
        if node.op_type == "Sum":
            node.op_type = "Add"
    with tempfile.TemporaryDirectory() as folder:
        plain = str(pathlib.Path(folder) / "plain.onnx")
        model = onnx.version_converter.convert_version(model, 13)
        softmax = [n.name for n in model.graph.node if n.op_type == "Softmax"]
        model.ir_version = 8
        onnx.save(model, plain)
        # Makes batch normalisations part of the convolutions.
        shape_inference.quant_pre_process(plain, plain, skip_symbolic_shape=True)
        (value,) = onnx.load(plain).graph.input
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        quantization.quantize_static(plain, str(path), calibration(value.name, shape),
                                     quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                     # All probabilities are less than a step.
                                     nodes_to_exclude=softmax,
                                     reduce_range=True,
                                     activation_type=quantization.QuantType.QUInt8,
                                     weight_type=quantization.QuantType.QInt8)


def quantized_cases(match, batch):
    if match in "resnet50_int8":
        path = FOLDER / f"resnet50_int8_{batch}.onnx"
        if not path.exists():
            resnet50_int8(path, batch)
        (value,) = onnx.load(path).graph.input
        yield Case("resnet50_int8", path,
                   [seeded([d.dim_value for d in value.type.tensor_type.shape.dim])],
                   *ROUNDED_PROBABILITIES)
    names = [f"minilm_int8_{tokens}" for tokens in (128, 16)]
    if not any(match in name for name in names):
        return
    plain, path = FOLDER / "minilm.onnx", FOLDER / "minilm_int8.onnx"
    if not plain.exists():
        minilm(plain)
    if not path.exists():
        from onnxruntime import quantization
        quantization.quantize_dynamic(str(plain), str(path), reduce_range=True,
                                      weight_type=quantization.QuantType.QInt8)
    for tokens, name in zip((128, 16), names):
        if match in name:
            ids = np.random.default_rng(tokens).integers(0, 30522, (batch, tokens))
            yield Case(name, path, [ids, np.ones((batch, tokens), np.int64)],
                       *ROUNDED_ENCODING)


# ---- factors of bfloat16 -------------------------------------------------------------------------


def rounded_cases(match, batch):
    """Models of fp32 that onnxd computes with rounded factors: the peers' rows are those of fp32."""
    for name, of, atol in (("resnet50", light_cases, 1e-5), ("minilm_128", built_cases, 5e-2)):
        if match in f"{name}_bf16":
            (case,) = of(name, batch)
            yield dataclasses.replace(case, name=f"{name}_bf16", rtol=2e-2, atol=atol,
                                      options={"cpu.precision": "bf16"}, needs="avx512_bf16")


def cases(match, batch):
    FOLDER.mkdir(parents=True, exist_ok=True)
    yield from light_cases(match, batch)
    yield from packaged_cases(match, batch)
    yield from built_cases(match, batch)
    yield from quantized_cases(match, batch)
    yield from rounded_cases(match, batch)
