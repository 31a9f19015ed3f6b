"""JSON that is written: RFC 8259, whatever the values are."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pytest
import xarray as xr

from forecast.base.json_text import to_json
from forecast.errors import ResultError


def dates(*texts: str) -> np.ndarray:
    return np.array(texts, dtype="datetime64[s]")


def test_bad_input_061_output_is_rfc_8259() -> None:
    value = {
        "nan": float("nan"),
        "inf": np.float32("inf"),
        "array": np.array([[1.0, np.nan]]),
        "int": np.int64(3),
        "ok": np.bool_(True),
        "when": dates("2040-01-01", "2040-06-01T12:00:00", "NaT"),
        "day": datetime.date(2040, 1, 1),
        "text": "é\ud800\x1b",
        "tuple": (1, None),
        "data": xr.Dataset({"x": ("n", [1.5])}),
        "one": xr.DataArray(2.0),
        "big": 10**30,
        "s": np.str_("a"),
    }

    def refuse(name: str) -> None:
        raise AssertionError(name)

    text = to_json(value)
    assert text.isascii()
    assert json.loads(text, parse_constant=refuse) == {
        "nan": None,
        "inf": None,
        "array": [[1.0, None]],
        "int": 3,
        "ok": True,
        "when": ["2040-01-01", "2040-06-01T12:00:00", None],
        "day": "2040-01-01",
        "text": "é\ud800\x1b",
        "tuple": [1, None],
        "data": {"x": [1.5]},
        "one": 2.0,
        "big": 10**30,
        "s": "a",
    }


@pytest.mark.parametrize(
    ("value", "says"),
    [({1: 2}, "expected text as key, got int"), ({"a": [object()]}, r"\.a\[0\]: a object"), ({"a": {1, 2}}, "a set")],
)
def test_what_has_no_json_form(value: object, says: str) -> None:
    with pytest.raises(ResultError, match=says):
        to_json(value)


def test_a_list_in_itself_has_no_json_form() -> None:
    ring: list = []
    ring.append(ring)
    with pytest.raises(ResultError, match="nested"):
        to_json(ring)
