"""Every case of the onnx package passes; a few are skipped by name, with a reason."""

import collections
import os

import pytest

import onnx_cases
import run_onnx_cases
import support

# How many there are in the pinned package: one that is not found would go unnoticed otherwise.
COUNTS = {"node": 1884, "simple": 23, "pytorch-converted": 82, "pytorch-operator": 35}


@pytest.mark.parametrize("kind", onnx_cases.KINDS)
def test_cases(kind, tmp_path):
    counts = collections.Counter()
    failures = []
    cases = onnx_cases.cases(tmp_path, [kind])
    for case, outcome, message in run_onnx_cases.run_all(support.BINARY, cases, os.cpu_count()):
        counts[outcome] += 1
        if outcome == "failed":
            failures.append(f"{case.name}: {message}")
    print(f"{kind}: {counts['passed']} passed, {counts['failed']} failed, "
          f"{counts['skipped']} skipped")
    assert not failures
    skipped = sum(name.startswith(f"{kind}/") for name in run_onnx_cases.SKIPPED)
    assert counts == collections.Counter(passed=COUNTS[kind] - skipped, skipped=skipped)
