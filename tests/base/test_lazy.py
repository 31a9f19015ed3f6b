"""A masked array is recognised without importing its module, also while another thread imports it."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from forecast import Law


def test_a_module_that_another_thread_has_half_imported_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"x": np.arange(1.0, 9.0), "y": 2 * np.arange(1.0, 9.0)}
    whole = Law("a*x", variables=["x"]).fit(data, y="y")
    monkeypatch.setitem(sys.modules, "numpy.ma", ModuleType("numpy.ma"))
    assert Law("a*x", variables=["x"]).fit(data, y="y").params == whole.params
