"""Comparing two outputs with the tolerance of their type."""

import numpy as np

from random_case import INTEGERS, PACKED, describe

# relative, absolute
TOLERANCES = {
    "double": (1e-6, 1e-9), "float": (2e-5, 2e-6), "float16": (2e-3, 1e-3),
    "bfloat16": (1.6e-2, 1e-2), "complex64": (1e-4, 1e-5), "complex128": (1e-6, 1e-9),
    "float8e4m3fn": (0.13, 2e-3), "float8e4m3fnuz": (0.13, 2e-3), "float8e5m2": (0.26, 1e-4),
    "float8e5m2fnuz": (0.26, 1e-4), "float8e8m0": (0, 0),
}


def _as_text(array):
    return np.array([v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v)
                     for v in array.ravel()], np.object_).reshape(array.shape)


def _difference(actual, expected, is_close):
    index = int(np.argmin(is_close.ravel()))
    count = int((~is_close).sum())
    return (f"{count} of {is_close.size} elements differ, the first at {index}: "
            f"found {actual.ravel()[index]!r}, expected {expected.ravel()[index]!r}")


def _close(actual, expected, rtol, atol, scale):
    with np.errstate(all="ignore"):
        if scale:
            finite = np.abs(expected[np.isfinite(expected)])
            atol = max(atol, atol * float(finite.max())) if finite.size else atol
        near = np.abs(actual - expected) <= atol + rtol * np.abs(expected)
        return near | (actual == expected) | (np.isnan(actual) & np.isnan(expected))


def difference(case, dtype, actual, expected):
    """Why the two are not equal, or None."""
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"found {describe(actual)}, expected {describe(expected)}"
        texts = [difference(case, dtype[1], a, e) for a, e in zip(actual, expected)]
        return next((text for text in texts if text), None)
    if isinstance(actual, list):
        return "found a sequence, expected a tensor"
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        return f"found shape {actual.shape}, expected {expected.shape}"
    if actual.size == 0:
        return None
    if dtype == "string":
        actual, expected = _as_text(actual), _as_text(expected)
        same = actual == expected
        return None if same.all() else _difference(actual, expected, same)
    if dtype in INTEGERS + PACKED + ("bool",) and not dtype.startswith("float"):
        wide = [a.astype(np.int64 if dtype in PACKED else a.dtype) for a in (actual, expected)]
        near = wide[0] == wide[1]
        if case.steps:
            with np.errstate(all="ignore"):
                near = np.abs(wide[0].astype(np.float64) - wide[1].astype(np.float64)) <= case.steps
        return None if near.all() else _difference(actual, expected, near)
    rtol, atol = TOLERANCES.get(dtype, (0, 0))
    rtol, atol = max(rtol, case.rtol or 0), max(atol, case.atol or 0)
    if case.moves:
        rtol = atol = 0
    kind = np.complex128 if dtype.startswith("complex") else np.float64
    near = _close(actual.astype(kind), expected.astype(kind), rtol, atol, case.scale)
    return None if near.all() else _difference(actual, expected, near)
