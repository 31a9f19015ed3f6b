"""Projections that somebody changed and hashed again: refused in one line, or read without a surprise."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import forecast
from forecast.base import netcdf
from forecast.errors import ForecastError, ResultError
from forecast.report import page, result_data
from forecast.report.figures.projections import plot
from forecast.report.headline import headline

#: The changes are those that saved fits are put through.
CHANGES = Path(__file__).parents[1] / "fit" / "test_save_changed.py"


def some_changes(tree: xr.DataTree, every: int) -> Iterator[tuple[str, xr.DataTree]]:
    spec = importlib.util.spec_from_file_location("saved_changes", CHANGES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield from module.changes(tree, every=every)


@pytest.fixture(scope="module")
def tree() -> xr.DataTree:
    return forecast.project(
        "brain-parity", draws=20, until=2060, with_={"metric": "hpcg,linpack", "trend": "exponential,changepoint"}
    )


@pytest.fixture(scope="module")
def asked() -> xr.DataTree:
    """A projection with limits, changes, and every question beside dates and orders."""
    record = {
        "start": 2025,
        "until": 2035,
        "quantities": {
            "rate": {"normal": [0.1, 0.3], "unit": ""},
            "x": {"expression": "exp(rate*(t - start))", "limit": 3, "at_least": 1.1, "at_most": 1e9},
        },
        "questions": {
            "a": {"when": "x >= 2"},
            "b": {"when": "t >= 2029"},
            "race": {"first": ["a", "b"]},
            "v": {"value": "2*x", "dates": [2030]},
            "w": {"growth": "x", "dates": [2031]},
        },
        "changes": [{"of": "x", "growth": "0.5*", "since": 2028, "until": 2030}],
    }
    return forecast.project(record, draws=20)


@pytest.fixture(scope="module")
def counted() -> xr.DataTree:
    """A projection with regimes, rivals, an update and rankings, whose worlds are counted beside the first of them."""
    record = {
        "start": 2025,
        "until": 2030,
        "choices": {
            "pace": {"values": ["1", "2"], "kind": "rival", "weights": [0.25, 0.75]},
            "card": {"values": ["3", "4"], "kind": "definition"},
        },
        "quantities": {
            "kind": {"draw": {"slow": 0.3, "fast": 0.7}},
            "rate": {"normal": [0.1, 0.3], "unit": ""},
            "x": {"expression": 'exp(where(kind == "slow", 1, 2)*{pace}*rate*(t - start))', "limit": 9},
            "price": {"expression": "rate*{card}"},
        },
        "update": {"rate": {"log_likelihood": "-(rate - 0.2)**2/0.01"}},
        "questions": {
            "a": {"when": "x >= 2", "dates": [2028]},
            "b": {"when": "x >= 4"},
            "race": {"first": ["a", "b"]},
            "v": {"value": "x", "dates": [2027, 2029]},
            "best": {"rank": "price", "over": "card", "best": "lowest"},
        },
    }
    return forecast.project(record, draws=100, keep=40)


def test_a_projection_comes_back(tree: xr.DataTree, tmp_path: Path) -> None:
    assert forecast.load(forecast.save(tree, tmp_path / "p.nc")).run.identical(tree)


@pytest.mark.parametrize(
    ("made", "every"),
    [
        pytest.param("tree", 16, marks=pytest.mark.slow),
        ("asked", 4),
        pytest.param("counted", 6, marks=pytest.mark.slow),
    ],
)
def test_every_change_is_refused_or_read_without_a_surprise(
    made: str, every: int, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = forecast.save(request.getfixturevalue(made), tmp_path / "p.nc")
    whole = netcdf.load(path)
    now: list[xr.DataTree] = []
    monkeypatch.setattr(netcdf, "load", lambda _: now[-1])
    wrong, refused, count, read, drawn = [], 0, 0, set(), set()
    for what, changed in some_changes(whole, every):
        count += 1
        now[:] = [changed]
        try:
            back = forecast.load(path)
            back = back.run if isinstance(back, forecast.Answer) else back
        except ResultError as error:
            said = str(error)
            refused += 1
            if "\n" in said or not said.isprintable() or not said.startswith(str(path)) or len(said) > 600:
                wrong.append(f"{what}: {said}")
            continue
        except BaseException as error:
            wrong.append(f"{what}: {type(error).__name__}: {error}")
            continue
        place, kind = "/".join(what.split("/")[:4]), what.split("/")[1]
        if place in read:  # one of a kind is enough: reading takes as long as a hundred refusals
            continue
        read.add(place)
        asks = [result_data.questions, result_data.quantities, headline, lambda run: run.warnings, result_data.rankings]
        asks += [result_data.limits, result_data.value_answers, result_data.first_answers]
        if kind not in drawn:  # and a page or a picture as long as a thousand
            drawn.add(kind)
            asks += [lambda tree: page.write(tree, tmp_path / "p.html"), lambda tree: plot(tree, tmp_path / "p.svg")]
        try:
            for ask in asks:
                with contextlib.suppress(ForecastError):
                    ask(back)
        except Exception as error:
            wrong.append(f"{what}: accepted, then {type(error).__name__}: {error}")
    assert count > 150
    assert refused > 50
    assert not wrong, "\n".join(wrong[:40])


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda t: t.attrs.pop("questions"), "attributes.questions: is missing; expected an object"),
        (lambda t: t.attrs.update(evil='"x"'), "attributes.evil: unknown key"),
        (lambda t: t.attrs.update(draws='"20"'), "attributes.draws: expected a count, got '20'"),
        (lambda t: t.attrs.update(until="2061"), r"/projection/time: expected \d+ to 2061, got [\d.]+ to 2060"),
        (
            lambda t: t.attrs.update(newest_data='{"a": "soon"}'),
            "attributes.newest_data.a: expected a date, got 'soon'",
        ),
        (lambda t: t.attrs.update(choices="{}"), "attribute 'choices': lacks 'metric'"),
        (lambda t: t["past/machine/level"].attrs.update(keeps="all"), "/past/machine: expected a quantity of the"),
        (
            lambda t: t["past/machine/level"].values.__setitem__((0, 0), 1e30),
            "/past/machine/level: expected finite numbers that rise",
        ),
        (
            lambda t: t["past/machine/date"].values.__setitem__(0, np.datetime64("2050-01-01")),
            "/past/machine/date: expected dates up to the first step",
        ),
    ],
)
def test_the_sentence_names_the_field(edit: object, says: str, tree: xr.DataTree, tmp_path: Path) -> None:
    changed = tree.to_xarray().copy(deep=True)
    edit(changed)  # type: ignore[operator]
    path = forecast.save(changed, tmp_path / "p.nc")
    with pytest.raises(ResultError, match=says) as caught:
        forecast.load(path)
    assert str(caught.value).startswith(str(path))
