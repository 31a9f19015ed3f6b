"""Answers that make pages, and a Chromium that is installed to open them."""

import os
import shutil

import pytest

import forecast

#: Where there is none, tests that need one are skipped; this makes them fail.
REQUIRED = os.environ.get("FORECAST_REQUIRE_BROWSER") == "1"
NAMES = ("chromium", "chromium-browser", "google-chrome")


def _without(reason):
    if REQUIRED:
        pytest.fail(f"FORECAST_REQUIRE_BROWSER=1, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="module")  # its event loop must be gone where another module has its own
def browser():
    """A browser without a window."""
    found = os.environ.get("FORECAST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        _without(f"no browser is installed: {', '.join(NAMES)}, or FORECAST_CHROMIUM")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _without("playwright is not installed: the extra [test-browser] has it")
    with sync_playwright() as started:
        # in a container of one user there is no sandbox to start
        opened = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


STEERED = {
    "start": 2025,
    "until": 2060,
    "choices": {
        "pace": {"values": ["0.5", "1"], "kind": "rival", "weights": [0.25, 0.75]},
        "goal": {"values": ["20", "2000"], "kind": "definition"},
    },
    "quantities": {
        "growth": {"normal": [0.15, 0.45], "unit": "1/year"},
        "kind": {"draw": {"steady": 0.5, "broken": 0.5}},
        "machine": {"expression": "one*exp({pace}*growth*(t - start))"},
        "unit": {"value": 1, "unit": "FLOP/s"},
        "one": {"p05": 0.5, "p95": 2, "unit": "FLOP/s"},
    },
    "questions": {
        "reached": {"when": "machine >= {goal}*unit", "title": "the machine reaches {goal} FLOP/s"},
        "size": {"value": "machine", "dates": ["2030-01-01", "2050-01-01"], "title": "what the machine gives"},
    },
}


@pytest.fixture(scope="session")
def steerable():
    """A projection with a definition, rivals of unequal weight, a regime and uncertain numbers."""
    return forecast.project(STEERED, draws=2048, seed=3)


HOSTILE = '</script><script>alert(1)</script>"><img src=x onerror=alert(2)>{{7*7}}<!--'


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """A projection with foreign text wherever a file may have some."""
    folder = tmp_path_factory.mktemp("hostile")
    data = folder / "m.csv"
    data.write_text("date,v\n" + "".join(f"{2015 + i}-01-01,{2.0**i}\n" for i in range(10)), encoding="utf-8")
    scenario = {
        "title": HOSTILE,
        "start": 2025,
        "until": 2060,
        "choices": {"c": {"values": [HOSTILE[:40], "b"], "kind": "definition"}},
        "labels": {"z": HOSTILE, "x": "<b>x</b>", "b": "<i>b</i>"},
        "quantities": {
            "x": {"p05": 1, "p95": 100, "unit": "FLOP"},
            "y": {"p05": 9, "p95": 11, "unit": "FLOP"},
            "z": {"expression": "x*exp(0.1*(t - start))"},
            "s": {"data": str(data), "x": "date", "y": "v", "shape": "trends/exponential", "unit": "FLOP"},
        },
        "questions": {"q": {"when": "z >= y", "title": HOSTILE, "resolves": HOSTILE}},
    }
    return forecast.project(scenario, draws=256)
