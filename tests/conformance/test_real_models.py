"""Every model of real_models.py: onnxd's outputs are onnxruntime's."""

import pytest

import real_models
import support


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return list(real_models.models(tmp_path_factory.mktemp("models")))


def test_all_agree(models):
    failed = [f"{model.name}: {text}" for model in models
              if (text := real_models.check(support.BINARY, model)) is not None]
    assert not failed, "\n".join(failed)
    assert len(models) >= 25
