"""Models whose shapes follow from data, with subgraphs and other values than tensors, over HTTP."""

import json
import threading

import numpy as np
import onnx
import pytest
import tritonclient.http as triton
from onnx import TensorProto, helper, numpy_helper

import models
import support


def save(repository, name, graph, **imports):
    opsets = {"": 21, **imports}
    model = helper.make_model(
        graph, ir_version=10,
        opset_imports=[helper.make_opsetid(d, v) for d, v in opsets.items()])
    onnx.checker.check_model(model)
    onnx.save(model, repository / f"{name}.onnx")


def constant(name, values, dtype):
    return numpy_helper.from_array(np.array(values, dtype), name)


def detector():
    """Scores over boxes, of which non-maximum suppression keeps some: [M,3]."""
    return helper.make_graph(
        [helper.make_node("Sigmoid", ["logits"], ["scores"]),
         helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"],
                          ["kept"]),
         helper.make_node("Cast", ["kept"], ["y"], to=TensorProto.INT32)],
        "detector",
        [models.value_info("boxes", TensorProto.FLOAT, [1, "N", 4]),
         models.value_info("logits", TensorProto.FLOAT, [1, 1, "N"])],
        [models.value_info("y", TensorProto.INT32, ["M", 3])],
        [constant("most", [10], np.int64), constant("overlap", [0.5], np.float32),
         constant("least", [0.5], np.float32)])


def doubler(ends):
    """x doubled until it is not below 100; with `ends` false for ever."""
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "v"], ["next"]),
         helper.make_node("ReduceMax", ["next"], ["greatest"], keepdims=0),
         helper.make_node("Less", ["greatest", "limit" if ends else "never"], ["again"])],
        "body",
        [models.value_info("i", TensorProto.INT64, []),
         models.value_info("c", TensorProto.BOOL, []),
         models.value_info("v", TensorProto.FLOAT, ["N"])],
        [models.value_info("again", TensorProto.BOOL, []),
         models.value_info("next", TensorProto.FLOAT, ["N"])])
    return helper.make_graph(
        [helper.make_node("Loop", ["", "start", "x"], ["y"], body=body)], "doubler",
        [models.value_info("x", TensorProto.FLOAT, ["N"])],
        [models.value_info("y", TensorProto.FLOAT, ["N"])],
        [constant("start", True, np.bool_), constant("limit", 100, np.float32),
         constant("never", np.inf, np.float32)])


def chooser():
    """x + 1 or x * 2, by the sign of its first element."""
    def branch(name, op, value):
        return helper.make_graph(
            [helper.make_node(op, ["x", value], [f"{name}_y"])], name, [],
            [models.value_info(f"{name}_y", TensorProto.FLOAT, ["N"])])

    return helper.make_graph(
        [helper.make_node("Gather", ["x", "zero"], ["first"]),
         helper.make_node("Less", ["first", "nothing"], ["is_negative"]),
         helper.make_node("If", ["is_negative"], ["y"],
                          then_branch=branch("then", "Add", "one"),
                          else_branch=branch("else", "Mul", "two"))],
        "chooser", [models.value_info("x", TensorProto.FLOAT, ["N"])],
        [models.value_info("y", TensorProto.FLOAT, ["N"])],
        [constant("zero", 0, np.int64), constant("nothing", 0, np.float32),
         constant("one", 1, np.float32), constant("two", 2, np.float32)])


def words():
    return helper.make_graph(
        [helper.make_node("StringSplit", ["x"], ["y", "z"], delimiter="-")], "words",
        [models.value_info("x", TensorProto.STRING, ["N"])],
        [models.value_info("y", TensorProto.STRING, ["N", "K"]),
         models.value_info("z", TensorProto.INT64, ["N"])])


def pieces():
    """Ends in a sequence, which the protocol has no form for."""
    sequence = helper.make_sequence_type_proto(
        helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    return helper.make_graph(
        [helper.make_node("SplitToSequence", ["x"], ["parts"])], "pieces",
        [models.value_info("x", TensorProto.FLOAT, ["N"])],
        [helper.make_value_info("parts", sequence)])


def handed():
    """A value that passes through a sequence without a copy."""
    return helper.make_graph(
        [helper.make_node("Relu", ["x"], ["a"]),
         helper.make_node("SequenceConstruct", ["a"], ["s"]),
         helper.make_node("SequenceAt", ["s", "zero"], ["y"])], "handed",
        [models.value_info("x", TensorProto.FLOAT, ["N"])],
        [models.value_info("y", TensorProto.FLOAT, ["N"])], [constant("zero", 0, np.int64)])


def classifier():
    """As scikit-learn's converter writes them, with a ZipMap at the end."""
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(
        TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, [])))
    return helper.make_graph(
        [helper.make_node("LinearClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml",
                          coefficients=[1.0, -1.0, 0.5, 2.0, -1.0, 0.0], intercepts=[0.0, 0.1, 0.2],
                          classlabels_ints=[7, 8, 9], post_transform="SOFTMAX"),
         helper.make_node("ZipMap", ["scores"], ["probabilities"], domain="ai.onnx.ml",
                          classlabels_int64s=[7, 8, 9])],
        "classifier", [models.value_info("x", TensorProto.FLOAT, ["N", 2])],
        [models.value_info("label", TensorProto.INT64, ["N"]),
         helper.make_value_info("probabilities", maps)])


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dynamic")
    for name, graph in (("detector", detector()), ("doubler", doubler(True)),
                        ("endless", doubler(False)), ("chooser", chooser()), ("words", words()),
                        ("pieces", pieces()), ("handed", handed())):
        save(folder, name, graph)
    save(folder, "classifier", classifier(), **{"ai.onnx.ml": 3})
    return folder


@pytest.fixture(scope="module")
def server(start_server, repository):
    return start_server(repository=repository)


@pytest.fixture(scope="module")
def client(server):
    return triton.InferenceServerClient(server.address)


def infer(client, model, **inputs):
    requests = []
    for name, array in inputs.items():
        dtype = "BYTES" if array.dtype == object else {"f": "FP32", "i": "INT64"}[array.dtype.kind]
        request = triton.InferInput(name, array.shape, dtype)
        request.set_data_from_numpy(array)
        requests.append(request)
    return client.infer(model, requests)


@pytest.mark.parametrize("count", [1, 7, 0, 40])
def test_shapes_follow_from_data(client, repository, count):
    rng = np.random.default_rng(count)
    corners = rng.random((1, count, 2), np.float32) * 10
    boxes = np.concatenate([corners, corners + 2], axis=2).astype(np.float32)
    logits = rng.standard_normal((1, 1, count)).astype(np.float32)
    expected, = support.ort_session(repository / "detector.onnx").run(
        None, {"boxes": boxes, "logits": logits})
    actual = infer(client, "detector", boxes=boxes, logits=logits).as_numpy("y")
    np.testing.assert_array_equal(actual, expected)


def test_loop_and_condition(client):
    x = np.array([1, 3, -2], np.float32)
    np.testing.assert_array_equal(infer(client, "doubler", x=x).as_numpy("y"), x * 64)
    np.testing.assert_array_equal(infer(client, "chooser", x=x).as_numpy("y"), x * 2)
    np.testing.assert_array_equal(infer(client, "chooser", x=-x).as_numpy("y"), 1 - x)


def test_requests_at_once_do_not_mix(server):
    """Frames belong to runs: many at once, each with its own values."""
    wrong = []

    def work(seed):
        own = triton.InferenceServerClient(server.address)
        for step in range(20):
            x = np.array([seed + 1, step + 1], np.float32)
            scale = 2.0
            while (x * scale).max() < 100:
                scale *= 2
            if not np.array_equal(infer(own, "doubler", x=x).as_numpy("y"), x * scale):
                wrong.append((seed, step))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_answers_hold_their_own_values(server):
    """What is handed on without a copy may not be overwritten by the next request."""
    wrong = []

    def work(seed):
        own = triton.InferenceServerClient(server.address)
        for step in range(50):
            x = np.full(4096, seed * 1000 + step + 1, np.float32)
            if not np.array_equal(infer(own, "handed", x=x).as_numpy("y"), x):
                wrong.append((seed, step))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_strings_of_unknown_number(client):
    x = np.array([b"a-b-c", b"", b"d"], object)
    result = infer(client, "words", x=x)
    assert result.as_numpy("y").tolist() == [[b"a", b"b", b"c"], [b"", b"", b""], [b"d", b"", b""]]
    assert result.as_numpy("z").tolist() == [3, 1, 1]


def test_endless_loop_meets_its_deadline(server):
    """The request is answered, and the device runs the next one."""
    body = {"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [0.0]}],
            "parameters": {"timeout": 300000}}
    status, _, answer = server.request("POST", "/v2/models/endless/infer", json.dumps(body))
    assert status == 504, answer
    # The connection's timer or the loop itself notices first.
    error = json.loads(answer)["error"]
    assert "deadline" in error or "timeout" in error
    status, answer = server.infer_json("doubler", {"inputs": [
        {"name": "x", "shape": [1], "datatype": "FP32", "data": [60.0]}]})
    assert (status, answer["outputs"][0]["data"]) == (200, [120.0])


def test_sequences_are_refused_by_name(server):
    assert server.get("/v2/models/pieces/ready")[0] != 200
    assert "output 'parts' is not a tensor, which the protocol cannot carry" in server.log()


def test_zip_map_is_served_as_its_scores(client, repository):
    x = np.array([[1, 2], [-1, 0.5]], np.float32)
    label, maps = support.ort_session(repository / "classifier.onnx").run(None, {"x": x})
    result = infer(client, "classifier", x=x)
    np.testing.assert_array_equal(result.as_numpy("label"), label)
    np.testing.assert_allclose(result.as_numpy("probabilities"),
                               [[m[k] for k in (7, 8, 9)] for m in maps], rtol=1e-5)
    outputs = {o["name"]: o for o in client.get_model_metadata("classifier")["outputs"]}
    assert outputs["probabilities"]["datatype"] == "FP32"
