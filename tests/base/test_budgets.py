"""The limit of memory: who sets it, and what it refuses before any work."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import forecast
from forecast.base.budgets import VARIABLE, budget, check_memory, memory, shown
from forecast.cli import main
from forecast.errors import ResultError, UsageError

SMALL = {"start": 2025, "until": 2030, "quantities": {"x": {"p05": 1, "p95": 4, "unit": "FLOP"}}}


@pytest.mark.parametrize(
    ("given", "size"),
    [("8GiB", 8 << 30), ("500MB", 500_000_000), ("123", 123), (" 1.5 kib ", 1536), ("2tb", 2 * 10**12), (7, 7)],
)
def test_sizes(given: int | str, size: int) -> None:
    with budget(memory=given):
        assert memory() == size


@pytest.mark.parametrize("given", ["", "8 gigs", "-1GB", "0", 0, -5, True, 1.5, None, "nan", "1e9", "9" * 30, "GB"])
def test_what_is_no_size(given: object) -> None:
    with pytest.raises(UsageError, match=r"^budget: memory: expected a size such as '8GiB', '500MB' or") as caught:
        budget(memory=given).__enter__()  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_block_stands_over_the_variable_and_the_variable_over_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert memory() == 4 << 30
    monkeypatch.setenv(VARIABLE, "1GB")
    assert memory() == 10**9
    with forecast.budget(memory="2GB"):
        assert memory() == 2 * 10**9
        with forecast.budget(memory="3GB"):
            assert memory() == 3 * 10**9
        assert memory() == 2 * 10**9
    assert memory() == 10**9
    monkeypatch.setenv(VARIABLE, "lots")
    with pytest.raises(UsageError, match=f"^{VARIABLE}: expected a size .* got 'lots'$"):
        memory()


def test_the_sentence() -> None:
    with pytest.raises(ResultError) as caught:
        check_memory(1 << 40, "a.nc: reading it takes", error=ResultError, instead="read less", limit=1 << 30)
    assert str(caught.value) == (
        "a.nc: reading it takes 1 TiB; 1 GiB is the limit, which FORECAST_MAX_MEMORY sets: read less"
    )
    assert shown(1 << 60) == "1.05e+06 TiB"


def test_steps_times_draws_beyond_the_limit_are_refused_before_any_work() -> None:
    began = time.monotonic()
    for more in ({"until": 9999, "step": "month", "start": 1}, {"draws": 10**8}, {"until": 9999}):
        with pytest.raises(UsageError, match=r"^draws: .* GiB is the limit, which FORECAST_MAX_MEMORY sets: "):
            forecast.project("brain-parity", **more)  # type: ignore[arg-type]
    assert time.monotonic() - began < 20
    with budget(memory="10MB"), pytest.raises(UsageError, match=r"6 steps take .*; 9\.54 MiB is the limit.*draws fit$"):
        forecast.project(SMALL, draws=200_000)


def test_the_draws_that_are_said_to_fit_do_fit() -> None:
    with budget(memory="10MB"):
        with pytest.raises(UsageError, match=r": ([\d,]+) draws fit$") as caught:
            forecast.project(SMALL, draws=200_000)
        fits = int(str(caught.value).split()[-3].replace(",", ""))
        forecast.project(SMALL, draws=fits)
        with pytest.raises(UsageError):
            forecast.project(SMALL, draws=fits + 1)


def test_the_command_line_takes_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, "20MB")
    assert main(["run", "brain-parity"]) == 2
    assert "19.1 MiB is the limit, which FORECAST_MAX_MEMORY sets" in capsys.readouterr().err
    monkeypatch.setenv(VARIABLE, "much")
    assert main(["run", "brain-parity"]) == 2
    assert capsys.readouterr().err == (
        "forecast: error: FORECAST_MAX_MEMORY: expected a size such as '8GiB', '500MB' or a number of bytes, "
        "got 'much'\n"
    )
