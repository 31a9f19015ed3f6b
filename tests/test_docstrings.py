"""Every example in a docstring gives what it shows."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import forecast


def modules():
    for found in pkgutil.walk_packages(forecast.__path__, "forecast."):
        if "templates" not in found.name and not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def test_every_example_gives_what_it_shows(capsys):
    tried = wrong = 0
    for module in modules():
        result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
        tried, wrong = tried + result.attempted, wrong + result.failed
    assert wrong == 0, capsys.readouterr().out
    assert tried > 300
