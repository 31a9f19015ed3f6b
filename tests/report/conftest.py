"""A projection that many tests of sentences and figures read."""

import pytest

from toolkit import parity


@pytest.fixture(scope="module")
def run():
    """Brain parity, in few worlds."""
    return parity()
