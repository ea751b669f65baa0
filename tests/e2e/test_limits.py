"""Requests that ask for too much, or for what cannot be: each is refused, and the server goes on."""

import numpy as np
import onnx
import pytest
import tritonclient.http as triton
from onnx import TensorProto
from tritonclient.utils import InferenceServerException

import models

INT64, FLOAT, STRING = TensorProto.INT64, TensorProto.FLOAT, TensorProto.STRING


def build_models():
    shape = ("shape", INT64, ["rank"])
    for name, elem_type in (("expand_float", FLOAT), ("expand_string", STRING)):
        yield name, models.one_node("Expand", [("x", elem_type, [1]), shape],
                                    [("y", elem_type, None)])
    yield "gather", models.one_node("Gather", [("x", FLOAT, ["n"]), ("i", INT64, ["m"])],
                                    [("y", FLOAT, ["m"])])
    yield "divide", models.one_node("Div", [("a", INT64, ["n"]), ("b", INT64, ["n"])],
                                    [("y", INT64, ["n"])])
    for name, op_type, attributes in (("softmax", "Softmax", {"axis": 1}),
                                      ("lrn", "LRN", {"size": 3}),
                                      ("max_pool", "MaxPool", {"kernel_shape": [1, 1]})):
        yield name, models.one_node(op_type, [("x", FLOAT, ["a", "b", "c", "d"])],
                                    [("y", FLOAT, ["a", "b", "c", "d"])], **attributes)


@pytest.fixture(scope="module")
def server(start_server, tmp_path_factory):
    repository = tmp_path_factory.mktemp("limits")
    for name, model in build_models():
        onnx.save(model, repository / f"{name}.onnx")
    return start_server(repository=repository)


@pytest.fixture(scope="module")
def client(server):
    with triton.InferenceServerClient(server.address) as client:
        yield client


def tensor(name, array):
    kinds = {"O": "BYTES", "i": "INT64", "f": "FP32"}
    result = triton.InferInput(name, list(array.shape), kinds[array.dtype.kind])
    result.set_data_from_numpy(array)
    return result


def refusal(client, model, *inputs):
    with pytest.raises(InferenceServerException) as raised:
        client.infer(model, [tensor(name, array) for name, array in inputs])
    return raised.value.status(), raised.value.message()


def peak_memory_mib(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        (line,) = [line for line in status if line.startswith("VmHWM")]
    return int(line.split()[1]) // 1024


def test_a_response_of_strings_is_bounded(server, client):
    """Sixteen bytes an element until it is written: the written form is what must not explode."""
    before = peak_memory_mib(server)
    status, message = refusal(client, "expand_string",
                              ("x", np.array([b"s" * 1000], np.object_)),
                              ("shape", np.array([400_000])))
    assert status == "413"
    assert "max_output_bytes" in message and "'y'" in message
    assert peak_memory_mib(server) - before < 100


def test_a_response_of_strings_within_the_limit(client):
    result = client.infer("expand_string", [tensor("x", np.array([b"s" * 1000], np.object_)),
                                            tensor("shape", np.array([1000]))])
    assert list(result.as_numpy("y")) == [b"s" * 1000] * 1000


@pytest.mark.parametrize("dims", [[2**40], [2**31, 2**31], [2**62, 4], [1000, 1000, 1000]])
def test_an_output_beyond_the_limit_is_not_made(server, client, dims):
    before = peak_memory_mib(server)
    status, message = refusal(client, "expand_float", ("x", np.ones(1, np.float32)),
                              ("shape", np.array(dims)))
    assert status in ("400", "413"), message
    assert "y" in message or "Expand" in message
    assert peak_memory_mib(server) - before < 100


@pytest.mark.parametrize("model, inputs, word", [
    ("gather", [("x", np.ones(3, np.float32)), ("i", np.array([7]))], "7"),
    ("gather", [("x", np.ones(3, np.float32)), ("i", np.array([-(2**63)]))], "9223372036854775808"),
    ("divide", [("a", np.array([1, 2])), ("b", np.array([1, 0]))], "division by 0"),
])
def test_a_wrong_value_is_the_clients_error(client, model, inputs, word):
    status, message = refusal(client, model, *inputs)
    assert status == "400"
    assert word in message


@pytest.mark.parametrize("model", ["softmax", "lrn", "max_pool"])
@pytest.mark.parametrize("dims", [[2**31, 2**31, 0, 1], [2**62, 1, 0, 4], [1, 2**40, 0, 2**20]])
def test_an_empty_tensor_of_huge_extents_costs_nothing(server, model, dims):
    """An answer or a refusal at once: a loop over extents of nothing would hold the device."""
    status, _ = server.infer_json(model, {"inputs": [
        {"name": "x", "datatype": "FP32", "shape": dims, "data": []}]})
    assert status in (200, 400), status


def test_the_server_still_answers(client):
    result = client.infer("gather", [tensor("x", np.arange(3, dtype=np.float32)),
                                     tensor("i", np.array([2, 0]))])
    assert list(result.as_numpy("y")) == [2, 0]
