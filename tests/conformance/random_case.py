"""One random case of an operator, and what generators draw it from.

    Draw   random numbers, shapes and tensors for one definition of `onnxd list-operators --json`
    Case   inputs, attributes and outputs of a node, or of a few; made into a model by `build_model`
"""

import dataclasses

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOATS = ("float", "double", "float16", "bfloat16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOAT8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
PACKED = ("int4", "uint4", "int2", "uint2", "float4e2m1", "float6e2m3", "float6e3m2")
NUMPY = {
    "float": np.float32, "double": np.float64, "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16, "bool": np.bool_, "string": np.object_,
    "complex64": np.complex64, "complex128": np.complex128,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2, "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8e8m0": ml_dtypes.float8_e8m0fnu, "float4e2m1": ml_dtypes.float4_e2m1fn,
    "float6e2m3": ml_dtypes.float6_e2m3fn, "float6e3m2": ml_dtypes.float6_e3m2fn,
    "int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4, "int2": ml_dtypes.int2,
    "uint2": ml_dtypes.uint2, **{name: np.dtype(name).type for name in INTEGERS},
}
WORDS = ("", "a", "Zz", "onnx", "\u00e9\u4e16", "tab\t", "a longer word that is no short string")
# Bits of the element types whose numpy form has spare ones.
BITS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4e2m1": 4, "float6e2m3": 6,
        "float6e3m2": 6}


class Unsuitable(Exception):
    """The drawn types or shapes make no valid case; draw again."""


def number_of(dtype):
    return TensorProto.DataType.Value(dtype.upper())


def dtype_of(array):
    """ONNX's name of the element type of an array."""
    if array.dtype == np.object_:
        return "string"
    for name, kind in NUMPY.items():
        if array.dtype == kind:
            return name
    raise ValueError(f"no ONNX type for {array.dtype}")


@dataclasses.dataclass
class Case:
    """Inputs are arrays, None where absent, or lists of arrays (sequences)."""
    operator: str
    domain: str
    opset: int
    inputs: list
    attributes: dict
    outputs: list                   # element types; ("sequence", type); None where absent
    constants: frozenset = frozenset()  # inputs that are initializers
    rtol: float = None              # None: that of the type
    atol: float = None
    scale: bool = False             # tolerances are relative to the greatest element
    steps: int = 0                  # allowed difference of integers
    moves: tuple = ()               # data inputs of an operator that only moves elements
    nodes: list = None              # in place of the one node; see Draw.input_name
    check: object = None            # in place of a peer: check(case, outputs) -> text or None
    peers: tuple = ("ort", "widened", "reference")
    modern: object = None           # a Case of the same result that the peers know
    rows: set = dataclasses.field(default_factory=set)
    types: tuple = ()               # the drawn element types
    number: int = 0

    def __str__(self):
        shapes = ", ".join(describe(value) for value in self.inputs)
        attributes = {k: v for k, v in self.attributes.items()
                      if not isinstance(v, (onnx.GraphProto, onnx.TensorProto))}
        return f"{self.operator}-{self.opset}({shapes}) {attributes}"


def is_same(found, wanted):
    """Whether two arrays have the same shape and the same elements, bit for bit."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape:
        return False
    if wanted.dtype == np.object_:
        texts = [v.decode() if isinstance(v, bytes) else v for v in found.ravel()]
        return texts == wanted.ravel().tolist()
    return found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


def describe(value):
    if value is None:
        return "-"
    if isinstance(value, list):
        return "[" + ", ".join(describe(v) for v in value) + "]"
    text = f"{dtype_of(value)}{list(value.shape)}"
    return text if value.size > 6 else f"{text}={value.tolist()}"


def input_name(number, index):
    return f"c{number}_i{index}"


def output_name(number, index):
    return f"c{number}_o{index}"


def _value_info(name, value):
    if isinstance(value, list):
        kind = dtype_of(value[0])
        return helper.make_tensor_sequence_value_info(name, number_of(kind), None)
    return helper.make_tensor_value_info(name, number_of(dtype_of(value)), list(value.shape))


def _output_info(name, kind):
    if isinstance(kind, tuple):
        return helper.make_tensor_sequence_value_info(name, number_of(kind[1]), None)
    return helper.make_tensor_value_info(name, number_of(kind), None)


def tensor(array, name=""):
    """A TensorProto of an array of any type."""
    if array.dtype == np.object_:
        return helper.make_tensor(name, TensorProto.STRING, array.shape,
                                  [str(v).encode() for v in array.ravel()])
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def _nodes(case):
    if case.nodes is not None:
        return case.nodes
    names = [input_name(case.number, i) if value is not None else ""
             for i, value in enumerate(case.inputs)]
    outputs = [output_name(case.number, i) if kind is not None else ""
               for i, kind in enumerate(case.outputs)]
    return [make_node(case.operator, names, outputs, f"c{case.number}", case.domain,
                      case.attributes)]


def make_node(operator, inputs, outputs, name, domain, attributes):
    node = helper.make_node(operator, inputs, outputs, name=name,
                            domain="" if domain == "ai.onnx" else domain)
    for key, value in attributes.items():
        # The type of an empty list cannot be told: all that may be empty are of integers.
        kind = onnx.AttributeProto.INTS if isinstance(value, list) and not value else None
        node.attribute.append(helper.make_attribute(key, value, attr_type=kind))
    return node


# The first opset that needs an IR version; 8 carries everything before.
IR_VERSIONS = ((28, 14), (26, 13), (25, 13), (24, 12), (23, 11), (21, 10), (19, 9), (0, 8))
# The opset of ai.onnx next to an operator of another domain.
OPSET_BESIDE = 21


def imports_of(case, opset=None):
    """{domain: opset} of a model of the case."""
    opset = opset or case.opset
    if case.domain == "ai.onnx":
        return {"": opset}
    return {"": OPSET_BESIDE, case.domain: opset}


def build_model(cases, imports, ir_version=None):
    """One model of independent cases. (model, feeds, outputs): feeds are the runtime inputs in
    order, {name: value}; outputs are (case, index) in order."""
    nodes, inputs, outputs, initializers = [], [], [], []
    feeds, wanted = {}, []
    for case in cases:
        for index, value in enumerate(case.inputs):
            name = input_name(case.number, index)
            if value is None:
                continue
            if index in case.constants:
                initializers.append(tensor(value, name))
            else:
                inputs.append(_value_info(name, value))
                feeds[name] = value
        nodes += _nodes(case)
        for index, kind in enumerate(case.outputs):
            if kind is not None:
                outputs.append(_output_info(output_name(case.number, index), kind))
                wanted.append((case, index))
    opset = imports.get("", 1)
    ir_version = ir_version or next(ir for least, ir in IR_VERSIONS if opset >= least)
    graph = helper.make_graph(nodes, "cases", inputs, outputs, initializers)
    model = helper.make_model(
        graph, ir_version=ir_version,
        opset_imports=[helper.make_opsetid(d, v) for d, v in sorted(imports.items())])
    return model, feeds, wanted


class Draw:
    """Random choices for one definition; `types` maps slots ("T1", "input 2") to element types."""

    def __init__(self, rng, definition, opset, types, number):
        self.rng, self.definition, self.opset, self.types = rng, definition, opset, types
        self.number = number

    # ---- scalars ----

    def integer(self, least, most):
        return int(self.rng.integers(least, most + 1))

    def real(self, least=-2.0, most=2.0):
        return float(np.float32(self.rng.uniform(least, most)))

    def chance(self, probability=0.5):
        return bool(self.rng.random() < probability)

    def choice(self, options):
        return options[int(self.rng.integers(len(options)))]

    # ---- types ----

    def _type(self, side, index):
        formals = self.definition[side + "s"]
        return self.types[formals[min(index, len(formals) - 1)]["slot"]]

    def type(self, index=0):
        """Element type of an input."""
        return self._type("input", index)

    def out_type(self, index=0):
        return self._type("output", index)

    # ---- shapes ----

    def dim(self, least=0, most=5):
        if least == 0 and not self.chance(0.08):
            least = 1
        return self.integer(least, most)

    def shape(self, least_rank=0, most_rank=5, least=0, most=5, limit=600):
        rank = self.integer(least_rank, most_rank)
        shape = [self.dim(least, most) for _ in range(rank)]
        while np.prod(shape, dtype=np.int64) > limit:
            shape[int(np.argmax(shape))] -= 1
        return tuple(shape)

    def axis(self, rank, least_negative=True):
        if rank == 0:
            raise Unsuitable
        return self.integer(-rank if least_negative else 0, rank - 1)

    def axes(self, rank, least=1):
        """Distinct axes, some counted from the end."""
        if rank < least:
            raise Unsuitable
        count = self.integer(least, rank)
        axes = [int(a) for a in self.rng.permutation(rank)[:count]]
        return [a - rank if self.opset >= 11 and self.chance(0.3) else a for a in axes]

    def broadcastable(self, shape):
        """A shape that broadcasts with `shape`, without making it larger."""
        shape = shape[self.integer(0, len(shape)):]
        return tuple(1 if self.chance(0.25) else d for d in shape)

    # ---- tensors ----

    def values(self, dtype, shape, low=-4, high=4, special=0.25, wide=0.25):
        """Values from low to high; sometimes over the whole range, sometimes with NaN and the
        like, unless those chances are 0."""
        return np.asarray(self._values(dtype, tuple(shape), low, high, special, wide))

    def _values(self, dtype, shape, low, high, special, wide):
        if dtype == "string":
            flat = [WORDS[i] for i in self.rng.integers(0, len(WORDS), int(np.prod(shape)))]
            return np.array(flat, np.object_).reshape(shape)
        kind = NUMPY[dtype]
        if dtype == "bool":
            return self.rng.integers(0, 2, shape).astype(np.bool_)
        if dtype.startswith("complex"):
            parts = [self.rng.uniform(low, high, shape) for _ in range(2)]
            return np.asarray(parts[0] + 1j * parts[1], kind)
        if dtype in INTEGERS:
            return self._integers(kind, shape, low, high, wide)
        if dtype in BITS or dtype.startswith("float8"):
            return self._small(dtype, shape, special)
        return self._floats(kind, shape, low, high, special, wide)

    def _integers(self, kind, shape, low, high, wide):
        info = np.iinfo(kind)
        if self.chance(wide):
            values = self.rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
            edges = np.array([info.min, info.max, 0, 1], kind)
            return np.where(self.rng.random(shape) < 0.2, self.rng.choice(edges, shape), values)
        low, high = int(max(low, info.min)), int(min(high, info.max))
        return np.asarray(self.rng.integers(low, high, shape, dtype=kind, endpoint=True))

    def _small(self, dtype, shape, special):
        bits = BITS.get(dtype, 8)
        raw = self.rng.integers(0, 1 << bits, shape, dtype=np.uint8)
        if dtype in ("int4", "int2"):
            raw = raw.astype(np.int8)
            raw = np.where(raw >= 1 << (bits - 1), raw - (1 << bits), raw)
            return raw.astype(NUMPY[dtype])
        if dtype in ("uint4", "uint2"):
            return raw.astype(NUMPY[dtype])
        values = np.asarray(raw).view(NUMPY[dtype])
        if special == 0:
            finite = np.isfinite(values.astype(np.float32))
            values = np.where(finite, values, np.array(1, NUMPY[dtype]))
        return values

    def _floats(self, kind, shape, low, high, special, wide):
        values = self.rng.uniform(low, high, shape)
        if self.chance(wide):
            values = np.sign(values) * 10.0 ** self.rng.uniform(-6, 4, shape)
        values = np.asarray(values, np.float64)
        if self.chance(special):
            info = ml_dtypes.finfo(kind)
            edges = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, float(info.max),
                              float(info.tiny), float(info.smallest_subnormal), -1.0, 1.0])
            values = np.where(self.rng.random(shape) < 0.3, self.rng.choice(edges, shape), values)
        with np.errstate(over="ignore"):
            return np.asarray(values).astype(kind)

    def ints(self, *values, dtype="int64"):
        return np.array(values, NUMPY[dtype])

    # ---- cases ----

    def input_name(self, index):
        return input_name(self.number, index)

    def output_name(self, index):
        return output_name(self.number, index)

    def local_name(self, text):
        return f"c{self.number}_{text}"

    def case(self, inputs, attributes=None, outputs=None, opset=None, **more):
        """`outputs` defaults to the first output's type. With `opset`, one to stand for another
        (Case.modern)."""
        attributes = {k: v for k, v in (attributes or {}).items() if v is not None}
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        return Case(self.definition["operator"], self.definition["domain"], opset or self.opset,
                    inputs, attributes, [self.out_type(0)] if outputs is None else outputs,
                    number=self.number, **more)
