"""What compare_ort.py may leave without a verdict, and why.

NO_PEER  (operator, condition on the case, why): neither onnxruntime nor onnx.reference can run it
UNHIT    (operator, condition on the row, why): no case that anyone can judge has that type there
"""

from random_case import FLOAT8


def _types(case):
    return set(case.types)


MAPS = "maps enter and leave a model only as inputs and outputs of their own kind; ONNX's and the " \
       "scikit-learn models' tests run them"
RARE = {"float6e2m3", "float6e3m2", "float8e8m0"}
FEW = "no peer converts every pair with float6 and float8e8m0; the package's cases have the others"
EMPTY = "onnxruntime has no kernel for strings, and the reference writes '0' for nothing"
FLOAT_PAD = "onnxruntime pads float alone at opset 1, which the reference does not know"
LOCALE = "onnxruntime wants the node's locale installed, and the reference compares with case"
MEL = "onnxruntime has no kernel for bfloat16, and the reference rounds frequencies to it"
WHOLE = "onnxruntime has no kernel for it on the CPU; its activations are for floats"
NO_PEER = (
    ("CenterCropPad", lambda case: "string" in _types(case), EMPTY),
    ("Trilu", lambda case: "string" in _types(case), EMPTY),
    ("Pad", lambda case: case.opset == 1, FLOAT_PAD),
    ("StringNormalizer", lambda case: True, LOCALE),
    ("MelWeightMatrix", lambda case: True, MEL),
    ("CastLike", lambda case: bool(RARE & _types(case)), FEW),
    ("Cast", lambda case: bool(RARE & _types(case)), FEW),
    ("Col2Im", lambda case: "string" in _types(case), "no peer adds strings"),
    ("QLinearMatMul", lambda case: bool(set(FLOAT8) & _types(case)),
     "no peer multiplies quantised float8"),
)
UNHIT = (
    ("CenterCropPad", lambda row: row.dtype == "string", EMPTY),
    ("Trilu", lambda row: row.dtype == "string", EMPTY),
    ("Pad", lambda row: row.until == 1, FLOAT_PAD),
    ("StringNormalizer", lambda row: True, LOCALE),
    ("MelWeightMatrix", lambda row: row.dtype in ("bfloat16", "float16"), MEL),
    ("FusedGemm", lambda row: "int" in row.dtype, WHOLE),
    ("CastLike", lambda row: row.dtype in RARE, FEW),
    ("Cast", lambda row: row.dtype in RARE, FEW),
    ("Col2Im", lambda row: row.dtype == "string", "no peer adds strings"),
    ("QLinearMatMul", lambda row: row.dtype in FLOAT8, "no peer multiplies quantised float8"),
    ("CastMap", lambda row: True, MAPS),
    ("DictVectorizer", lambda row: True, MAPS),
    ("ZipMap", lambda row: True, MAPS),
)
# Operators that are not drawn: their values are no tensors or sequences.
NOT_DRAWN = ("CastMap", "DictVectorizer", "ZipMap")


def without_peer(case):
    return next((why for operator, condition, why in NO_PEER
                 if operator == case.operator and condition(case)), None)


def unhit(row):
    return next((why for operator, condition, why in UNHIT
                 if operator == row.operator and condition(row)), None)
