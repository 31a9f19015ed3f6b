"""The limits of memory and of seconds: who sets them, what they refuse before any work, and what they end."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import numpy as np
import pytest

import forecast
from forecast.base.budgets import (
    MEMORY_VARIABLE,
    SECONDS_VARIABLE,
    check_memory,
    check_time,
    current,
    format_bytes,
    inherit,
    memory,
    resource_limits,
    work,
)
from forecast.cli import main
from forecast.errors import BudgetError, FitError, ResultError, UsageError
from forecast.fit.compare import compare
from forecast.fit.solve.parallel import share
from forecast.projection import engine
from forecast.tables.remote import download

SMALL = {"start": 2025, "until": 2030, "quantities": {
    "x": {"p05": 1, "p95": 4, "unit": "FLOP"}, "y": {"expression": "x*(t - start)"}}}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "size"),
    [("8GiB", 8 << 30), ("500MB", 500_000_000), ("123", 123), (" 1.5 kib ", 1536), ("2tb", 2 * 10**12), (7, 7)],
)
def test_sizes(given: int | str, size: int) -> None:
    with resource_limits(memory=given):
        assert memory() == size


@pytest.mark.parametrize("given", ["", "8 gigs", "-1GB", "0", 0, -5, True, 1.5, "nan", "1e9", "9" * 30, "GB"])
def test_what_is_no_size(given: object) -> None:
    with pytest.raises(
        UsageError, match=r"^resource_limits: memory: expected a size such as '8GiB', '500MB' or"
    ) as caught:
        resource_limits(memory=given).__enter__()  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_block_stands_over_the_variable_and_the_variable_over_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MEMORY_VARIABLE, raising=False)
    assert memory() == 4 << 30
    monkeypatch.setenv(MEMORY_VARIABLE, "1GB")
    assert memory() == 10**9
    with forecast.resource_limits(memory="2GB"):
        assert memory() == 2 * 10**9
        with forecast.resource_limits(memory="3GB"):
            assert memory() == 3 * 10**9
        assert memory() == 2 * 10**9
    assert memory() == 10**9
    monkeypatch.setenv(MEMORY_VARIABLE, "lots")
    with pytest.raises(UsageError, match=f"^{MEMORY_VARIABLE}: expected a size .* got 'lots'$"):
        memory()


def test_the_sentence() -> None:
    with pytest.raises(ResultError) as caught:
        check_memory(1 << 40, "a.nc: reading it takes", error=ResultError, instead="read less", limit=1 << 30)
    assert str(caught.value) == (
        "a.nc: reading it takes 1 TiB; 1 GiB is the limit, which FORECAST_MAX_MEMORY sets: read less"
    )
    assert format_bytes(1 << 60) == "1.05e+06 TiB"


def test_steps_times_draws_beyond_the_limit_are_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "run_batches", lambda *_, **__: pytest.fail("drawn"))
    for more in ({"until": 9999, "step": "month", "start": 1}, {"draws": 10**8, "keep": 10**8}, {"until": 9999}):
        with pytest.raises(UsageError, match=r"^draws: .* GiB is the limit, which FORECAST_MAX_MEMORY sets: "):
            forecast.project("brain-parity", **more)  # type: ignore[arg-type]
    with (
        resource_limits(memory="10MB"),
        pytest.raises(UsageError, match=r"6 steps take .*; 9\.54 MiB is the limit.*draws fit$"),
    ):
        forecast.project(SMALL, draws=200_000, keep=200_000)


def test_the_draws_that_are_said_to_fit_do_fit() -> None:
    with resource_limits(memory="10MB"):
        with pytest.raises(UsageError, match=r": ([\d,]+) draws fit$") as caught:
            forecast.project(SMALL, draws=200_000, keep=200_000)
        fits = int(str(caught.value).split()[-3].replace(",", ""))
        forecast.project(SMALL, draws=fits, keep=fits)
        with pytest.raises(UsageError):
            forecast.project(SMALL, draws=fits + 1, keep=fits + 1)


def test_the_command_line_takes_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, "20MB")
    assert main(["run", "brain-parity"]) == 2
    assert "19.1 MiB is the limit, which FORECAST_MAX_MEMORY sets" in capsys.readouterr().err
    monkeypatch.setenv(MEMORY_VARIABLE, "much")
    assert main(["run", "brain-parity"]) == 2
    assert capsys.readouterr().err == (
        "forecast: error: FORECAST_MAX_MEMORY: expected a size such as '8GiB', '500MB' or a number of bytes, "
        "got 'much'\n"
    )


@pytest.mark.parametrize("given", ["", "ten", "-1", "0", 0, -5, True, "nan", "1e9", float("inf"), float("nan"), []])
def test_what_is_no_number_of_seconds(given: object) -> None:
    with pytest.raises(
        UsageError, match=r"^resource_limits: seconds: expected a number of seconds above 0, such as 60, got"
    ):
        resource_limits(seconds=given).__enter__()  # type: ignore[arg-type]


def test_the_sentence_of_seconds() -> None:
    with resource_limits(seconds=1e-9), pytest.raises(BudgetError) as caught, work(lambda: "a law: bootstrap"):
        check_time("Newton's method", 1000, 4000, "solutions")
    assert str(caught.value) == (
        "a law: bootstrap: Newton's method stopped after 1,000 of 4,000 solutions: "
        "1e-09 s is the limit, which forecast.resource_limits sets"
    )
    assert caught.value.exit_code == 1
    check_time("work")  # the block is over


def test_a_block_within_another_ends_with_it() -> None:
    with (
        resource_limits(seconds=1e-9),
        resource_limits(seconds=100),
        pytest.raises(BudgetError, match="1e-09 s is the limit"),
    ):
        check_time("work")
    with (
        resource_limits(seconds=100),
        pytest.raises(BudgetError, match="1e-09 s is"),
        resource_limits(seconds=1e-9, memory="1MB"),
    ):
        check_time("work")


def test_threads_and_processes_end_with_their_caller() -> None:
    with resource_limits(seconds=100, memory="1GB"):
        limits = current()
    seen: list[int] = []
    thread = threading.Thread(target=lambda: (inherit(limits), seen.append(memory())))
    thread.start()
    thread.join()
    assert seen == [10**9]
    with resource_limits(seconds=0.2), pytest.raises(BudgetError, match="is the limit"):
        share(_forever, [(1,), (2,)], 2, where="work")


def _forever(place: int) -> None:
    while True:
        check_time(f"piece {place}")


CURVE = {"x": np.geomspace(1, 1e3, 30), "y": 1 + 3 * np.geomspace(1, 1e3, 30) ** -0.4}
LAW = "E + A*x**-b"


def _fit(**options: object) -> forecast.Fit:
    law = forecast.Law(LAW, variables=["x"], positive=["E", "A", "b"])
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(30))
    return law.fit({"x": CURVE["x"], "y": CURVE["y"] * noise}, **options)  # type: ignore[arg-type]


WORKS = {
    "the search for the optimum": lambda fit: _fit(),
    "Newton's method": lambda fit: _fit(start=fit.values),
    "a bootstrap": lambda fit: fit.resample(1000),
    "profiling": lambda fit: fit.profile("b"),
    "influence": lambda fit: fit.influence(),
    "differentiation": lambda fit: forecast.Law("*".join(f"(a{i} + x)" for i in range(9)), variables=["x"]).jacobian(
        {f"a{i}": 1.0 for i in range(9)}, x=np.ones(3)
    ),
    "a projection": lambda fit: forecast.project(SMALL, draws=10_000),
    "a comparison": lambda fit: compare([fit.law], CURVE),
    "inverting": lambda fit: fit.invert(y=1.5, solve_for="x"),
}


@pytest.mark.parametrize("name", WORKS)
def test_long_work_ends_with_its_seconds(name: str) -> None:
    fit = _fit()
    with (
        resource_limits(seconds=1e-6),
        pytest.raises(BudgetError, match=r"stopped.*: 1e-06 s is the limit, which") as caught,
    ):
        WORKS[name](fit)
    assert "\n" not in str(caught.value)


def test_a_download_ends_with_its_seconds() -> None:
    file = download._Bounded(io.BytesIO(), 1 << 20)
    file.write(b"abc")
    with (
        resource_limits(seconds=1e-9),
        pytest.raises(BudgetError, match=r"^a download stopped after 3 bytes: 1e-09 s is"),
    ):
        file.write(b"abc")


def test_a_tower_of_powers_fits_in_the_budget_or_ends_in_a_sentence() -> None:
    law = forecast.Law("**".join(f"(a{i}+x)" for i in range(12)), variables=["x"])
    with resource_limits(seconds=1), pytest.raises((BudgetError, FitError)) as caught:
        law.fit({"x": np.linspace(1, 1.2, 40), "y": np.linspace(1, 1.2, 40)})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("line", [["--max-seconds", "0.01", "run"], ["run", "--max-seconds=0.01"]])
def test_the_command_line_takes_seconds_anywhere(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*line, "brain-parity"]) == 1
    said = capsys.readouterr().err
    assert " stopped" in said
    assert said.endswith(": 0.01 s is the limit, which --max-seconds sets\n")


def test_the_command_line_takes_limits_from_options_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, "8GiB")
    assert main(["run", "brain-parity", "--max-memory", "20MB"]) == 2
    assert "; 19.1 MiB is the limit, which --max-memory sets: " in capsys.readouterr().err
    monkeypatch.setenv(SECONDS_VARIABLE, "0.01")
    assert main(["run", "brain-parity"]) == 1
    assert capsys.readouterr().err.endswith("0.01 s is the limit, which FORECAST_MAX_SECONDS sets\n")
    assert main(["laws", "list", "--max-seconds", "100"]) == 0
    capsys.readouterr()
    for option in ("--max-seconds", "--max-memory"):
        assert main(["run", "brain-parity", option]) == 2
        assert f"Option '{option}' requires an argument" in capsys.readouterr().err
        assert main(["run", "brain-parity", option, "much"]) == 2
        assert capsys.readouterr().err.startswith(f"forecast: error: {option}: expected a ")
