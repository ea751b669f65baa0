"""The unmodified tritonclient: metadata, JSON and binary inference on the example and ResNet-50."""

import json

import numpy as np
import onnx
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

import models
import support


@pytest.fixture(scope="module")
def repository(tmp_path_factory, digits_path, light_models):
    folder = tmp_path_factory.mktemp("repository")
    version = folder / "digits" / "3"
    version.mkdir(parents=True)
    (version / "model.onnx").write_bytes(digits_path.read_bytes())
    onnx.save(models.random_light_model(light_models, "resnet50"), folder / "resnet50.onnx")
    return folder


@pytest.fixture(scope="module")
def server(start_server, repository):
    return start_server(repository=repository)


@pytest.fixture(scope="module")
def client(server):
    with triton.InferenceServerClient(server.address, network_timeout=300) as client:
        yield client


@pytest.fixture(scope="module")
def images():
    samples = json.loads((support.ROOT / "examples" / "digits" / "samples.json").read_text())
    return (np.array([s["image"] for s in samples], np.float32),
            np.array([s["label"] for s in samples]))


def infer(client, model, name, array, output, binary, **options):
    tensor = triton.InferInput(name, list(array.shape), "FP32")
    tensor.set_data_from_numpy(array, binary_data=binary)
    requested = triton.InferRequestedOutput(output, binary_data=binary)
    return client.infer(model, [tensor], outputs=[requested], **options)


def test_health(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("digits")
    assert client.is_model_ready("digits", "3")
    assert not client.is_model_ready("digits", "4")
    assert not client.is_model_ready("nosuch")


def test_server_metadata(client):
    metadata = client.get_server_metadata()
    assert metadata["name"] == "onnxd"
    assert metadata["version"]
    assert "binary_tensor_data" in metadata["extensions"]


def test_repository_index(client):
    assert client.get_model_repository_index() == [
        {"name": "digits", "version": "3", "state": "READY"},
        {"name": "resnet50", "version": "1", "state": "READY"}]


@pytest.mark.parametrize("version", ["", "3"])
def test_model_config(client, version):
    config = client.get_model_config("digits", version)
    assert (config["name"], config["max_batch_size"]) == ("digits", 0)
    assert config["input"] == [{"name": "image", "data_type": "TYPE_FP32", "dims": [-1, 64]}]
    metadata = client.get_model_metadata("digits", version)
    assert ([(port["name"], port["dims"]) for port in config["output"]] ==
            [(port["name"], port["shape"]) for port in metadata["outputs"]])


def statistics(client):
    (found,) = client.get_inference_statistics("digits", "3")["model_stats"]
    assert (found["name"], found["version"]) == ("digits", "3")
    assert client.get_inference_statistics("digits")["model_stats"] == [found]
    assert found in client.get_inference_statistics()["model_stats"]
    return found


def test_statistics(client, images):
    before = statistics(client)
    infer(client, "digits", "image", images[0][:1], "probabilities", True)
    infer(client, "digits", "image", images[0][:1], "probabilities", False)
    with pytest.raises(InferenceServerException):
        infer(client, "digits", "image", images[0][:1], "nosuch", True)
    after = statistics(client)
    assert after["inference_count"] == before["inference_count"] + 2
    assert after["last_inference"] >= before["last_inference"]
    added = {key: {unit: value[unit] - before["inference_stats"][key][unit] for unit in value}
             for key, value in after["inference_stats"].items()}
    assert {key: value["count"] for key, value in added.items()} == {
        "success": 2, "fail": 1, "queue": 2, "compute_input": 2, "compute_infer": 2,
        "compute_output": 2, "cache_hit": 0, "cache_miss": 0}
    parts = ("queue", "compute_input", "compute_infer", "compute_output")
    assert 0 < sum(added[key]["ns"] for key in parts) <= added["success"]["ns"]
    (batch,) = after["batch_stats"]
    assert (batch["batch_size"], batch["compute_infer"]) == (
        1, after["inference_stats"]["compute_infer"])


@pytest.mark.parametrize("version", ["", "3"])
def test_model_metadata(client, version):
    metadata = client.get_model_metadata("digits", version)
    assert metadata["name"] == "digits"
    assert metadata["versions"] == ["3"]
    assert metadata["inputs"] == [{"name": "image", "datatype": "FP32", "shape": [-1, 64]}]
    assert metadata["outputs"] == [
        {"name": "probabilities", "datatype": "FP32", "shape": [-1, 10]}]


@pytest.mark.parametrize("binary", [False, True], ids=["json", "binary"])
@pytest.mark.parametrize("batch", [1, 2, 20])
def test_digits(client, digits_path, images, binary, batch):
    pixels, labels = images[0][:batch], images[1][:batch]
    result = infer(client, "digits", "image", pixels, "probabilities", binary, request_id="r-17")
    response = result.get_response()
    assert (response["id"], response["model_name"], response["model_version"]) == \
        ("r-17", "digits", "3")
    probabilities = result.as_numpy("probabilities")
    (expected,) = support.ort_session(digits_path).run(None, {"image": pixels})
    np.testing.assert_allclose(probabilities, expected, rtol=1e-3, atol=1e-6)
    # The model's own accuracy is 98.7 %; these twenty are all recognised.
    np.testing.assert_array_equal(np.argmax(probabilities, axis=1), labels)


def test_no_outputs_requested_means_all_in_binary(client, images):
    tensor = triton.InferInput("image", [1, 64], "FP32")
    tensor.set_data_from_numpy(images[0][:1])
    result = client.infer("digits", [tensor])
    (output,) = result.get_response()["outputs"]
    assert output["parameters"]["binary_data_size"] == 40
    assert result.as_numpy("probabilities").shape == (1, 10)


@pytest.mark.parametrize("binary", [False, True], ids=["json", "binary"])
def test_resnet50(client, repository, binary):
    model = onnx.load(repository / "resnet50.onnx")
    name, array = models.light_input(model)
    array = np.random.default_rng(5).standard_normal(array.shape).astype(np.float32)
    output = model.graph.output[0].name
    actual = infer(client, "resnet50", name, array, output, binary).as_numpy(output)
    (expected,) = support.ort_session(repository / "resnet50.onnx").run(None, {name: array})
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-7)
    assert np.argmax(actual) == np.argmax(expected)


def test_async_infer(client, images):
    tensor = triton.InferInput("image", [1, 64], "FP32")
    tensor.set_data_from_numpy(images[0][:1])
    pending = [client.async_infer("digits", [tensor]) for _ in range(8)]
    for result in (p.get_result() for p in pending):
        assert np.argmax(result.as_numpy("probabilities")) == images[1][0]


@pytest.mark.parametrize("call, status, text", [
    (lambda c, t: c.infer("nosuch", [t]), "404", "Request for unknown model: 'nosuch'"),
    (lambda c, t: c.infer("digits", [t], model_version="9"), "404", "version 9"),
    (lambda c, t: c.infer("digits", []), "400", "missing required input(s) ['image']"),
    (lambda c, t: c.get_model_metadata("nosuch"), "404", "unknown model"),
], ids=["unknown model", "unknown version", "no inputs", "unknown metadata"])
def test_errors_name_what_and_where(client, images, call, status, text):
    tensor = triton.InferInput("image", [1, 64], "FP32")
    tensor.set_data_from_numpy(images[0][:1])
    with pytest.raises(InferenceServerException) as raised:
        call(client, tensor)
    assert raised.value.status() == status
    assert text in raised.value.message()


@pytest.mark.parametrize("shape, dtype, text", [
    ([1, 63], "FP32", "unexpected shape for input 'image' for model 'digits'. "
                      "Expected [-1,64], got [1,63]"),
    ([64], "FP32", "unexpected shape for input 'image'"),
    ([1, 64], "INT32", "inference input 'image' data-type is 'INT32', but model 'digits' "
                       "expects 'FP32'"),
])
def test_wrong_tensors(client, shape, dtype, text):
    tensor = triton.InferInput("image", shape, dtype)
    kind = np.float32 if dtype == "FP32" else np.int32
    tensor.set_data_from_numpy(np.zeros(shape, kind))
    with pytest.raises(InferenceServerException) as raised:
        client.infer("digits", [tensor])
    assert raised.value.status() == "400"
    assert text in raised.value.message()
