"""Attention and what stands around it in ai.onnx."""

import numpy as np

from generators import generator
from generators.linear import plain
from random_case import Unsuitable

FALLBACK = ("ort", "widened", "narrowed", "reference")


@generator("Attention")
def attention(draw):
    dtype, other = draw.type(0), draw.type(2)
    if dtype != draw.type(1) or dtype != other:
        raise Unsuitable
    batch, kv_heads, ratio = draw.integer(1, 2), draw.integer(1, 2), draw.integer(1, 2)
    heads, size, value_size = kv_heads * ratio, draw.integer(1, 4), draw.integer(1, 4)
    length, total = draw.integer(1, 4), draw.integer(1, 5)
    flat = draw.chance(0.4)
    past = draw.integer(1, 3) if draw.chance(0.4) else 0

    def tensor_of(count, steps, width):
        if flat:
            return plain(draw, dtype, (batch, steps, count * width), -1, 1)
        return plain(draw, dtype, (batch, count, steps, width), -1, 1)

    inputs = [tensor_of(heads, length, size), tensor_of(kv_heads, total, size),
              tensor_of(kv_heads, total, value_size)]
    attributes = {"is_causal": draw.choice([None, None, 1]), "scale": draw.choice([None, 0.5]),
                  "softcap": draw.choice([None, None, 2.0])}
    if flat:
        attributes |= {"q_num_heads": heads, "kv_num_heads": kv_heads}
    mask = None
    if draw.chance():
        shape = draw.choice([(length, past + total), (batch, 1, length, past + total)])
        kind = draw.type(3)
        mask = draw.values(kind, shape, -1, 1, special=0, wide=0)
        if kind == "bool":
            mask[..., 0] = True
        elif kind not in (dtype, "bool"):
            raise Unsuitable
    inputs.append(mask)
    outputs = [dtype]
    if past:
        inputs += [plain(draw, dtype, (batch, kv_heads, past, size), -1, 1),
                   plain(draw, dtype, (batch, kv_heads, past, value_size), -1, 1)]
        outputs += [dtype, dtype]
    return draw.case(inputs, attributes, outputs, scale=True, atol=1e-4, rtol=1e-4, peers=FALLBACK)


@generator("RotaryEmbedding")
def rotary_embedding(draw):
    batch, heads, length = draw.integer(1, 2), draw.integer(1, 3), draw.integer(1, 4)
    size, dtype = 2 * draw.integer(1, 4), draw.type(0)
    rotary = 2 * draw.integer(1, size // 2) if draw.chance(0.4) else 0
    half = (rotary or size) // 2
    flat = draw.chance()
    shape = (batch, length, heads * size) if flat else (batch, heads, length, size)
    attributes = {"interleaved": draw.choice([None, 0, 1]),
                  "rotary_embedding_dim": rotary or None,
                  "num_heads": heads if flat or rotary else None}
    if draw.chance():
        return draw.case([plain(draw, dtype, shape), plain(draw, dtype, (6, half), -1, 1),
                          plain(draw, dtype, (6, half), -1, 1),
                          draw.rng.integers(0, 6, (batch, length)).astype(np.int64)], attributes,
                         scale=True, peers=FALLBACK)
    return draw.case([plain(draw, dtype, shape), plain(draw, dtype, (batch, length, half), -1, 1),
                      plain(draw, dtype, (batch, length, half), -1, 1)], attributes, scale=True,
                     peers=FALLBACK)


@generator("LinearAttention")
def linear_attention(draw):
    dtype, heads, ratio = draw.type(0), draw.integer(1, 2), draw.integer(1, 2)
    batch, length, size, width = (draw.integer(1, 3) for _ in range(4))
    rule = draw.choice(["linear", "gated", "delta", "gated_delta"])
    kinds = draw.type
    has_past = kinds(3) != dtype or draw.chance()

    def flat(index, count, each):
        return plain(draw, kinds(index), (batch, length, count * each), -1, 1)

    inputs = [flat(0, heads * ratio, size), flat(1, heads, size), flat(2, heads, width),
              plain(draw, kinds(3), (batch, heads, size, width), -1, 1) if has_past else None,
              plain(draw, kinds(4), (batch, length, heads), -1, 0) if "gated" in rule else None,
              plain(draw, kinds(5), (batch, length, heads), 0, 1) if "delta" in rule else None]
    return draw.case(inputs, {"update_rule": rule, "q_num_heads": heads * ratio,
                              "kv_num_heads": heads}, [dtype, kinds(3)], scale=True, atol=1e-4,
                     rtol=1e-4, peers=("reference",))


@generator("FlexAttention", domain="ai.onnx.preview")
def flex_attention(draw):
    dtype = draw.type(0)
    batch, kv_heads, ratio = draw.integer(1, 2), draw.integer(1, 2), draw.integer(1, 2)
    length, total, size, width = (draw.integer(1, 4) for _ in range(4))
    return draw.case([plain(draw, dtype, (batch, kv_heads * ratio, length, size), -1, 1),
                      plain(draw, dtype, (batch, kv_heads, total, size), -1, 1),
                      plain(draw, dtype, (batch, kv_heads, total, width), -1, 1)],
                     {"scale": draw.choice([None, 0.5])}, scale=True, atol=1e-4, rtol=1e-4,
                     peers=("reference",))


