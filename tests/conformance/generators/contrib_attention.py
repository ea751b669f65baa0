"""com.microsoft: attention."""

import numpy as np

from generators import generator
from generators.contrib import LOOSE, MS
from generators.contrib_quantization import right_factor
from generators.linear import plain
from random_case import Unsuitable


def half(draw, dtype, shape):
    return plain(draw, dtype, shape, -1, 1)


@generator("Attention", domain=MS)
def attention(draw):
    dtype, batch, length = draw.type(), draw.integer(1, 2), draw.integer(1, 4)
    heads, size, width = draw.integer(1, 3), draw.integer(1, 4), draw.integer(1, 5)
    hidden = heads * size
    past = draw.integer(1, 3) if draw.chance(0.3) else 0
    mask = None
    if draw.chance():
        mask = draw.choice([
            draw.rng.integers(1, length + past + 1, (batch,)),
            np.maximum(draw.rng.integers(0, 2, (batch, length + past)),
                       np.arange(length + past) == 0)]).astype(np.int32)
    inputs = [half(draw, dtype, (batch, length, width)), half(draw, dtype, (width, 3 * hidden)),
              half(draw, dtype, (3 * hidden,)), mask,
              half(draw, dtype, (2, batch, heads, past, size)) if past else None,
              half(draw, dtype, (batch, heads, length, length + past))
              if not past and draw.chance(0.3) else None]
    outputs = [dtype] + ([dtype] if past else [])
    return draw.case(inputs, {"num_heads": heads, "unidirectional": draw.integer(0, 1),
                              "scale": draw.choice([None, 0.4])}, outputs, **LOOSE)


@generator("MultiHeadAttention", domain=MS)
def multi_head_attention(draw):
    dtype, batch, length = draw.type(), draw.integer(1, 2), draw.integer(1, 4)
    total, heads, size = draw.integer(1, 4), draw.integer(1, 3), draw.integer(1, 4)
    hidden = heads * size
    past = draw.integer(1, 3) if draw.chance(0.3) else 0
    if past:
        total = length
    mask = None
    if draw.chance(0.4):
        mask = np.maximum(draw.rng.integers(0, 2, (batch, total + past)),
                          np.arange(total + past) == 0).astype(np.int32)
    inputs = [half(draw, dtype, (batch, length, hidden)), half(draw, dtype, (batch, total, hidden)),
              half(draw, dtype, (batch, total, hidden)),
              half(draw, dtype, (3 * hidden,)) if draw.chance() else None, mask,
              half(draw, dtype, (batch, heads, length, total + past))
              if draw.chance(0.3) else None]
    outputs = [dtype]
    if past:
        inputs += [half(draw, dtype, (batch, heads, past, size)) for _ in range(2)]
        outputs += [dtype, dtype]
    return draw.case(inputs, {"num_heads": heads, "scale": draw.choice([None, 0.4]),
                              "unidirectional": draw.choice([None, 1])}, outputs, **LOOSE)


@generator("GroupQueryAttention", domain=MS)
def group_query_attention(draw):
    dtype, batch = draw.type(), draw.integer(1, 2)
    if draw.type(3) != dtype:
        raise Unsuitable
    kv_heads, ratio, size = draw.integer(1, 2), draw.integer(1, 2), 16
    heads = kv_heads * ratio
    past = draw.integer(1, 4) if draw.chance() else 0
    length = 1 if past else draw.integer(1, 4)
    total = past + length
    rotary = draw.integer(0, 1)
    packed = draw.chance(0.3)
    if packed:
        tensors = [half(draw, dtype, (batch, length, (heads + 2 * kv_heads) * size)), None, None]
    else:
        tensors = [half(draw, dtype, (batch, length, n * size))
                   for n in (heads, kv_heads, kv_heads)]
    # Without past every sequence is as long as the batch's.
    seen = draw.rng.integers(length if past else total, total + 1, batch)
    if not past:
        seen = np.full(batch, total)
    inputs = tensors + [
        half(draw, dtype, (batch, kv_heads, past, size)) if past else None,
        half(draw, dtype, (batch, kv_heads, past, size)) if past else None,
        (seen - 1).astype(np.int32), np.array(total, np.int32),
        half(draw, dtype, (8, size // 2)) if rotary else None,
        half(draw, dtype, (8, size // 2)) if rotary else None,
        draw.rng.integers(0, 5, (batch, length)).astype(np.int64)
        if rotary and draw.chance(0.4) else None]
    if past:
        inputs[5] = np.full(batch, total - 1, np.int32)
    return draw.case(inputs, {"num_heads": heads, "kv_num_heads": kv_heads, "do_rotary": rotary,
                              "rotary_interleaved": draw.integer(0, 1) if rotary else None,
                              "scale": draw.choice([None, 0.4]),
                              "local_window_size": draw.choice([None, None, 2]),
                              "softcap": draw.choice([None, None, 2.0])},
                     [dtype, dtype, dtype], **LOOSE)


@generator("RotaryEmbedding", domain=MS)
def rotary_embedding(draw):
    dtype, batch, length = draw.type(), draw.integer(1, 2), draw.integer(1, 4)
    heads, size = draw.integer(1, 3), 2 * draw.integer(1, 4)
    shape = (batch, length, heads * size) if draw.chance() else (batch, heads, length, size)
    if draw.chance():
        positions = draw.rng.integers(0, 6, (batch, length))
    else:
        positions = np.array([draw.integer(0, 2)])
    return draw.case([half(draw, dtype, shape), positions.astype(np.int64),
                      half(draw, dtype, (6, size // 2)), half(draw, dtype, (6, size // 2))],
                     {"interleaved": draw.integer(0, 1)}, **LOOSE)


@generator("QAttention", domain=MS)
def q_attention(draw):
    a, b, real = draw.type(0), draw.type(1), draw.type(2)
    if (a, b) == ("int8", "uint8"):
        raise Unsuitable
    batch, length, heads, size = (draw.integer(1, 3) for _ in range(4))
    width, hidden = draw.integer(1, 4), heads * size
    inputs = [draw.values(a, (batch, length, width), wide=1),
              right_factor(draw, b, (width, 3 * hidden)), half(draw, real, (3 * hidden,)),
              draw.values(real, (), 0.005, 0.01, special=0, wide=0),
              draw.values(real, (), 0.005, 0.01, special=0, wide=0),
              draw.rng.integers(1, length + 1, batch).astype(np.int32)
              if draw.chance() else None,
              draw.values(a, (), 0, 3, wide=0), draw.values(b, (), 0, 3, wide=0)]
    attributes = {"num_heads": heads, "unidirectional": draw.integer(0, 1)}
    case = draw.case(inputs, attributes, [real], **LOOSE)
    if a == "int8":
        # onnxruntime takes bytes: the same numbers 128 higher, and so the zero point.
        moved = [np.asarray(v.astype(np.int16) + 128, np.uint8) if i in (0, 6) else v
                 for i, v in enumerate(inputs)]
        case.modern = draw.case(moved, attributes, [real], **LOOSE)
    return case
