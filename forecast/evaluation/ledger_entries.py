"""Forecasts of a projection, as lines of a ledger: only of questions that somebody can decide later.

Such a question has a threshold that no world moves, a date by which it is asked, and a source that decides; or it asks
for a quantity at a date, and has a source.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast import formula
from forecast.base.dates import decimal_year, from_decimal_year
from forecast.base.lazy import xr
from forecast.errors import FormulaError, UnknownNameError, UsageError, printable
from forecast.evaluation.ledger import append, dated, past
from forecast.projection.answers.pooling import pooled
from forecast.projection.crossing import QUANTILES, weighted_quantiles
from forecast.projection.source_tables import last
from forecast.projection.weights import failing_of, value_quantiles, weights_of
from forecast.scenarios.quantities.choice_numbers import plain

__all__ = ["POINTS", "forecasts", "record"]

#: Quantiles that stand for the whole distribution, in the middle of as many equal shares.
POINTS = 100


def record(
    run: xr.DataTree,
    to: str | Path,
    *,
    on: str,
    questions: Sequence[str] = (),
    by: Sequence[str] = (),
    source: str = "",
) -> list[dict[str, Any]]:
    """Add the forecasts of a projection to a ledger; see `forecasts`.

    Parameters
    ----------
    run : xarray.DataTree
    to : str or path
        The ledger, a file of JSON lines; made where there is none.
    on, questions, by, source
        See `forecasts`.

    Returns
    -------
    list of dict
        The new lines, with their hashes.
    """
    return append(to, forecasts(run, on=on, questions=questions, by=by, source=source))


def forecasts(
    run: xr.DataTree, *, on: str, questions: Sequence[str] = (), by: Sequence[str] = (), source: str = ""
) -> list[dict[str, Any]]:
    """Return what a projection says to its questions: one forecast for each definition, and each date of a value.

    Parameters
    ----------
    run : xarray.DataTree
        As `forecast.project` returns it, with every world.
    on : str
        The date of the forecast, or ``"today"``; none that has not come.
    questions : sequence of str
        By default all that ask for dates or values.
    by : sequence of str
        Dates by which it is asked how likely it is, beside those of the scenario.
    source : str
        Who decides, where the scenario does not say it under ``resolves``.

    Raises
    ------
    UsageError
        Saying what a question lacks that somebody could decide it later, or why there is no one forecast.

    Examples
    --------
    >>> import forecast
    >>> run = forecast.project({"start": 2025, "until": 2030, "quantities": {"x": {"expression": "t - 2024"}},
    ...     "questions": {"high": {"when": "x >= 3", "dates": [2028], "resolves": "the almanac"}}}, draws=10)
    >>> forecasts(run, on="2025-01-01")[0]["median"]
    '2027-01-01'
    """
    on = past(on, "--as-of")
    asked = {name: ("when", each) for name, each in _attribute(run, "questions").items()}
    asked |= {name: ("growth" if "growth" in e else "value", e) for name, e in _attribute(run, "values").items()}
    others = {*_attribute(run, "rankings"), *_attribute(run, "first")}
    for name in questions:
        if name in others:
            raise UsageError(f"question '{name}' asks for an order; expected one that asks when, value or growth")
        if name not in asked:
            raise UnknownNameError("question", name, asked)
    if not asked:
        raise UsageError("record: the scenario asks no question that can be decided: expected when, value or growth")
    if "sweep" in run.attrs or "kept" in run.attrs:
        what = "a sweep holds several answers" if "sweep" in run.attrs else "worlds were counted: keep them all"
        raise UsageError(f"record: {what}; expected one answer, with every world")
    newest = last(run)
    if newest is not None and newest > on:
        raise UsageError(f"--as-of {on}: the data go on until {newest}; expected a date on which they were known")
    extra = tuple(dated(date, "--deadline") for date in by)
    about = {**_settings(run), "on": on, "newest": newest}
    out = []
    for name in questions or asked:
        kind, stated = asked[name]
        resolves = source.strip() or stated.get("resolves", "")
        if not resolves:
            raise _lacks(name, "no source that decides", f'resolves = "..." to [questions.{name}]', "--source")
        said = {**about, "question": name, "title": stated["title"], "asks": kind, "resolves": resolves}
        made = _of_date(run, name, stated, extra) if kind == "when" else _of_value(run, name, kind, stated)
        out += [{"kind": "forecast", **said, **each} for each in made]
    for each in out:
        first = each["at"] if "at" in each else each["by"][0]["date"]
        if first <= on:
            raise UsageError(f"question '{each['question']}': it is asked by {first}, which is not after --as-of {on}")
    return out


def _lacks(name: str, what: str, add: str, option: str) -> UsageError:
    question = f"question '{printable(name, 60)}'"
    return UsageError(f"{question} has {what}: nobody could decide it; add {add}, or give {option}")


def _attribute(run: xr.DataTree, name: str) -> Any:
    return json.loads(run.attrs[name]) if name in run.attrs else {}


def _settings(run: xr.DataTree) -> dict[str, Any]:
    """Return what it takes to make the forecast again."""
    same = ("scenario", "seed", "draws", "data", "plugins", "versions", "scenario_hash")
    how = ("set", "swap", "changes", "start", "until", "step", "as_of")
    settings = {name: value for name in how if (value := _attribute(run, name)) not in ({}, [], None)}
    return {**{name: _attribute(run, name) for name in same}, "settings": settings}


# --- dates ------------------------------------------------------------------------------------------------------------


def _of_date(run: xr.DataTree, name: str, stated: Mapping[str, Any], extra: Sequence[str]) -> Iterator[dict[str, Any]]:

    dates = sorted({*(date[:10] for date in stated.get("dates", ())), *extra})
    if not dates:
        raise _lacks(name, "no date by which it is asked", f"dates = [2030] to [questions.{name}]", "--deadline DATE")
    time = run["projection"].to_dataset()["time"].values
    first, last = (str(time[i].astype("datetime64[D]")) for i in (0, -1))
    if dates[-1] > last:
        raise UsageError(f"question '{name}': it is asked by {dates[-1]}, and the projection ends on {last}: --until")
    data = run["questions"].to_dataset()
    stamps = data[f"{name}_date"]
    years = stamps.copy(data=np.where(np.isnat(stamps.values), np.inf, decimal_year(stamps.values)))
    if bool(data[f"{name}_never"].isnull().any()):
        raise UsageError(f"question '{name}' has no answer: {'; '.join(_attribute(run, 'failures'))}")
    for chosen, over, worlds, weights in _answers(run, name, years.where(~failing_of(data, name))):
        threshold = _threshold(run, name, stated["when"], chosen)
        known = ~np.isnan(worlds)
        share = weights * known / (weights * known).sum()
        ends = decimal_year(np.array(dates, dtype="datetime64[s]"))
        points = weighted_quantiles(worlds, weights, [(i + 0.5) / POINTS for i in range(POINTS)])
        levels = dict(
            zip(QUANTILES, map(_day, weighted_quantiles(worlds, weights, list(QUANTILES.values()))), strict=True)
        )
        begin = decimal_year(time[:1])[0]
        yield {
            "asked": stated["when"], "unit": "year", "threshold": threshold, "choices": chosen, "pooled": over,
            "start": first, "until": last, "median": levels["p50"], "quantiles": levels,
            "never": float(share[np.isposinf(worlds)].sum()),
            "already": float(share[worlds <= begin].sum()),
            "by": [
                {"date": date, "probability": min(1.0, float(share[worlds <= end].sum()))}
                for date, end in zip(dates, ends, strict=True)
            ],
            "points": [float(p) if np.isfinite(p) else None for p in points],
        }  # fmt: skip


def _day(year: float) -> str | None:

    return str(from_decimal_year([year])[0].astype("datetime64[D]")) if np.isfinite(year) else None


def _threshold(run: xr.DataTree, name: str, when: str, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return the side of a condition that is the same in every world and at every date, with what it is made of."""
    try:
        condition = formula.parse_condition(plain(when)[0], where=f"question '{name}'")
    except FormulaError:
        condition = None
    moving: list[str] = []
    for side in () if condition is None else (condition.right, condition.left):
        known = {each: _constant(run, each, chosen) for each in side.names}
        if None not in known.values():
            return {"side": side.text, **({"values": known} if known else {})}
        moving += [each for each, value in known.items() if value is None]
    raise _lacks(
        name,
        f"no threshold: both sides of '{printable(when, 80)}' differ from world to world ({', '.join(moving)})",
        "a number or a fixed quantity on one side",
        "--set NAME=NUMBER",
    )


def _constant(run: xr.DataTree, name: str, chosen: Mapping[str, str]) -> dict[str, Any] | None:

    held = run["projection"].to_dataset()
    if name not in held or held[name].dtype.kind != "f":
        return None
    own = held[name].sel({dim: value for dim, value in chosen.items() if dim in held[name].dims})
    number = float(own.values.flat[0])
    same = np.isfinite(number) and bool((own.values == number).all())
    return {"value": number, "unit": str(own.attrs["units"])} if same else None


# --- values -----------------------------------------------------------------------------------------------------------


def _of_value(run: xr.DataTree, name: str, kind: str, stated: Mapping[str, Any]) -> Iterator[dict[str, Any]]:

    values = run["values"][name].to_dataset()["value"]
    for i, date in enumerate(stated["dates"]):
        for chosen, over, worlds, weights in _answers(run, name, values.isel(date=i, drop=True)):
            if np.isnan(worlds).all():
                raise UsageError(f"question '{name}' has no answer on {date}: {'; '.join(_attribute(run, 'failures'))}")
            points = weighted_quantiles(worlds, weights, [(i + 0.5) / POINTS for i in range(POINTS)])
            alike = bool((weights == weights[0]).all())
            found = value_quantiles(worlds[:, None], None if alike else weights)[:, 0]
            levels = dict(zip(QUANTILES, map(float, found), strict=True))
            yield {
                "asked": stated[kind], "unit": str(values.attrs["units"]), "choices": chosen, "pooled": over,
                "at": date[:10], "median": levels["p50"], "quantiles": levels, "points": [float(p) for p in points],
            }  # fmt: skip


# --- worlds -----------------------------------------------------------------------------------------------------------

Worlds = tuple[dict[str, str], dict[str, list[float]], "NDArray[np.float64]", "NDArray[np.float64]"]


def _answers(run: xr.DataTree, name: str, worlds: xr.DataArray) -> Iterator[Worlds]:
    """Walk the definitions: what is chosen, the weights of pooled rivals, and what every world says and counts."""
    definitions, rivals = _attribute(run, "definitions") or [], _attribute(run, "rivals")
    single = {str(dim): str(worlds[dim].values[0]) for dim in worlds.dims if dim != "draw" and worlds.sizes[dim] == 1}
    open_ = [str(dim) for dim in worlds.dims if dim != "draw" and dim not in single and dim not in definitions]
    for dim in open_:
        if dim not in rivals:
            values = ", ".join(map(str, worlds[dim].values))
            raise UsageError(
                f"question '{name}': there is no one forecast: the rivals of '{dim}' have no weights; give one, "
                f"--set {dim}=... ({values}), or weights in the scenario"
            )
    over, seed = {dim: rivals[dim] for dim in open_}, _attribute(run, "seed")
    stated = weights_of(run)
    drawn = pooled(worlds, over, seed=seed)
    counts = xr.ones_like(drawn) if stated is None else pooled(stated, over, seed=seed)
    drawn, counts = xr.broadcast(drawn, counts, exclude=("draw",))
    drawn, counts = (each.transpose("draw", ...) for each in (drawn, counts))
    for index in np.ndindex(*drawn.shape[1:]):
        chosen = {str(d): str(drawn[d].values[i]) for d, i in zip(drawn.dims[1:], index, strict=True)}
        place = (slice(None), *index)
        pools = {dim: dict(zip(map(str, worlds[dim].values), over[dim], strict=True)) for dim in open_}
        yield chosen, pools, drawn.values[place], counts.values[place]  # type: ignore[misc]
