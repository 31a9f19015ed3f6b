"""A projection as plain data and one plain sentence. Works on a fresh projection and on one loaded from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.dates import decimal_year, from_decimal_year
from forecast.errors import printable
from forecast.projection.answers import pooling
from forecast.projection.crossing import QUANTILES, date_quantiles, weighted_quantiles
from forecast.projection.failing import too_many
from forecast.projection.weights import along, effective, failing_of, level_quantiles, share, spread, weights_of
from forecast.report.asked import figures, firsts
from forecast.report.asked import sentence as asked_sentence
from forecast.report.limits import limits
from forecast.report.limits import sentence as limit_sentence
from forecast.report.plain import attribute, combinations, iso, numbers
from forecast.report.rankings import rankings
from forecast.report.rankings import sentence as ranking_sentence
from forecast.scenarios.quantities.changes import spoken
from forecast.scenarios.settings import said

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

__all__ = [
    "asked_sentence",
    "attribute",
    "combinations",
    "drivers",
    "failing",
    "figures",
    "firsts",
    "headline",
    "hindcast",
    "limit_sentence",
    "limits",
    "pooled",
    "quantities",
    "questions",
    "rankings",
    "regimes",
    "swept",
    "updates",
    "warnings",
]

#: So many of what fails in some worlds are named in the warning.
_MOST_FAILING = 3


def questions(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return every question in every combination of choices.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``when``, ``choices``, and ``crossing``: ISO dates ``p05`` to ``p95`` (None inside the
        never mass), and the probabilities ``already`` and ``never``. An unanswered one has None throughout. Where dates
        were asked about also ``dates``: each ``date`` with the ``probability`` that it is so by then.
    """
    data, weights = tree["questions"].to_dataset(), weights_of(tree)
    out = []
    for name, asked in attribute(tree, "questions").items():
        for chosen, dates in combinations(data[name], ("quantile",)):
            crossing: dict[str, Any] = dict(zip(QUANTILES, map(iso, dates.values), strict=True))
            for mass in ("never", "already"):
                probability = float(data[f"{name}_{mass}"].sel(chosen))
                crossing[mass] = None if np.isnan(probability) else probability
            about = {"name": name, "title": asked["title"], "when": asked["when"]}
            row = {**about, "choices": chosen, "crossing": crossing}
            if "dates" in asked:
                reached, counts = data[f"{name}_date"].sel(chosen).values, along(weights, chosen)
                failing = failing_of(data, name).sel(chosen).values if crossing["never"] is not None else None
                row["dates"] = [_by(date, reached, counts, failing) for date in asked["dates"]]
            out.append(row)
    return out


def swept(tree: xr.DataTree) -> dict[str, list[str]]:
    """Return what is swept, with its values; it stands side by side as definitions do."""
    said: dict[str, list[str]] = attribute(tree, "sweep") if "sweep" in tree.attrs else {}
    return said


def pooled(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return each question's date over rivals that are pooled by their stated weights, for every definition.

    Returns
    -------
    list of dict
        As `questions`, with the weights by choice under ``weights``; of questions all of whose rivals have weights. A
        question that no rival touches is not repeated here.
    """
    rivals = attribute(tree, "rivals") if "rivals" in tree.attrs else {}
    definitions = [*(attribute(tree, "definitions") if "definitions" in tree.attrs else []), *swept(tree)]
    seed, data, counts, out = attribute(tree, "seed"), tree["questions"].to_dataset(), weights_of(tree), []
    for name, asked in attribute(tree, "questions").items():
        dates, never = data[f"{name}_date"], data[f"{name}_never"]
        touched = [str(d) for d in dates.dims if d != "draw" and d not in definitions]
        if not touched or any(rival not in rivals for rival in touched):
            continue
        stated = {rival: rivals[rival] for rival in touched}
        years = dates.copy(data=np.where(np.isnat(dates.values), np.inf, decimal_year(dates.values)))
        already = dates == tree["projection"].to_dataset()["time"].values[0]
        years = years.where(never.notnull() & ~failing_of(data, name))
        drawn, begun = pooling.pooled(years, stated, seed=seed), pooling.pooled(already, stated, seed=seed)
        # a likelihood weighs the worlds of each rival, and leaves the rivals' own weights as they are stated
        kept = None if counts is None else pooling.pooled(counts, stated, seed=seed)
        for chosen, worlds in combinations(drawn, ("draw",)):
            weight = along(kept, chosen)
            weight = None if weight is None else weight / weight.sum()
            dated, shares = worlds.values, list(QUANTILES.values())
            levels = date_quantiles(dated) if weight is None else weighted_quantiles(dated, weight, shares)
            failing = np.isnan(dated)
            failed = bool(failing.all()) or bool(too_many(failing.sum(), len(dated)))
            if failed:
                levels = np.full(len(QUANTILES), np.nan)
            crossing: dict[str, Any] = dict(zip(QUANTILES, map(_iso_year, levels), strict=True))
            crossing["never"] = None if failed else float(share(np.isposinf(dated), weight, failing))
            crossing["already"] = None if failed else float(share(begun.sel(chosen).values, weight, failing))
            about = {"name": name, "title": asked["title"], "when": asked["when"]}
            out.append({**about, "choices": chosen, "weights": stated, "crossing": crossing})
    return out


def _iso_year(year: float) -> str | None:
    return iso(from_decimal_year([year])[0]) if np.isfinite(year) else None


def _by(
    date: str,
    reached: NDArray[np.datetime64],
    weights: NDArray[np.float64] | None,
    failing: NDArray[np.bool_] | None,
) -> dict[str, Any]:
    is_so = reached <= np.datetime64(date, "s")  # NaT, never, is not by any date
    return {"date": date, "probability": None if failing is None else float(share(is_so, weights, failing))}


def drivers(tree: xr.DataTree, *, least: float = 0.02) -> list[dict[str, Any]]:
    """Return what moves each question's date: its ``name``, and ``drivers`` with a share of at least `least`."""
    from forecast.sensitivity.answers import drivers as moved

    asked = attribute(tree, "questions")
    return [{"name": q, "drivers": [d for d in moved(tree, q) if d["share"] >= least]} for q in asked]


def quantities(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return the quantiles of every quantity at every step, in every combination of choices; for `regimes` see there.

    Returns
    -------
    list of dict
        ``name``, ``unit``, ``choices``, ``time`` (ISO dates) and the lists ``p05`` to ``p95``.
    """
    data, weights = tree["projection"].to_dataset(), weights_of(tree)
    stamps = [iso(t) for t in data["time"].values]
    out = []
    for name, values in data.data_vars.items():
        if values.attrs["kind"] == "regime":
            continue
        for chosen, drawn in combinations(spread(values, weights), ("time", "draw")):
            levels = level_quantiles(drawn.transpose("draw", "time").values, along(weights, chosen))
            rows = dict(zip(QUANTILES, map(numbers, levels), strict=True))
            about = {"name": str(name), "unit": values.attrs["units"]}
            out.append({**about, "choices": chosen, "time": stamps, **rows})
    return out


def regimes(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return how likely each regime is, in every combination of the choices on which that depends.

    Returns
    -------
    list of dict
        ``name``, ``choices`` and ``shares``: each label with its share of the worlds.
    """
    data, weights = tree["projection"].to_dataset(), weights_of(tree)
    out = []
    for name, values in data.data_vars.items():
        if values.attrs["kind"] != "regime":
            continue
        labels = values.attrs["flag_meanings"].split()
        for chosen, drawn in combinations(spread(values, weights).isel(time=0), ("draw",)):
            counts = along(weights, chosen)
            shares = {label: float(share(drawn.values == code, counts)) for code, label in enumerate(labels)}
            out.append({"name": str(name), "choices": chosen, "shares": shares})
    return out


def updates(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return how many worlds are effective under what is known besides, in every combination on which that depends.

    Returns
    -------
    list of dict
        ``of`` (the quantities of which something is known), ``choices``, ``draws`` and ``effective``; empty where
        worlds count alike.
    """
    weights = weights_of(tree)
    if weights is None:
        return []
    about = {"of": list(attribute(tree, "update")), "draws": weights.sizes["draw"]}
    counts = weights.isel(draw=0).copy(data=effective(weights.values))
    rows = ((chosen, float(count)) for chosen, count in combinations(counts, ()))
    return [{**about, "choices": chosen, "effective": count if np.isfinite(count) else None} for chosen, count in rows]


def headline(tree: xr.DataTree) -> str:
    """Return the sentence that opens the answer: the first question's, and what was changed for it."""
    sentence = _headline(tree)
    if "opens" in tree.attrs:
        sentence = asked_sentence(tree, attribute(tree, "opens"))
    choices = attribute(tree, "choices")
    stated = {key: value for key, value in attribute(tree, "set").items() if key not in choices}
    changes = attribute(tree, "changes") if "changes" in tree.attrs else []
    swaps = attribute(tree, "swap") if "swap" in tree.attrs else {}
    changed = [*said({**stated, **swaps}), *(spoken(change) for change in changes)]
    return f"{sentence.removesuffix('.')}; with {printable(', '.join(changed), 1000)}." if changed else sentence


def _headline(tree: xr.DataTree) -> str:
    """Return the first question's sentence, over all combinations of choices."""
    asked = attribute(tree, "questions")
    if not asked and "rankings" in tree:
        return ranking_sentence(tree)
    if not asked:
        title = attribute(tree, "title") or attribute(tree, "scenario")
        mark = "" if title.endswith("?") else ":"
        return f"{title}{mark} No question is asked; the quantiles of every quantity follow."
    name, words = next(iter(asked.items()))
    event = words["title"] or f"'{words['when']}' holds"
    data = tree["questions"].to_dataset()
    rows = [row for row in questions(tree) if row["name"] == name and row["crossing"]["never"] is not None]
    first, last = (int(decimal_year(tree["projection"].to_dataset()["time"].values[i])) for i in (0, -1))
    if not rows:
        return f"It cannot be said when {event}: every combination of choices failed."
    if len(rows) == 1:
        return _one(event, rows[0], first, last)
    totals = [row for row in pooled(tree) if row["name"] == name and row["crossing"]["never"] is not None]
    if totals and not swept(tree):
        return _pooled(event, totals[0], first, last) + _moved_most(data, name, last)
    rows = totals or rows
    medians = [_year_or_word(r["crossing"], "p50", first, last) for r in rows]
    order = np.argsort([_rank(r["crossing"], "p50", first, last) for r in rows], kind="stable")
    never = [r["crossing"]["never"] for r in rows]
    low, high = medians[order[0]], medians[order[-1]]
    when = f"is {low}" if low == high else f"runs from {low} to {high}"
    sentence = (
        f"When {event}: the median date {when} over {len(rows)} combinations of "
        f"{' × '.join(rows[0]['choices'])}; the probability of never by {last} runs from {min(never):.1%} "
        f"to {max(never):.1%}"
        + (f", pooled over {' × '.join(totals[0]['weights'])} by their stated weights" if totals else "")
    )
    return sentence + _moved_most(data, name, last)


def _moved_most(data: xr.Dataset, name: str, last: int) -> str:
    """Say which choice moves a question's median most, at the end of a sentence."""
    moves = _what_moves(data[name], data[f"{name}_never"], last)
    top, years = max(moves.items(), key=lambda item: item[1], default=("", 0.0))
    return f"; the choice of {top} moves it most, by {years:.0f} years on average." if years >= 0.5 else "."


def hindcast(tree: xr.DataTree) -> str:
    """Say so where a projection starts before the last year of its observations; else nothing.

    Its first steps, and every date *already* reached at the first of them, then show the fit and not a forecast.
    """
    first = int(decimal_year(tree["projection"].to_dataset()["time"].values[0]))
    seen = [node.to_dataset()["date"].values.max() for node in tree["observed"].leaves] if "observed" in tree else []
    last = int(decimal_year(max(seen))) if seen else first
    if first >= last:
        return ""
    return f"hindcast: the projection starts in {first}, its data end in {last}; until then it shows the fit"


def failing(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return what fails in some worlds, at most 1 in 1,000, which are left out of its answers.

    Returns
    -------
    list of dict
        ``name`` (a quantity or a question), ``choices``, how many ``worlds``, the ``first`` date on which any of them
        fails, and the ``reason``, in the words of the first block of worlds.
    """
    return attribute(tree, "failing") if "failing" in tree.attrs else []


def _left_out(tree: xr.DataTree) -> str:
    """Say in one line which worlds are left out."""
    rows = failing(tree)
    if not rows:
        return ""
    told = [
        f"{row['name']}{_given(row['choices'])} fails in {row['worlds']:,}, from {row['first']} on"
        for row in rows[:_MOST_FAILING]
    ]
    more = [f"and {len(rows) - len(told)} more"] if len(rows) > len(told) else []
    draws = attribute(tree, "draws")
    return f"worlds that fail are left out, of {draws:,}: {'; '.join([*told, *more])}: {rows[0]['reason']}"


def _given(choices: Mapping[str, str]) -> str:
    return f" ({', '.join(f'{choice} = {value}' for choice, value in choices.items())})" if choices else ""


def warnings(tree: xr.DataTree) -> list[str]:
    """Return what a reader must be warned of: inputs outside a relation's data, worlds that fail, and a hindcast."""
    recorded = attribute(tree, "warnings") if "warnings" in tree.attrs else []
    return [*recorded, *filter(None, [_left_out(tree), hindcast(tree)])]


def _one(event: str, row: Mapping[str, Any], first: int, last: int) -> str:
    crossing = row["crossing"]
    if crossing["already"] >= 0.5:
        return f"It is already so at the first step ({first}) in {crossing['already']:.1%} of the draws that {event}."
    if crossing["p50"] is None:
        return f"More likely than not {event} never by {last} (probability of never: {crossing['never']:.1%})."
    low, middle, high = (_year_or_word(crossing, q, first, last) for q in ("p05", "p50", "p95"))
    return (
        f"In the median draw {event} in {middle} (90 %: {low} to {high}; "
        f"probability of never by {last}: {crossing['never']:.1%})."
    )


def _pooled(event: str, row: Mapping[str, Any], first: int, last: int) -> str:
    """Say the answer over pooled rivals, for the first of the definitions; without its full stop."""
    low, middle, high = (_year_or_word(row["crossing"], q, first, last) for q in ("p05", "p50", "p95"))
    defined = ", ".join(f"{choice} = {value}" for choice, value in row["choices"].items())
    over = " × ".join(row["weights"])
    return (
        f"When {event}{f', with {defined}' if defined else ''}: {middle} in the median world (90 %: {low} to {high}; "
        f"probability of never by {last}: {row['crossing']['never']:.1%}), pooled over {over} by their stated weights"
    )


def _year_or_word(crossing: Mapping[str, Any], quantile: str, first: int, last: int) -> str:
    if crossing[quantile] is None:
        return f"after {last}"
    if crossing["already"] >= QUANTILES[quantile]:
        return f"already ({first} or before)"
    return str(crossing[quantile])[:4]


def _rank(crossing: Mapping[str, Any], quantile: str, first: int, last: int) -> float:
    if crossing[quantile] is None:
        return float(last + 1)
    return float(decimal_year(np.datetime64(crossing[quantile], "s")))


def _what_moves(dates: xr.DataArray, never: xr.DataArray, last: int) -> dict[str, float]:
    """Return, for each choice, how far the median moves along it: its range, averaged over the other choices.

    A median inside the never mass counts as the horizon, so that these are lower bounds where there is one; a
    combination that failed does not count.
    """
    median = dates.sel(quantile=0.5)
    years = decimal_year(median.values)
    years = np.where(np.isnan(years), float(last), years)
    answered = never.notnull().values
    top, bottom = np.where(answered, years, -np.inf), np.where(answered, years, np.inf)
    moves = {}
    for axis, dim in enumerate(median.dims):
        spread = top.max(axis=axis) - bottom.min(axis=axis)
        if median.sizes[dim] > 1 and np.isfinite(spread).any():
            moves[str(dim)] = float(spread[np.isfinite(spread)].mean())
    return moves
