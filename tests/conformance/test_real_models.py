"""Every model of real_models.py: onnxd's outputs are onnxruntime's, from the command line and from
one daemon that serves all of them."""

import shutil

import numpy as np
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

import real_models
import support

COUNT = 45


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    found = list(real_models.models(tmp_path_factory.mktemp("models")))
    assert len(found) >= COUNT
    return found


@pytest.fixture(scope="module")
def client(models, tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    for model in models:
        shutil.copy(model.path, repository / f"{model.name}.onnx")
    server = support.Server(tmp_path_factory.mktemp("server"), repository)
    yield triton.InferenceServerClient(server.address)
    assert server.stop() is None


def differences(models, run):
    return [f"{model.name}: {text}" for model in models
            if (text := real_models.check(model, run)) is not None]


def test_command_line(models):
    failed = differences(models, real_models.command_line(support.BINARY))
    assert not failed, "\n".join(failed)


def test_served(models, client):
    def run(model, session, inputs):
        requests = []
        for name, array in inputs.items():
            request = triton.InferInput(name, array.shape, np_to_triton_dtype(array.dtype))
            request.set_data_from_numpy(np.ascontiguousarray(array).reshape(array.shape))
            requests.append(request)
        try:
            result = client.infer(model.name, requests)
        except InferenceServerException as error:
            raise RuntimeError(error.message()) from None
        return [result.as_numpy(output.name) for output in session.get_outputs()]

    failed = differences(models, run)
    assert not failed, "\n".join(failed)
