"""What several tests need: where their data is, and a context that runs computations."""

import pathlib

import federated_language as fl
import pytest

from federated_runtime import federated_language as contexts

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def programs():
    """The folder with what federated-language 0.5.4 serialized."""
    return ROOT / "testdata" / "golden" / "federated_language"


@pytest.fixture
def examples():
    return ROOT / "examples"


@pytest.fixture(scope="module")
def context():
    """Computations of federated-language run in process."""
    contexts.set_default_context()
    yield
    fl.framework.set_no_default_context()
