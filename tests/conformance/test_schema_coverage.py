"""Every operator, opset and type that the onnx package's schemas list is there, and no other."""

import onnxd_binary
import schema_gaps
import support


def test_no_gaps():
    found = schema_gaps.gaps(onnxd_binary.definitions(support.BINARY))
    assert not found, "\n".join(" ".join(map(str, gap)) for gap in found)


def test_exceptions_are_needed():
    known = {(row["domain"], row["operator"])
             for row in onnxd_binary.definitions(support.BINARY)}
    assert not known & set(schema_gaps.EXPECTED_ABSENT)
    assert set(schema_gaps.EXPECTED_ABSENT) <= set(schema_gaps.histories())
