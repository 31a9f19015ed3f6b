"""Fixtures every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of reference data; a test that asks for it is skipped where there is none.

    With ``FORECAST_REQUIRE_DATA=1`` a missing folder is a failure: the CI must not skip in silence.
    """
    name = os.environ.get("FORECAST_TEST_DATA", "")
    folder = Path(name)
    if name and folder.is_dir():
        return folder
    reason = f"FORECAST_TEST_DATA: {name!r} is no folder" if name else "FORECAST_TEST_DATA is not set"
    if os.environ.get("FORECAST_REQUIRE_DATA") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
