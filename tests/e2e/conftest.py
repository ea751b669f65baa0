"""Fixtures of the end-to-end tests: a real daemon on a loopback port, talked to by real clients.

ONNXD_BINARY names the daemon under test (default build/release/onnxd).
"""

import pathlib

import pytest

import support


@pytest.fixture(scope="session")
def light_models():
    """Folder of the nine light models and their stored outputs."""
    return support.LIGHT_MODELS


@pytest.fixture(scope="module")
def start_server(tmp_path_factory):
    """start_server(repository=..., config=...) -> support.Server, stopped after the module."""
    servers = []

    def start(**options):
        server = support.Server(tmp_path_factory.mktemp("server"), **options)
        servers.append(server)
        return server

    yield start
    failures = [reason for server in servers if (reason := server.stop()) is not None]
    assert not failures, failures


@pytest.fixture(scope="session")
def digits_path():
    return pathlib.Path(support.ROOT) / "examples" / "digits" / "digits.onnx"
