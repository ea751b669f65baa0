"""Every case of the onnx package: it passes, or onnxd refuses an operator or type by name."""

import collections

import pytest

import onnx_cases
import run_onnx_cases
import support

# At least this many pass; a refusal that creeps in would go unnoticed otherwise.
PASSING = {"node": 880, "simple": 5, "pytorch-converted": 74, "pytorch-operator": 33}


@pytest.mark.parametrize("kind", onnx_cases.KINDS)
def test_cases(kind, tmp_path):
    counts = collections.Counter()
    failures = []
    for case in onnx_cases.cases(tmp_path, [kind]):
        outcome, message = run_onnx_cases.run_case(support.BINARY, case)
        counts[outcome] += 1
        if outcome == "failed":
            failures.append(f"{case.name}: {message}")
    print(f"{kind}: {dict(counts)}")
    assert not failures
    assert counts["passed"] >= PASSING[kind]
