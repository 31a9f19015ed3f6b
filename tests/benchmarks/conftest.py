"""How a benchmark says what it measured."""

import pytest


@pytest.fixture
def say(capsys):
    """Print a line past the capture."""

    def show(text):
        with capsys.disabled():
            print(f"\n  {text}", end="")

    return show
