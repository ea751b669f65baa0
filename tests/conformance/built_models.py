"""Networks built node by node: a transformer encoder, a decoder step with a KV cache, LSTM and GRU,
and small CNNs quantised with onnxruntime's tool.

    models(folder, rng) -> (name, path, feeds, step, is_classifier, state), ...
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization

OPSET = 18


class Graph:
    """Collects nodes and weights."""

    def __init__(self, rng):
        self.rng, self.nodes, self.weights = rng, [], []

    def name(self):
        return f"v{len(self.nodes)}_{len(self.weights)}"

    def add(self, operator, *inputs, output=None, **attributes):
        output = output or self.name()
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def constant(self, value):
        name = self.name() + "_w"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, *shape):
        scale = 1 / np.sqrt(shape[0] if len(shape) < 3 else np.prod(shape[1:]))
        return self.constant((self.rng.normal(size=shape) * scale).astype(np.float32))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def dense(self, x, rows, columns):
        return self.add("Add", self.add("MatMul", x, self.weight(rows, columns)),
                        self.weight(columns))

    def norm(self, x, width):
        return self.add("LayerNormalization", x, self.constant(np.ones(width, np.float32)),
                        self.weight(width), axis=-1)

    def save(self, path, inputs, outputs):
        """inputs, outputs: (name, element type, shape)."""
        graph = helper.make_graph(
            self.nodes, "built", [helper.make_tensor_value_info(*i) for i in inputs],
            [helper.make_tensor_value_info(*o) for o in outputs], self.weights)
        model = helper.make_model(graph, ir_version=8,
                                  opset_imports=[helper.make_opsetid("", OPSET)])
        onnx.checker.check_model(model)
        onnx.save(model, path)
        return path


WIDTH, HEADS, VOCABULARY = 32, 4, 50


def heads(g, x):
    """[batch, length, width] to [batch, heads, length, size]."""
    split = g.add("Reshape", x, g.ints(0, 0, HEADS, WIDTH // HEADS))
    return g.add("Transpose", split, perm=[0, 2, 1, 3])


def attend(g, query, key, value, mask=None):
    scores = g.add("MatMul", query, g.add("Transpose", key, perm=[0, 1, 3, 2]))
    scores = g.add("Mul", scores, g.constant(np.float32((WIDTH // HEADS) ** -0.5)))
    if mask is not None:
        scores = g.add("Add", scores, mask)
    mixed = g.add("MatMul", g.add("Softmax", scores, axis=-1), value)
    flat = g.add("Reshape", g.add("Transpose", mixed, perm=[0, 2, 1, 3]), g.ints(0, 0, WIDTH))
    return g.dense(flat, WIDTH, WIDTH)


def feed_forward(g, x):
    hidden = g.dense(x, WIDTH, 2 * WIDTH)
    half = g.add("Mul", hidden, g.constant(np.float32(0.5)))
    erf = g.add("Erf", g.add("Mul", hidden, g.constant(np.float32(2 ** -0.5))))
    return g.dense(g.add("Mul", half, g.add("Add", erf, g.constant(np.float32(1)))), 2 * WIDTH,
                   WIDTH)


def encoder(folder, rng):
    g = Graph(rng)
    x = g.add("Gather", g.weight(VOCABULARY, WIDTH), "ids")
    allowed = g.add("Cast", "mask", to=TensorProto.FLOAT)
    far = g.add("Mul", g.add("Sub", g.constant(np.float32(1)), allowed),
                g.constant(np.float32(-10000)))
    bias = g.add("Unsqueeze", far, g.ints(1, 2))
    for _ in range(2):
        parts = [heads(g, g.dense(x, WIDTH, WIDTH)) for _ in range(3)]
        x = g.norm(g.add("Add", x, attend(g, *parts, bias)), WIDTH)
        x = g.norm(g.add("Add", x, feed_forward(g, x)), WIDTH)
    g.add("ReduceMean", x, g.ints(1), output="pooled", keepdims=0)
    g.add("Identity", x, output="hidden")
    path = g.save(folder / "encoder.onnx",
                  [("ids", TensorProto.INT64, ["n", "t"]), ("mask", TensorProto.INT64, ["n", "t"])],
                  [("hidden", TensorProto.FLOAT, ["n", "t", WIDTH]),
                   ("pooled", TensorProto.FLOAT, ["n", WIDTH])])
    feeds = [{"ids": rng.integers(0, VOCABULARY, (n, t)),
              "mask": (np.arange(t) < rng.integers(1, t + 1, (n, 1))).astype(np.int64)}
             for n, t in ((1, 1), (2, 7), (3, 16))]
    return "encoder", path, feeds, 0.0, False, {}


def decoder(folder, rng):
    """One step: attends to what the cache holds and to itself, and hands out the longer cache."""
    g = Graph(rng)
    x = g.add("Gather", g.weight(VOCABULARY, WIDTH), "ids")
    query, key, value = (heads(g, g.dense(x, WIDTH, WIDTH)) for _ in range(3))
    keys = g.add("Concat", "past_key", key, output="present_key", axis=2)
    values = g.add("Concat", "past_value", value, output="present_value", axis=2)
    x = g.norm(g.add("Add", x, attend(g, query, keys, values)), WIDTH)
    x = g.norm(g.add("Add", x, feed_forward(g, x)), WIDTH)
    g.add("MatMul", x, g.weight(WIDTH, VOCABULARY), output="logits")
    size = WIDTH // HEADS
    cache = ["n", HEADS, "past", size]
    longer = ["n", HEADS, "total", size]
    path = g.save(folder / "decoder.onnx",
                  [("ids", TensorProto.INT64, ["n", 1]),
                   ("past_key", TensorProto.FLOAT, cache),
                   ("past_value", TensorProto.FLOAT, cache)],
                  [("logits", TensorProto.FLOAT, ["n", 1, VOCABULARY]),
                   ("present_key", TensorProto.FLOAT, longer),
                   ("present_value", TensorProto.FLOAT, longer)])
    feeds = [{"ids": rng.integers(0, VOCABULARY, (n, 1)),
              **{name: rng.normal(size=(n, HEADS, past, size)).astype(np.float32)
                 for name in ("past_key", "past_value")}}
             for n, past in ((1, 0), (1, 5), (3, 9))]
    yield "decoder_step", path, feeds, 0.0, False, {}
    steps = [{"ids": rng.integers(0, VOCABULARY, (2, 1)),
              **{name: np.zeros((2, HEADS, 0, size), np.float32)
                 for name in ("past_key", "past_value")}} for _ in range(6)]
    yield "decoder_steps", path, steps, 0.0, False, {"present_key": "past_key",
                                                    "present_value": "past_value"}


def recurrent(folder, rng, operator):
    gates, width, hidden = {"LSTM": 4, "GRU": 3}[operator], 6, 8
    g = Graph(rng)
    extra = {"linear_before_reset": 1} if operator == "GRU" else {}
    y = g.add(operator, "x", g.weight(2, gates * hidden, width),
              g.weight(2, gates * hidden, hidden), g.weight(2, 2 * gates * hidden),
              hidden_size=hidden, direction="bidirectional", **extra)
    flat = g.add("Reshape", g.add("Transpose", y, perm=[0, 2, 1, 3]), g.ints(0, 0, 2 * hidden))
    g.add("Softmax", g.dense(flat, 2 * hidden, 5), output="y", axis=-1)
    name = operator.lower()
    path = g.save(folder / f"{name}.onnx", [("x", TensorProto.FLOAT, ["t", "n", width])],
                  [("y", TensorProto.FLOAT, ["t", "n", 5])])
    feeds = [{"x": rng.normal(size=(t, n, width)).astype(np.float32)}
             for t, n in ((1, 1), (7, 3), (20, 2))]
    return name, path, feeds, 0.0, True, {}


def cnn(folder, rng):
    g = Graph(rng)
    x = "x"
    for channels, filters in ((3, 8), (8, 16)):
        x = g.add("Relu", g.add("Conv", x, g.weight(filters, channels, 3, 3), g.weight(filters),
                                kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
        x = g.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = g.add("Flatten", g.add("GlobalAveragePool", x))
    g.add("Gemm", x, g.weight(16, 10), g.weight(10), output="y")
    return g.save(folder / "cnn.onnx", [("x", TensorProto.FLOAT, ["n", 3, 16, 16])],
                  [("y", TensorProto.FLOAT, ["n", 10])])


class Samples(quantization.CalibrationDataReader):
    def __init__(self, rng, count=8):
        self.rest = iter([{"x": rng.normal(size=(1, 3, 16, 16)).astype(np.float32)}
                          for _ in range(count)])

    def get_next(self):
        return next(self.rest, None)


def output_step(path):
    """The scale of the last value that is quantised: one step of the output."""
    model = onnx.load(path)
    weights = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}
    scales = [weights[n.input[1]] for n in model.graph.node
              if n.op_type == "DequantizeLinear" and n.input[0] not in weights
              and weights[n.input[1]].size == 1]
    return float(max(scales))


def quantised(folder, rng):
    source = cnn(folder, rng)
    kinds = (("cnn_qdq", quantization.QuantFormat.QDQ, quantization.QuantType.QInt8, False),
             ("cnn_qdq_per_channel", quantization.QuantFormat.QDQ, quantization.QuantType.QInt8,
              True),
             ("cnn_qlinear", quantization.QuantFormat.QOperator, quantization.QuantType.QUInt8,
              False))
    for name, form, kind, per_channel in kinds:
        path = folder / f"{name}.onnx"
        quantization.quantize_static(str(source), str(path), Samples(rng), quant_format=form,
                                     activation_type=kind, weight_type=quantization.QuantType.QInt8,
                                     per_channel=per_channel)
        feeds = [{"x": rng.normal(size=(n, 3, 16, 16)).astype(np.float32)} for n in (1, 4)]
        yield name, path, feeds, output_step(path), False, {}
    path = folder / "cnn_dynamic.onnx"
    quantization.quantize_dynamic(str(source), str(path),
                                  weight_type=quantization.QuantType.QUInt8)
    yield "cnn_dynamic", path, [{"x": rng.normal(size=(2, 3, 16, 16)).astype(np.float32)}], \
        0.02, False, {}


def models(folder, rng):
    yield encoder(folder, rng)
    yield from decoder(folder, rng)
    yield recurrent(folder, rng, "LSTM")
    yield recurrent(folder, rng, "GRU")
    yield from quantised(folder, rng)
