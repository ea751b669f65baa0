"""Where a peer's result is not the standard's, so that the next peer is asked.

Each entry: (peer, operator, condition on the case, why).
"""

import numpy as np


def _has_nan(case):
    return any(isinstance(v, np.ndarray) and v.dtype != np.object_ and v.dtype.kind not in "iubU"
               and np.isnan(v.astype(np.complex128)).any() for v in case.inputs)


def _multiplies_u8_by_s8(case):
    return {"uint8", "int8"} <= {getattr(v, "dtype", np.dtype(bool)).name for v in case.inputs}


def _is_border_cubic(case):
    return case.domain == "ai.onnx" and \
        case.attributes.get("mode") in ("cubic", "bicubic") and \
        case.attributes.get("padding_mode") == "border"


ENTRIES = (
    ("ort", "Sign", _has_nan, "the sign of NaN is NaN for float, 0 for float16"),
    *((peer, "GridSample", _is_border_cubic, "the point is not brought inside first, as the "
                                             "standard's code does")
      for peer in ("ort", "modern ort", "narrowed", "modern narrowed", "widened",
                   "modern widened")),
    *(("ort", operator, _multiplies_u8_by_s8,
       "uint8 by int8 is added in 16 bits where the CPU has no VNNI")
      for operator in ("QLinearMatMul", "QLinearConv", "MatMulInteger", "ConvInteger")),
    *((peer, "Attention", lambda case: case.domain == "ai.onnx" and case.attributes.get("is_causal")
       and len(case.inputs) > 4, "counts the past otherwise than the standard's code")
      for peer in ("ort", "widened", "narrowed")),
    *((peer, "Col2Im", lambda case: any(d != 1 for d in case.attributes.get("dilations", ())),
       "puts dilated blocks elsewhere than the standard's code") for peer in ("ort", "widened")),
    ("reference", "StringNormalizer", lambda case: not case.attributes.get("is_case_sensitive")
     and case.attributes.get("case_change_action", "NONE") == "NONE",
     "compares with case where the attribute says without"),
    ("reference", "CenterCropPad", lambda case: "string" in case.types,
     "pads strings with '0'"),
    ("reference", "Trilu", lambda case: "string" in case.types, "clears strings to '0'"),
    ("reference", "MelWeightMatrix", lambda case: "bfloat16" in case.types
     or case.attributes.get("output_datatype") == 16, "computes frequencies in bfloat16"),
    ("widened", "QuantizeLinear", lambda case: case.opset >= 23
     and len({t for t in case.types if "float" in t and "8" not in t}) > 1,
     "divides in another type than the scale's"),
)


def distrusted(peer, case):
    """Why this peer is not asked about the case, or None."""
    for name, operator, condition, why in ENTRIES:
        if name == peer and operator == case.operator and condition(case):
            return why
    return None
