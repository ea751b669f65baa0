"""One model over two providers: the result is that of either alone."""

import json

import numpy as np
import onnx
import pytest

import models
import support


DECLINED = "Concat,MaxPool,AveragePool"


def infer_random_light(start_server, light_models, tmp_path, name, config):
    path = tmp_path / f"{name}.onnx"
    model = models.random_light_model(light_models, name)
    onnx.save(model, path)
    input_name, array = models.light_input(model)
    server = start_server(repository=path, config=config)
    status, body = server.infer_json(name, {"inputs": [{
        "name": input_name, "shape": list(array.shape), "datatype": "FP32",
        "data": array.ravel().tolist()}]})
    assert status == 200, body
    return np.array(body["outputs"][0]["data"], np.float32)


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_split_equals_either_alone(start_server, light_models, tmp_path, name):
    results = {
        label: infer_random_light(start_server, light_models, tmp_path, name, config)
        for label, config in {
            "cpu": {"providers": [support.CPU_PROVIDER]},
            "sim": {"providers": [support.sim_provider(), support.CPU_PROVIDER],
                    "models": {"ep": "sim_ep"}},
            "both": {"providers": [support.sim_provider(unsupported_ops=DECLINED,
                                                        compute_scale=0.01),
                                   support.CPU_PROVIDER]},
        }.items()}
    np.testing.assert_allclose(results["sim"], results["cpu"], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(results["both"], results["cpu"], rtol=1e-5, atol=1e-9)


def test_inspect_shows_the_split(light_models, tmp_path):
    config = tmp_path / "split.json"
    config.write_text(json.dumps({"providers": [
        support.sim_provider(unsupported_ops="MaxPool", compute_scale=0.01),
        support.CPU_PROVIDER]}))
    text = support.run_onnxd("inspect", models.light_path(light_models, "squeezenet"),
                             "--config", config).stdout
    assert "sim_ep:0" in text and "cpu_ep:0" in text
    assert "MaxPool" in text
