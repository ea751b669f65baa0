"""One-operator models over HTTP: every data type that ONNX lists and the protocol can carry.

The types come from the operator's own schema in the onnx package, so a type that the operator gains
is tested because it exists. Expected values are computed with numpy.
"""

import ml_dtypes
import numpy as np
import onnx
import pytest
import tritonclient.http as triton
from onnx import TensorProto

import models

OPSET = 24

# ONNX element type -> (protocol name, numpy type)
TYPES = {
    TensorProto.BOOL: ("BOOL", np.bool_),
    TensorProto.UINT8: ("UINT8", np.uint8),
    TensorProto.UINT16: ("UINT16", np.uint16),
    TensorProto.UINT32: ("UINT32", np.uint32),
    TensorProto.UINT64: ("UINT64", np.uint64),
    TensorProto.INT8: ("INT8", np.int8),
    TensorProto.INT16: ("INT16", np.int16),
    TensorProto.INT32: ("INT32", np.int32),
    TensorProto.INT64: ("INT64", np.int64),
    TensorProto.FLOAT16: ("FP16", np.float16),
    TensorProto.FLOAT: ("FP32", np.float32),
    TensorProto.DOUBLE: ("FP64", np.float64),
    TensorProto.BFLOAT16: ("BF16", ml_dtypes.bfloat16),
    TensorProto.STRING: ("BYTES", np.object_),
}
ONNX_NAMES = {
    "tensor(bool)": TensorProto.BOOL, "tensor(string)": TensorProto.STRING,
    "tensor(uint8)": TensorProto.UINT8, "tensor(uint16)": TensorProto.UINT16,
    "tensor(uint32)": TensorProto.UINT32, "tensor(uint64)": TensorProto.UINT64,
    "tensor(int8)": TensorProto.INT8, "tensor(int16)": TensorProto.INT16,
    "tensor(int32)": TensorProto.INT32, "tensor(int64)": TensorProto.INT64,
    "tensor(float16)": TensorProto.FLOAT16, "tensor(float)": TensorProto.FLOAT,
    "tensor(double)": TensorProto.DOUBLE, "tensor(bfloat16)": TensorProto.BFLOAT16,
}


def listed_types(op_type, formal=0, of="inputs"):
    """The types of one formal that the protocol can carry, from the schema."""
    schema = onnx.defs.get_schema(op_type, OPSET, "")
    return sorted(ONNX_NAMES[t] for t in getattr(schema, of)[formal].types if t in ONNX_NAMES)


def sample(elem_type, shape, seed=0, low=-9, high=9):
    """Values that every type can hold exactly and that are never zero."""
    rng = np.random.default_rng(seed)
    if elem_type == TensorProto.STRING:
        words = np.array([b"", b"a", "\u00e9\u4e16".encode(), b"long " * 40, b"7"], np.object_)
        return words[rng.integers(0, len(words), shape)]
    if elem_type == TensorProto.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    kind = TYPES[elem_type][1]
    if np.issubdtype(kind, np.unsignedinteger):
        low = 1
    values = rng.integers(low, high + 1, shape)
    return np.where(values == 0, 3, values).astype(kind)


def case(op_type, elem_type, inputs, outputs, **attributes):
    """inputs: {name: (elem_type, array)}; outputs: [(name, elem_type, shape)]."""
    model = models.one_node(op_type, [(n, t, a.shape) for n, (t, a) in inputs.items()], outputs,
                            opset=OPSET, **attributes)
    return f"{op_type.lower()}_{TYPES[elem_type][0].lower()}", model, inputs


def ints(*values):
    return TensorProto.INT64, np.array(values, np.int64)


def unary_move(op_type, shape, result, extra=None, **attributes):
    for t in listed_types(op_type):
        yield case(op_type, t, {"x": (t, sample(t, shape)), **(extra or {})}, [("y", t, result)],
                   **attributes)


def movement_cases():
    yield from unary_move("Identity", (2, 3), (2, 3))
    yield from unary_move("Transpose", (2, 3, 4), (4, 2, 3), perm=[2, 0, 1])
    yield from unary_move("Squeeze", (1, 3, 1, 2), (3, 2), {"axes": ints(0, -2)})
    yield from unary_move("Slice", (5, 4), (2, 4), {
        "starts": ints(-1, 3), "ends": ints(0, -9), "axes": ints(0, 1), "steps": ints(-2, -1)})
    yield from unary_move("Expand", (3, 1), (2, 3, 4), {"shape": ints(2, 1, 4)})
    for t in listed_types("Gather"):
        yield case("Gather", t, {"x": (t, sample(t, (4, 3))),
                                 "indices": ints(-1, 0, 2)}, [("y", t, (3, 3))], axis=0)
    for t in listed_types("Shape"):
        yield case("Shape", t, {"x": (t, sample(t, (2, 3, 4)))},
                   [("y", TensorProto.INT64, (2,))], start=1)
    for t in listed_types("Where", 1):
        yield case("Where", t, {"condition": (TensorProto.BOOL, sample(TensorProto.BOOL, (2, 3))),
                                "x": (t, sample(t, (2, 1), 1)), "y": (t, sample(t, (3,), 2))},
                   [("z", t, (2, 3))])


def arithmetic_cases():
    for op_type in ("Add", "Sub", "Mul", "Div"):
        for t in listed_types(op_type):
            yield case(op_type, t, {"a": (t, sample(t, (2, 3, 4), 1)), "b": (t, sample(t, (3, 1), 2))},
                       [("c", t, (2, 3, 4))])
    for t in listed_types("MatMul"):
        yield case("MatMul", t, {"a": (t, sample(t, (2, 3, 4), 1, -3, 3)),
                                 "b": (t, sample(t, (4, 5), 2, -3, 3))}, [("c", t, (2, 3, 5))])


def cast_cases():
    for source in listed_types("Cast"):
        for target in listed_types("Cast", 0, "outputs"):
            array = (np.array([b"7", b"-3", b"0"], np.object_) if source == TensorProto.STRING
                     else sample(source, (3,)))
            if target not in (TensorProto.STRING, TensorProto.BOOL) and \
                    np.issubdtype(TYPES[target][1], np.unsignedinteger):
                array = (np.array([b"7", b"3", b"0"], np.object_) if source == TensorProto.STRING
                         else sample(source, (3,), low=1))
            name, model, inputs = case("Cast", source, {"x": (source, array)},
                                       [("y", target, (3,))], to=target)
            yield f"{name}_to_{TYPES[target][0].lower()}", model, inputs


CASES = {name: (model, inputs) for cases in (movement_cases(), arithmetic_cases(), cast_cases())
         for name, model, inputs in cases}


def expected_of(model, inputs):
    node = model.graph.node[0]
    arrays = [array for _, array in inputs.values()]
    if node.op_type == "Cast":
        return expected_cast(arrays[0], node.attribute[0].i)
    if node.op_type in ("Add", "Sub", "Mul", "Div", "MatMul"):
        return expected_arithmetic(node.op_type, *arrays)
    if node.op_type == "Squeeze":
        return arrays[0].squeeze((0, 2))
    if node.op_type == "Slice":
        return arrays[0][-1:0:-2, 3::-1]
    if node.op_type == "Expand":
        return np.broadcast_to(arrays[0], (2, 3, 4))
    if node.op_type == "Where":
        return np.where(*arrays)
    if node.op_type == "Gather":
        return arrays[0][arrays[1]]
    if node.op_type == "Transpose":
        return arrays[0].transpose(2, 0, 1)
    return {"Identity": lambda x: x, "Shape": lambda x: np.array(x.shape[1:])}[node.op_type](*arrays)


def expected_arithmetic(op_type, a, b):
    kind = a.dtype
    if kind in (np.float16, ml_dtypes.bfloat16):
        a, b = a.astype(np.float32), b.astype(np.float32)
    if op_type == "Div" and np.issubdtype(kind, np.integer):
        return np.trunc(a.astype(np.float64) / b.astype(np.float64)).astype(kind)
    function = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
                "MatMul": np.matmul}[op_type]
    return function(a, b).astype(kind)


def expected_cast(array, target):
    kind = TYPES[target][1]
    if array.dtype == np.object_:
        if target == TensorProto.STRING:
            return array
        numbers = np.array([float(v) for v in array])
        return numbers != 0 if target == TensorProto.BOOL else numbers.astype(kind)
    if target == TensorProto.STRING:
        if array.dtype == np.bool_ or np.issubdtype(array.dtype, np.integer):
            return np.array([str(int(v)).encode() for v in array], np.object_)
        return np.array([str(int(v)).encode() for v in array.astype(np.float64)], np.object_)
    if target == TensorProto.BOOL:
        return array != 0
    return array.astype(np.float64).astype(kind)



def to_input(name, elem_type, array, binary):
    tensor = triton.InferInput(name, list(array.shape), TYPES[elem_type][0])
    tensor.set_data_from_numpy(array, binary_data=binary)
    return tensor


@pytest.fixture(scope="module")
def server(start_server, tmp_path_factory):
    repository = tmp_path_factory.mktemp("operators")
    for name, (model, _) in CASES.items():
        onnx.save(model, repository / f"{name}.onnx")
    return start_server(repository=repository, config={"models": {"max_models": 1000}})


@pytest.fixture(scope="module")
def client(server):
    with triton.InferenceServerClient(server.address) as client:
        yield client


def carried_as_json(inputs, output_type):
    """FP16 and BF16 leave tritonclient in binary form only."""
    halves = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
    return output_type not in halves and all(t not in halves for t, _ in inputs.values())


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "json"])
@pytest.mark.parametrize("name", CASES)
def test_operator(client, name, binary):
    model, inputs = CASES[name]
    output = model.graph.output[0]
    output_type = output.type.tensor_type.elem_type
    binary = binary or not carried_as_json(inputs, output_type)
    result = client.infer(name, [to_input(n, t, a, binary) for n, (t, a) in inputs.items()],
                          outputs=[triton.InferRequestedOutput(output.name, binary_data=binary)])
    actual = result.as_numpy(output.name)
    expected = expected_of(model, inputs)
    (meta,) = result.get_response()["outputs"]
    assert meta["datatype"] == TYPES[output_type][0]
    assert list(actual.shape) == list(expected.shape)
    if output_type == TensorProto.STRING:
        as_bytes = [v if isinstance(v, bytes) else v.encode() for v in actual.ravel()]
        assert as_bytes == list(expected.ravel())
    elif output_type in (TensorProto.FLOAT16, TensorProto.BFLOAT16):
        np.testing.assert_allclose(actual.astype(np.float32), expected.astype(np.float32),
                                   rtol=1e-2)
    elif output_type in (TensorProto.FLOAT, TensorProto.DOUBLE):
        np.testing.assert_allclose(actual, expected, rtol=1e-6)
    else:
        np.testing.assert_array_equal(actual, expected)


def test_every_listed_operator_is_here():
    covered = {model.graph.node[0].op_type for model, _ in CASES.values()}
    assert covered == {"Identity", "Cast", "Add", "Sub", "Mul", "Div", "MatMul", "Transpose",
                       "Squeeze", "Slice", "Gather", "Shape", "Expand", "Where"}
