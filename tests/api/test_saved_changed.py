"""Saved results that somebody changed and hashed again: an error of one sentence, or another result that can be read.

No check makes a file honest; none of what is put here may run, hang, or raise anything but a `ForecastError`.
"""

from __future__ import annotations

import contextlib
import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import forecast
from forecast.base import netcdf
from forecast.errors import ForecastError, ResultError
from forecast.fit.compare import compare
from forecast.fit.fit import Fits
from forecast.report import result_data
from forecast.report.headline import opening_sentence
from toolkit import sample, saturating

# --- what is saved ----------------------------------------------------------------------------------------------------


def curve() -> dict[str, Any]:
    return {**saturating(40, seed=1), "g": np.array(["b", "a"] * 20), "k": np.arange(40) // 4}


def asked() -> Any:
    """Return a projection with limits, changes, and every question beside dates and orders."""
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


def counted() -> Any:
    """Return a projection with regimes, rivals, an update and rankings, whose worlds are counted."""
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


def shipped() -> Any:
    """Return a projection with what stands behind it: observations, their fitted past, and draws of parameters."""
    return forecast.project(
        "brain-parity", draws=20, until=2060, with_={"metric": "hpcg,linpack", "trend": "exponential,changepoint"}
    )


POWER, LINE = "E + b*x**-c", forecast.Law("a + b*x", variables=["x"])
NOISY = {"x": np.arange(1.0, 21), "y": 2 * np.arange(1.0, 21) + np.random.default_rng(2).normal(0, 0.5, 20)}
#: Every kind of result that is saved, and of fits every kind of what they hold.
RESULTS: dict[str, Callable[[], Any]] = {
    "asked": asked,
    "bootstrap": lambda: forecast.law("scaling/saturating-power").fit(curve(), bootstrap=30),
    "counted": counted,
    "shipped": shipped,
    "many": lambda: forecast.law("scaling/saturating-power").fit(curve(), by="g", bootstrap=6),
    "ordinary": lambda: forecast.law("scaling/saturating-power").fit(curve(), objective="least_squares"),
    "at a bound": lambda: forecast.Law(POWER, variables={"x": "FLOP"}, bounds={"E": (2.0, 3.0)}).fit(curve()),
    "comparison": lambda: compare([*map(forecast.law, ("scaling/saturating-power", "scaling/power"))], curve()),
    "varying": lambda: forecast.Law(POWER, variables=["x"]).fit(curve(), groups="g", varying=["E"]),
    "cluster": lambda: forecast.Law(POWER, variables=["x"]).fit(curve(), groups="k"),
    "published": lambda: forecast.law("scaling/chinchilla").published("besiroglu2024"),
    "sigma_x": lambda: LINE.fit(NOISY, sigma_x={"x": 0.2}),
    "huber": lambda: forecast.Law(POWER, variables=["x"]).fit(curve(), objective="huber_log"),
    "sigma": lambda: LINE.fit(NOISY, sigma=0.5),
    "binomial": lambda: forecast.Law("1/(1 + exp(-(a + b*x)))", variables=["x"]).fit(
        {"x": np.arange(8.0), "y": np.array([1.0, 2, 2, 5, 6, 8, 9, 9]), "t": np.full(8, 10.0)},
        objective="binomial",
        options={"trials": "t"},
    ),
    "fixed": lambda: forecast.Law(POWER, variables=["x"], bounds={"c": (0.35, 0.35)}).fit(curve()),
}


def saved(kind: str, folder: Path) -> Path:
    result, path = RESULTS[kind](), folder / "result.nc"
    return forecast.save(result, path)


# --- how it is changed ------------------------------------------------------------------------------------------------

#: What may stand in the place of a value of JSON.
OTHERS = [
    None, True, -1, 0, 1.5, 1e300, 10**400, "", "x", "nan", "2050-01-01", "__import__('os')", "a; b\n\x1b[2J",
    [], [1], ["x"], {}, {"number": "nan"}, {"a": 1},
]  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Walk the places of everything in a JSON value, the containers too."""
    yield at
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*at, key))


def put(value: Any, at: tuple[Any, ...], rng: random.Random) -> Any:
    """Return a JSON value with something else, or nothing, at a place."""
    if at:
        made = copy.copy(value)
        made[at[0]] = put(value[at[0]], at[1:], rng)
        return made
    how = rng.choice(["other", "more", "fewer"])
    if how != "other" and isinstance(value, (dict, list)) and value:
        if how == "more":
            return {**value, "extra": 1} if isinstance(value, dict) else [*value, value[0]]
        return {k: value[k] for k in list(value)[1:]} if isinstance(value, dict) else value[:-1]
    if how != "other" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return value * 1.5 + 1 if how == "more" else -value
    return rng.choice(OTHERS)


def other_array(variable: xr.Variable, rng: random.Random) -> xr.Variable:
    """Return an array with other values, of another kind, or along other dimensions."""
    values, dims, attrs = np.asarray(variable.values), variable.dims, dict(variable.attrs)
    kind = values.dtype.kind
    if kind == "f":
        new = [-values - 1, values * 3, values * np.nan, values + np.inf]
    elif kind == "M":
        new = [np.full_like(values, "NaT"), values + np.timedelta64(400, "D")]
    else:
        new = [np.full_like(values, "x")] if kind == "U" else [~values] if kind == "b" else [-values - 1, values * 3]
    ways = [
        *((dims, each) for each in new),
        (dims, values.astype(str)),
        (dims, values.astype("f4") if kind == "f" else np.full(values.shape, 1.5)),
        ((*dims, "extra"), values[..., None]),
        ((), values.ravel()[0] if values.size else 1.0),
        *([([f"other_{d}" for d in dims], values[:-1]), (dims, values[::-1]), (dims[::-1], values.T)] if dims else []),
    ]
    if attrs and rng.random() < 0.2:
        attrs.pop(rng.choice(sorted(attrs)))
    return xr.Variable(*rng.choice(ways), attrs)


def changes(tree: xr.DataTree, count: int, seed: int) -> Iterator[tuple[str, xr.DataTree]]:
    """Walk results that were changed in one place, and what was changed."""
    rng = random.Random(seed)
    nodes = {node.path: node.to_dataset(inherit=False) for node in tree.subtree}
    parts = [(path, "@", key) for path, data in nodes.items() for key in data.attrs]
    parts += [(path, "/", name) for path, data in nodes.items() for name in data.variables]
    parts += [(path, "", "") for path in nodes] * 2
    while count:
        path, kind, key = rng.choice(parts)
        variables, attrs, gone = dict(nodes[path].variables), dict(nodes[path].attrs), rng.random() < 0.2
        held: dict[Any, Any] = attrs if kind == "@" else variables
        what = f"{path}{kind}{key}"
        if not kind:
            held[rng.choice(["more", "time", "quantile"])] = xr.Variable((), 1.0)
        elif gone:
            del held[key]
        elif kind == "/":
            held[key] = other_array(held[key], rng)
        else:
            at = rng.choice(list(places(json.loads(held[key]))))
            held[key] = json.dumps(put(json.loads(held[key]), at, rng))
            what = f"{what}: {at}: {held[key][:200]}"
        rest = {p: data for p, data in nodes.items() if p != path}
        with contextlib.suppress(ValueError):  # xarray has no such result
            made = rest if not kind and gone and path != "/" else {**rest, path: xr.Dataset(variables, attrs=attrs)}
            yield what, xr.DataTree.from_dict(made)
        count -= 1


# --- and read ---------------------------------------------------------------------------------------------------------


#: What people ask of a projection.
OF_RUNS = (
    result_data.date_rows, result_data.quantity_rows, result_data.ranking_rows, result_data.limit_rows,
    result_data.value_answers, result_data.first_answers, result_data.update_rows, opening_sentence,
    lambda run: run.warnings,
)  # fmt: skip


def read(result: Any) -> None:
    """Ask a result for everything that people ask: each answer comes, or is refused in one line."""
    asks: list[Callable[[], Any]] = []
    if isinstance(result, forecast.Fit):
        levels = result.law.levels
        points = {v: levels[v][:2] if v in levels else [20.0, 3e3] for v in result.law.variables}
        first = next(iter(result.values))
        asks += [lambda: result.predict(level=0.9, **points), result.summary, lambda: result.verdict]
        asks += [result._repr_html_, lambda: result.interval(first), lambda: result.covariance]
    elif isinstance(result, Fits):
        asks += [lambda: result.params, lambda: result.stderr, lambda: result.verdict, lambda: result.predict(x=20.0)]
    elif isinstance(result, forecast.Comparison):
        asks += [lambda: repr(result), lambda: result.best]
    elif not isinstance(result, xr.DataTree):
        run = result.run if isinstance(result, forecast.Answer) else result
        asks += [lambda ask=ask: ask(run) for ask in OF_RUNS]
    for ask in asks:
        with contextlib.suppress(ForecastError):
            ask()


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("asked", 30),
        ("bootstrap", 10),
        ("comparison", 15),
        ("many", 10),
        *sample([(kind, 25) for kind in RESULTS], 0, 4),
    ],
)
def test_a_changed_result_is_refused_in_one_sentence_or_read(
    kind: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(kind, tmp_path)
    read(forecast.load(path))
    whole, now = netcdf.load(path), list[xr.DataTree]()
    # what stands between a file and `forecast.load` is tested below, at a hundredth of this speed
    monkeypatch.setattr(netcdf, "load", lambda _: now[-1])
    wrong, refused = list[str](), 0
    for what, tree in changes(whole, count, seed=1):
        now[:] = [tree]
        try:
            read(forecast.load(path))
        except ResultError as error:
            said, refused = str(error), refused + 1
            if "\n" in said or not said.isprintable() or not said.startswith(str(path)) or len(said) > 600:
                wrong.append(f"{what}: {said}")
        except Exception as error:
            wrong.append(f"{what}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong[:40])
    assert 0 < refused < count


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> xr.DataTree:
    return netcdf.load(saved("asked", tmp_path_factory.mktemp("whole")))


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda t: t.attrs.pop("questions"), "attributes.questions: is missing; expected an object"),
        (lambda t: t.attrs.update(evil='"x"'), "attributes.evil: unknown key"),
        (lambda t: t.attrs.update(draws='"20"'), "attributes.draws: expected a count, got '20'"),
        (
            lambda t: t["questions"].update({"a_never": xr.DataArray(1)}),
            "/questions/a_never: expected numbers, got int64",
        ),
        (
            lambda t: t["questions"].update({"a_never": xr.DataArray([1.0] * 20, dims="draw")}),
            "/questions/a_never: expected the dimensions ",
        ),
        (lambda t: t["values"].__delitem__("v"), "/values/v: is missing"),
        (lambda t: t["questions"].__delitem__("a_never"), "/questions/a_never: is missing"),
        (lambda t: t.update({"more": xr.DataTree(xr.Dataset({"x": 1.0}))}), "/more: none of a projection's groups"),
    ],
)
def test_the_sentence_names_the_field(
    edit: Callable[[Any], Any], says: str, whole: xr.DataTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, path = whole.copy(deep=True), tmp_path / "result.nc"
    edit(tree)
    if "questions: is missing" in says:  # one goes through a file
        forecast.save(tree, path)
    else:
        monkeypatch.setattr(netcdf, "load", lambda _: tree)
    with pytest.raises(ResultError, match=says) as caught:
        forecast.load(path)
    assert str(caught.value).startswith(str(path))
