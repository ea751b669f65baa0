"""What compare_ort.py may leave without a verdict, and why.

NO_PEER  (operator, condition on the case, why): neither onnxruntime nor onnx.reference can run it
UNHIT    (operator, condition on the row, why): no valid case has that type there
"""

NO_PEER = (
)
UNHIT = (
)


def without_peer(case):
    return next((why for operator, condition, why in NO_PEER
                 if operator == case.operator and condition(case)), None)


def unhit(row):
    return next((why for operator, condition, why in UNHIT
                 if operator == row.operator and condition(row)), None)
