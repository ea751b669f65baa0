"""RNN, GRU and LSTM."""

import numpy as np

from generators import generator
from generators.linear import plain, weights
from random_case import NUMPY

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
ACTIVATIONS = ("Tanh", "Sigmoid", "Relu", "HardSigmoid", "Softsign")


@generator("RNN", "GRU", "LSTM")
def recurrent(draw):
    name, dtype = draw.definition["operator"], draw.type(0)
    gates, hidden, width = GATES[name], draw.integer(1, 4), draw.integer(1, 3)
    batch, length = draw.integer(1, 3), draw.integer(1, 4)
    direction = draw.choice(["forward", "reverse", "bidirectional"])
    both = 2 if direction == "bidirectional" else 1
    batch_first = draw.opset >= 14 and draw.chance(0.15)
    data = (batch, length, width) if batch_first else (length, batch, width)
    state = (batch, both, hidden) if batch_first else (both, batch, hidden)
    inputs = [plain(draw, dtype, data), plain(draw, dtype, (both, gates * hidden, width), -1, 1),
              plain(draw, dtype, (both, gates * hidden, hidden), -1, 1),
              plain(draw, dtype, (both, 2 * gates * hidden), -1, 1) if draw.chance(0.7) else None,
              draw.rng.integers(1, length + 1, batch).astype(NUMPY["int32"])
              if draw.chance(0.4) and not batch_first else None,
              plain(draw, dtype, state) if draw.chance() else None]
    attributes = {"hidden_size": hidden, "direction": direction,
                  "layout": 1 if batch_first else None,
                  "clip": draw.choice([None, None, 0.75])}
    outputs = [dtype, dtype]
    if name == "LSTM":
        inputs += [plain(draw, dtype, state) if draw.chance() else None,
                   plain(draw, dtype, (both, 3 * hidden), -1, 1) if draw.chance(0.3) else None]
        attributes["input_forget"] = draw.choice([None, None, 1])
        outputs.append(dtype)
    if name == "GRU" and draw.opset >= 3:
        attributes["linear_before_reset"] = draw.integer(0, 1)
    if draw.chance(0.3):
        count = {"RNN": 1, "GRU": 2, "LSTM": 3}[name] * both
        attributes["activations"] = [draw.choice(ACTIVATIONS) for _ in range(count)]
    if draw.opset < 7 and name in ("RNN", "GRU", "LSTM"):
        attributes["output_sequence"] = 1
    modern = dict(attributes)
    modern.pop("output_sequence", None)
    peers = ("ort", "widened", "narrowed")
    if batch_first:
        # onnxruntime takes only the other layout, and onnx.reference little else than this one.
        attributes["direction"], peers = "forward", ("reference",)
        attributes.pop("activations", None)
        attributes["clip"] = attributes["input_forget"] = None
        both_less = []
        for index, value in enumerate(inputs):
            cut = value
            if value is not None and both == 2 and index not in (0, 4):
                cut = value[:, :1] if index in (5, 6) else value[:1]
            both_less.append(cut)
        inputs = both_less
        if name == "LSTM":
            inputs[7] = None
    case = draw.case(inputs, attributes, outputs, atol=1e-5, rtol=1e-4, peers=peers,
                     constants=weights(draw, 1, 2))
    if draw.opset < 7:
        case.modern = draw.case(inputs, modern, outputs, opset=7, peers=peers)
    return case
