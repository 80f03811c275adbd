"""Where the data of the tests is."""

import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def programs():
    """The folder with what federated-language 0.5.4 serialized."""
    return ROOT / "testdata" / "golden" / "federated_language"


@pytest.fixture
def examples():
    return ROOT / "examples"
