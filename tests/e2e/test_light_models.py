"""The nine light models: as stored, and with random weights against ONNX Runtime."""

import json

import numpy as np
import onnx
import pytest
import tritonclient.http as triton
from onnx import numpy_helper

import models
import support

# Probabilities below this are noise of the last bits of their logits.
ABSOLUTE_TOLERANCE = 1e-7
RELATIVE_TOLERANCE = 1e-3


def save_data_set(folder, name, array, outputs):
    folder.mkdir(parents=True)
    (folder / "input_0.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())
    for index, output in enumerate(outputs):
        (folder / f"output_{index}.pb").write_bytes(
            numpy_helper.from_array(output).SerializeToString())


def infer(server, model_name, input_name, array, output_name):
    with triton.InferenceServerClient(server.address, network_timeout=300) as client:
        tensor = triton.InferInput(input_name, list(array.shape), "FP32")
        tensor.set_data_from_numpy(array)
        return client.infer(model_name, [tensor]).as_numpy(output_name)


@pytest.fixture(scope="module")
def stored_server(start_server, light_models, tmp_path_factory):
    repository = tmp_path_factory.mktemp("stored")
    for name in models.LIGHT_NAMES:
        (repository / f"{name}.onnx").write_bytes(models.light_path(light_models, name).read_bytes())
    return start_server(repository=repository)


@pytest.mark.parametrize("name", models.LIGHT_NAMES)
def test_stored_over_http(stored_server, light_models, name):
    model = onnx.load(models.light_path(light_models, name))
    input_name, array = models.light_input(model)
    expected = models.stored_output(light_models, name)
    actual = infer(stored_server, name, input_name, array, model.graph.output[0].name)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=RELATIVE_TOLERANCE, atol=ABSOLUTE_TOLERANCE)


@pytest.mark.parametrize("name", models.LIGHT_NAMES)
def test_stored_on_the_command_line(light_models, tmp_path, name):
    model = onnx.load(models.light_path(light_models, name))
    input_name, array = models.light_input(model)
    save_data_set(tmp_path / "test_data_set_0", input_name, array,
                  [models.stored_output(light_models, name)])
    support.run_onnxd("run", models.light_path(light_models, name), "--data",
                      tmp_path / "test_data_set_0")


@pytest.mark.parametrize("name", models.LIGHT_NAMES)
def test_random_weights(start_server, light_models, tmp_path, name):
    """One model at a time: VGG-19 alone holds 550 MB of weights."""
    model = models.random_light_model(light_models, name)
    path = tmp_path / f"{name}.onnx"
    onnx.save(model, path)
    input_name, array = models.light_input(model)
    rng = np.random.default_rng(3)
    array = rng.standard_normal(array.shape).astype(np.float32)
    session = support.ort_session(path)
    (expected,) = session.run(None, {input_name: array})
    assert np.ptp(expected) > 0, "a constant output would prove nothing"

    save_data_set(tmp_path / "test_data_set_0", input_name, array, [expected])
    # What is left of large terms that cancel is off by the rounding of those.
    absolute = max(ABSOLUTE_TOLERANCE, float(np.finfo(np.float32).eps * 4 * np.abs(expected).max()))
    support.run_onnxd("run", path, "--data", tmp_path / "test_data_set_0", "--atol", absolute)

    server = start_server(repository=path)
    try:
        actual = infer(server, name, input_name, array, model.graph.output[0].name)
    finally:
        assert server.stop() is None
    np.testing.assert_allclose(actual, expected, rtol=RELATIVE_TOLERANCE, atol=absolute)
    assert np.argmax(actual) == np.argmax(expected)


@pytest.mark.parametrize("name", models.LIGHT_NAMES)
def test_no_bit_depends_on_the_threads(light_models, tmp_path, name):
    model = models.random_light_model(light_models, name)
    path = tmp_path / f"{name}.onnx"
    onnx.save(model, path)
    input_name, array = models.light_input(model)
    array = np.random.default_rng(3).standard_normal(array.shape).astype(np.float32)
    save_data_set(tmp_path / "data", input_name, array, [])
    outputs = []
    for threads in (1, 2, 3):
        provider = {**support.CPU_PROVIDER, "options": {"cpu.threads": threads}}
        config = tmp_path / f"{threads}.json"
        config.write_text(json.dumps({"providers": [provider]}))
        saved = tmp_path / f"saved_{threads}"
        saved.mkdir()
        support.run_onnxd("run", path, "--data", tmp_path / "data", "--config", config,
                          "--save-outputs", saved)
        (output,) = saved.rglob("output_0.pb")
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]


def test_a_wrong_output_is_noticed(light_models, tmp_path):
    """`onnxd run` must fail when the stored output is not what the model computes."""
    name = "squeezenet"
    model = onnx.load(models.light_path(light_models, name))
    input_name, array = models.light_input(model)
    wrong = models.stored_output(light_models, name) * np.float32(1.01)
    save_data_set(tmp_path / "test_data_set_0", input_name, array, [wrong])
    result = support.run_onnxd("run", models.light_path(light_models, name), "--data",
                               tmp_path / "test_data_set_0", check=False)
    assert result.returncode == 1, result.stdout + result.stderr
