"""What moves an answer: shares of its variance, and constants that would move it more than anything drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.lazy import xr
from forecast.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from forecast.api.answer import Answer

__all__ = ["sensitivity"]

#: So many worlds tell how far a constant moves an answer.
WORLDS = 500
#: So often a number is drawn anew for its total order.
REDRAWS = 4
#: A driver that explains less is not moved for comparison.
MIN_SHARE = 0.02


def sensitivity(answer: Answer, *, total: bool = False) -> pd.DataFrame:
    """Return what moves an answer, the largest share of its variance first.

    Parameters
    ----------
    answer : Answer
        To a question that asks when, or for a value or growth (the last date then counts).
    total : bool
        Also the total order, by pick-freeze: each uncertain number is drawn anew while all others stay (Jansen 1999,
        Computer Physics Communications 117, 35-43). Of what has no other draws (a law's parameters, a posterior of
        one's own, a regime, a choice) it is NaN.

    Returns
    -------
    pandas.DataFrame
        By driver: its ``kind``; ``first``, the share of the variance of the answer's rank that it explains alone, of
        correlated numbers as one group; what is left to 1 is in the row ``together``. ``moves`` is how far the mean
        answer goes, whatever is given (a date of never counts as the last step), from the 5 to the 95 % quantile of a
        number, or from half a constant to its double. ``attrs["note"]`` says so where a constant comes first.

    Examples
    --------
    >>> import forecast
    >>> from forecast.language import start, t
    >>> x, y = forecast.uncertain(p05=1, p95=4, name="x"), forecast.uncertain(p05=0.9, p95=1.1, name="y")
    >>> answer = (x * y * (t - start) >= 10).when(start=2020, until=2060, draws=1000)
    >>> answer.sensitivity().index[0]
    'x'
    """
    import pandas as pd

    from forecast.projection.weights import failing_of
    from forecast.sensitivity.of_answer import variance_shares

    if answer.kind not in ("when", "value"):
        raise UsageError(f"sensitivity: the question asks {answer.kind}: ask when, or for a value")
    failing = failing_of(answer.run["questions"].to_dataset(), answer.asked) if answer.kind == "when" else None
    shares = variance_shares(answer.run, _said(answer), failing)
    rows: dict[str, dict[str, Any]] = {
        row["name"]: {"kind": row["kind"], "first": row["share"], "moves": float("nan")} for row in shares
    }
    left = max(1 - sum(row["share"] for row in shares), 0.0) if shares else float("nan")
    rows["together"] = {"kind": "together", "first": left, "moves": float("nan")}
    # a number that is set may be one that a condition excludes
    fewest = min(WORLDS, int(answer.options.get("draws", WORLDS)))
    quick = replace(answer, conditions=(), options={**answer.options, "draws": fewest})
    settable, constants = answer._knobs(), dict(_constants(answer))
    told = [row["name"] for row in shares if row["share"] >= MIN_SHARE and row["kind"] == "number"]
    fewer = quick.with_()
    ends = {name: _ends(fewer, name) for name in told if name in settable}
    ends |= {name: (number / 2, number * 2) for name, number in constants.items()}
    rows |= {name: {"kind": "constant", "first": 0.0} for name in constants}
    for name, pair in ends.items():
        if pair is not None:
            low, high = (_mean(quick.with_(**{name: number})) for number in pair)
            rows[name]["moves"] = abs(high - low)
    made = pd.DataFrame.from_dict(rows, orient="index").rename_axis("driver")
    if total:
        made["total"] = pd.Series(dict(_totals(answer, [row["name"] for row in shares])), dtype=float)
        made = made[["kind", "first", "total", "moves"]]
    drawn, fixed = made[made.kind != "constant"].moves, made[made.kind == "constant"].moves
    if len(fixed) and fixed.max() > drawn.fillna(0.0).max():
        unit = "years" if answer.kind == "when" else answer.values.attrs["units"]
        by = f"{fixed.max():.3g} {unit}".rstrip()
        note = f"a constant comes first: '{fixed.idxmax()}' has no uncertainty, and from half of it to its double"
        most = f", with '{drawn.idxmax()}' by {drawn.max():.3g}" if drawn.notna().any() else ""
        made.attrs["note"] = f"{note} the mean answer moves by {by}{most}"
    return made


def _said(answer: Answer) -> xr.DataArray:
    """Return one number a world: the date, or the value at the last date asked for."""
    return answer.dates if answer.kind == "when" else answer.values.isel(date=-1, drop=True)


def _mean(answer: Answer) -> float:

    from forecast.base.dates import decimal_year

    said = _said(answer)
    if answer.kind == "when":
        last = float(decimal_year(answer.run["projection"].to_dataset()["time"].values[-1]))
        said = said.where(said.isnull() | np.isfinite(said), last)
    return float((said * answer.weights).sum("draw", skipna=True).mean())


def _ends(answer: Answer, name: str) -> tuple[float, float] | None:
    """Return the 5 and 95 % quantiles of a number; None of a regime."""
    projected = answer.run["projection"].to_dataset()
    if name in projected:
        if projected[name].attrs.get("kind") == "regime":
            return None
        values = projected[name].isel(time=0).values
    else:
        owner, _, short = name.rpartition(".")
        values = answer.run[f"posterior/{owner}"].to_dataset()[short].values
    low, high = np.quantile(values, [0.05, 0.95])
    return float(low), float(high)


def _constants(answer: Answer) -> Iterator[tuple[str, float]]:
    """Walk the quantities behind an answer that are one number, whatever the world."""
    from forecast.scenarios.graph import build
    from forecast.scenarios.spec import Prior

    graph = build(answer.scenario, answer.options.get("set"))
    for name in answer.depends_on:
        node = graph.nodes.get(name)
        if node is not None and isinstance(node.quantity, Prior) and node.fixed is None:
            stated = node.quantity.distribution
            if stated.family == "fixed" and stated.median() != 0:
                yield name, stated.median()


def _totals(answer: Answer, drivers: list[str]) -> Iterator[tuple[str, float]]:
    """Walk the drivers that can be drawn anew, with their total-order index."""
    from forecast.projection.engine import project
    from forecast.sensitivity.of_answer import ranks

    said = _said(answer)
    weights = answer.weights.broadcast_like(said).transpose(*said.dims).values * said.sizes["draw"]
    place = ranks(said.values, weights)
    order = np.argsort(said.values.ravel(), kind="stable")
    steps = _steps(said.values.ravel()[order], place.ravel()[order])
    middle = np.average(place, weights=weights)
    given = answer.scenario
    for name in drivers:
        members = name.split(", ")
        outcomes = [place]
        for count in range(1, REDRAWS + 1):
            stated = _drawn_anew(given.stated, members, f"again{count}")
            if stated is None:
                break
            again = _said(replace(answer, run=project(given.restated(stated), **answer._run_options, held=answer.held)))
            # the same scale for all: where an answer would stand among those that were given
            outcomes.append(np.interp(again.transpose(*said.dims).values, *steps))
        if len(outcomes) > 1:
            # what varies while all else stays
            left = np.average(np.var(outcomes, axis=0, ddof=1), weights=weights)
            whole = np.mean([np.average((each - middle) ** 2, weights=weights) for each in outcomes])
            yield name, float(left / whole)


def _steps(levels: Any, place: Any) -> tuple[Any, Any]:
    """Return places by level, each level once; never, which is infinite, as the largest float."""
    known = ~np.isnan(levels)
    values, first = np.unique(np.nan_to_num(levels[known], posinf=np.finfo(float).max), return_index=True)
    return values, place[known][first]


def _drawn_anew(stated: Mapping[str, Any], members: list[str], ending: str) -> dict[str, Any] | None:
    """Return a scenario in which these numbers are drawn by other names; None where they cannot be."""
    quantities = dict(stated.get("quantities", {}))
    groups = [dict(group) for group in stated.get("correlations", ())]
    for name in members:
        record = quantities.get(name)
        if record is None or any(key in record for key in ("draw", "draws", "model", "law", "function", "expression")):
            return None
        again = f"{name[:55]}_{ending}"
        beside = {key: record[key] for key in ("lower", "before", "limit", "how", "at_least", "keeps") if key in record}
        quantities[again] = {key: each for key, each in record.items() if key not in beside}
        quantities[name] = {"expression": again, **beside}
        for group in groups:
            group["of"] = [again if each == name else each for each in group["of"]]
    return {**stated, "quantities": quantities, **({"correlations": groups} if groups else {})}
