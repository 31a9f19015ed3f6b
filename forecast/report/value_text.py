"""Values asked for at dates, and what comes first, as plain data and as sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.lazy import xr
from forecast.projection.answers.first_event import earliest
from forecast.projection.answers.pooling import pooled
from forecast.projection.crossing import QUANTILES
from forecast.projection.weights import failing_of, select, value_quantiles, weighted_share, weights_of
from forecast.report.plain_data import attribute, combinations, numbers
from forecast.report.words.number_text import percent

__all__ = ["first_answers", "race", "sentence", "value_answers"]

#: The lowest and the highest of a probability, over rivals that nobody has weighed.
Ends = tuple[float, float]


def value_answers(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return every value asked for at dates, in every combination of choices, and over rivals whose weights are stated.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``value`` or ``growth`` (the expression), ``unit``, ``choices``, and ``dates``: each
        ``date`` with the quantiles ``p05`` to ``p95``, None where it failed. Over rivals there is a row for every
        definition, with the ``weights`` by choice; where worlds are counted, it is of those that are kept.
    """
    out, weights = [], weights_of(tree)
    for name, asked in (attribute(tree, "values") if "values" in tree.attrs else {}).items():
        data = tree["values"][name].to_dataset()
        drawn = data["value"]
        for chosen, each in combinations(drawn, ("draw", "date")):
            if "quantiles" in data:
                levels = data["quantiles"].sel(chosen).transpose("quantile", "date").values
            else:
                levels = value_quantiles(each.transpose("draw", "date").values, select(weights, chosen))
            out.append(_figure(name, asked, drawn, chosen, levels))
        if stated := _pooled_over(tree, drawn):
            seed = attribute(tree, "seed")
            counts = None if weights is None else pooled(weights, stated, seed=seed)
            for chosen, each in combinations(pooled(drawn, stated, seed=seed), ("draw", "date")):
                levels = value_quantiles(each.transpose("draw", "date").values, select(counts, chosen))
                out.append({**_figure(name, asked, drawn, chosen, levels), "weights": stated})
    return out


def _figure(
    name: str, asked: dict[str, Any], drawn: xr.DataArray, chosen: dict[str, str], levels: NDArray[np.float64]
) -> dict[str, Any]:
    word = "growth" if "growth" in asked else "value"
    rows = [dict(zip(QUANTILES, numbers(level), strict=True)) for level in np.asarray(levels).T]
    about = {"name": name, "title": asked["title"], word: asked[word], "unit": drawn.attrs["units"]}
    dates = [{"date": date, **row} for date, row in zip(asked["dates"], rows, strict=True)]
    return {**about, "choices": chosen, "dates": dates}


def _pooled_over(tree: xr.DataTree, drawn: xr.DataArray) -> dict[str, list[float]]:
    """Return the weights of the rivals on which values depend; nothing where there are none, or not of all."""
    rivals = attribute(tree, "rivals") if "rivals" in tree.attrs else {}
    beside = {name for key in ("definitions", "sweep") if key in tree.attrs for name in attribute(tree, key)}
    touched = [str(d) for d in drawn.dims if d not in ("draw", "date") and d not in beside]
    return {d: rivals[d] for d in touched} if touched and all(d in rivals for d in touched) else {}


def first_answers(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return which of several questions' dates comes first, in every combination of choices.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``choices``, ``first``: each question with the probability that its date comes before
        those of all others; ``together`` (several of them on the same first date, as where more than one is so
        already) and ``none`` (none by the last step). None where one of them failed.
    """
    asked = attribute(tree, "first") if "first" in tree.attrs else {}
    return [row for name, each in asked.items() for row in _first(tree, name, each)]


def _first(tree: xr.DataTree, name: str, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    events = asked["first"]
    for chosen, shares in _counted(tree, name) if "first" in tree else _compared(tree, events):
        plain = [None if np.isnan(each) else float(each) for each in shares]
        first = dict(zip(events, plain[:-2], strict=True))
        about = {"name": name, "title": asked["title"], "choices": chosen}
        yield {**about, "first": first, "together": plain[-2], "none": plain[-1]}


def _counted(tree: xr.DataTree, name: str) -> Iterator[tuple[dict[str, str], NDArray[np.float64]]]:
    data = tree["first"].to_dataset()[name]
    yield from ((chosen, each.values) for chosen, each in combinations(data, (f"{name}_event",)))


def _compared(tree: xr.DataTree, events: list[str]) -> Iterator[tuple[dict[str, str], NDArray[np.float64]]]:
    """Compare the dates of every world."""
    data, weights = tree["questions"].to_dataset(), weights_of(tree)
    dated = [data[f"{each}_date"].reset_coords(drop=True) for each in events]
    whole = xr.concat(xr.broadcast(*dated), dim="event")
    failing = [failing_of(data, each) for each in events]
    for chosen, dates in combinations(whole, ("event", "draw")):
        failed = any(_failed(data[f"{each}_never"], chosen) for each in events)
        left_out = np.zeros(dates.sizes["draw"], dtype=bool)
        for own in failing:
            left_out |= own.sel({d: v for d, v in chosen.items() if d in own.dims}).values
        stamps = dates.transpose("event", "draw").values
        years = np.where(np.isnat(stamps), np.inf, stamps.astype("datetime64[s]").astype(float))
        shares = [float(weighted_share(holds, select(weights, chosen), left_out)) for holds in earliest(years)]
        yield chosen, np.full(len(shares), np.nan) if failed else np.array(shares)


def _failed(never: xr.DataArray, chosen: dict[str, str]) -> bool:
    return bool(np.isnan(never.sel({d: v for d, v in chosen.items() if d in never.dims}).values).any())


def race(tree: xr.DataTree, name: str) -> tuple[dict[str, str], dict[str, str]] | None:
    """Return what comes first under the first definitions, pooled over rivals by their weights; None where it failed.

    Returns
    -------
    (dict, dict)
        The definitions, and the probability of each question in words, the likeliest first; then of several on one
        date, where there is such a world, and of none.
    """
    answered = [row for row in first_answers(tree) if row["name"] == name and row["none"] is not None]
    if not answered:
        return None
    beside = {each for key in ("definitions", "sweep") if key in tree.attrs for each in attribute(tree, key)}
    chosen = {choice: value for choice, value in answered[0]["choices"].items() if choice in beside}
    pooled: dict[tuple[str, ...], list[tuple[float, Mapping[str, float]]]] = {}
    for row in answered:
        if all(row["choices"][choice] == value for choice, value in chosen.items()):
            weight, free = _weighed(tree, {c: v for c, v in row["choices"].items() if c not in chosen})
            every = {**row["first"], "several at once": row["together"], "none": row["none"]}
            pooled.setdefault(free, []).append((weight, every))
    several = [_mean(rows) for rows in pooled.values() if sum(weight for weight, _ in rows) > 0]
    if not several:
        return None
    ends = {event: (min(each[event] for each in several), max(each[event] for each in several)) for event in several[0]}
    none, together = ends.pop("none"), ends.pop("several at once")
    order = sorted(ends.items(), key=lambda item: -sum(item[1]))
    told = {event: _percents(shares) for event, shares in order}
    return chosen, {
        **told,
        **({"several at once": _percents(together)} if together[1] else {}),
        "none": _percents(none),
    }


def _weighed(tree: xr.DataTree, chosen: Mapping[str, str]) -> tuple[float, tuple[str, ...]]:
    """Return the weight of these values of rivals, and those of choices that have none."""
    choices, rivals = attribute(tree, "choices"), attribute(tree, "rivals") if "rivals" in tree.attrs else {}
    weight = math.prod(rivals[c][choices[c].index(v)] for c, v in chosen.items() if c in rivals)
    return weight, tuple(value for choice, value in chosen.items() if choice not in rivals)


def _mean(rows: list[tuple[float, Mapping[str, float]]]) -> dict[str, float]:
    whole = sum(weight for weight, _ in rows)
    return {event: sum(weight * shares[event] for weight, shares in rows) / whole for event in rows[0][1]}


def _percents(shares: Ends) -> str:
    return " to ".join(dict.fromkeys(map(percent, shares)))


def sentence(tree: xr.DataTree, name: str) -> str:
    """Answer one of these questions in a sentence, under every combination of choices."""
    races = attribute(tree, "first") if "first" in tree.attrs else {}
    found = _first(tree, name, races[name]) if name in races else value_answers(tree)
    rows = [row for row in found if row["name"] == name]
    rows = [row for row in rows if "weights" in row] or rows
    title = rows[0]["title"] or rows[0].get("value") or _grown(rows[0]) or "What comes first"
    return f"{title}: {'; '.join(map(_said, rows))}."


def _grown(row: dict[str, Any]) -> str:
    return f"growth of {row['growth']}" if "growth" in row else ""


def _said(row: dict[str, Any]) -> str:
    given = ", ".join(f"{k} = {v}" for k, v in row["choices"].items())
    given += f"{', ' if given else ''}pooled over {' × '.join(row['weights'])}" if "weights" in row else ""
    given = f"{given}: " if given else ""
    if "first" in row:
        if row["none"] is None:
            return f"{given}failed"
        parts = [f"{name} first in {part:.0%}" for name, part in row["first"].items()]
        parts += [f"together in {row['together']:.0%}"] if row["together"] else []
        return f"{given}{', '.join(parts)}, none in {row['none']:.0%} of the draws"
    unit = f" {row['unit']}" if row["unit"] else ""
    told = [
        f"failed by {each['date']}"
        if each["p50"] is None
        else f"{each['p50']:.3g}{unit} on {each['date']} (90 %: {_end(each['p05'])} to {_end(each['p95'])})"
        for each in row["dates"]
    ]
    return given + ", ".join(told)


def _end(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
