"""A projection as plain data and one plain sentence. Works on a fresh projection and on one loaded from a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.dates import decimal_year
from forecast.errors import printable
from forecast.projection.crossing import QUANTILES
from forecast.projection.tables_behind import newest
from forecast.projection.weights import effective, weights_of
from forecast.report.asked import figures, firsts
from forecast.report.asked import sentence as asked_sentence
from forecast.report.levels import Levels
from forecast.report.limits import limits
from forecast.report.limits import sentence as limit_sentence
from forecast.report.plain import attribute, combinations, iso, numbers
from forecast.report.rankings import rankings
from forecast.report.rankings import sentence as ranking_sentence
from forecast.scenarios.quantities.changes import spoken
from forecast.scenarios.settings import said

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "asked_sentence",
    "attribute",
    "combinations",
    "data_ages",
    "drivers",
    "failing",
    "figures",
    "firsts",
    "headline",
    "hindcast",
    "limit_sentence",
    "limits",
    "newest",
    "pooled",
    "quantities",
    "questions",
    "rankings",
    "regimes",
    "swept",
    "updates",
    "warnings",
]

#: So many of what fails in some worlds are named in the warning, and so many tables in the line about their dates.
_MOST_FAILING, _MOST_TABLES = 3, 6


def questions(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return every question in every combination of choices.

    Returns
    -------
    list of dict
        ``name``, ``title``, ``when``, ``choices``, and ``crossing``: ISO dates ``p05`` to ``p95`` (None inside the
        never mass), the probabilities ``already`` and ``never``, and ``error``, the Monte Carlo error of the median in
        years (None where worlds are too few to tell, or it is never). An unanswered one has None throughout. Where
        dates were asked about also ``dates``: each ``date`` with the ``probability`` that it is so by then.
    """
    data = tree["questions"].to_dataset()
    return [row for name, asked in attribute(tree, "questions").items() for row in _answers(data, name, asked)]


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
    if "pooled" not in tree:
        return []
    data, rivals = tree["pooled"].to_dataset(), attribute(tree, "rivals")
    out, asked = [], tree["questions"].to_dataset()
    for name, stated in attribute(tree, "questions").items():
        if name in data:
            weights = {str(d): rivals[str(d)] for d in asked[f"{name}_never"].dims if d not in data[name].dims}
            out += [{**row, "weights": weights} for row in _answers(data, name, stated)]
    return out


def _answers(data: xr.Dataset, name: str, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    out = []
    for chosen, dates in combinations(data[name], ("quantile",)):
        crossing: dict[str, Any] = dict(zip(QUANTILES, map(iso, dates.values), strict=True))
        for part in ("never", "already"):
            crossing[part] = _plain(data[f"{name}_{part}"].sel(chosen).values)
        crossing["error"] = _plain(data[f"{name}_error"].sel(chosen).values[list(QUANTILES).index("p50")])
        row = {"name": name, "title": asked["title"], "when": asked["when"], "choices": chosen, "crossing": crossing}
        if "dates" in asked:
            shares = data[f"{name}_by"].sel(chosen).values
            row["dates"] = [
                {"date": date, "probability": _plain(p)} for date, p in zip(asked["dates"], shares, strict=True)
            ]
        out.append(row)
    return out


def _plain(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def drivers(tree: xr.DataTree, *, least: float = 0.02) -> list[dict[str, Any]]:
    """Return what moves each question's date: its ``name``, and ``drivers`` with a share of at least `least`."""
    from forecast.sensitivity.answers import drivers as moved
    from forecast.sensitivity.answers import uncertain

    asked, among = attribute(tree, "questions"), uncertain(tree)
    return [{"name": q, "drivers": [d for d in moved(tree, q, among=among) if d["share"] >= least]} for q in asked]


def quantities(tree: xr.DataTree, *, only: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return the quantiles of quantities at every step, in every combination of choices; for `regimes` see there.

    Parameters
    ----------
    tree : xarray.DataTree
    only : collection of str, optional
        Leave out all others.

    Returns
    -------
    list of dict
        ``name``, ``unit``, ``choices``, ``time`` (ISO dates) and the lists ``p05`` to ``p95``.
    """
    levels = Levels(tree)
    stamps, out = [iso(t) for t in levels.kept["time"].values], []
    for name in levels.names():
        for chosen in levels.cells(name) if only is None or name in only else ():
            rows = dict(zip(QUANTILES, map(numbers, levels.quantiles(name, chosen)), strict=True))
            about = {"name": name, "unit": levels.kept[name].attrs["units"]}
            out.append({**about, "choices": chosen, "time": stamps, **rows})
    return out


def regimes(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return how likely each regime is, in every combination of the choices on which that depends.

    Returns
    -------
    list of dict
        ``name``, ``choices`` and ``shares``: each label with its share of the worlds.
    """
    levels = Levels(tree)
    return [
        {"name": name, "choices": chosen, "shares": levels.shares(name, chosen)}
        for name in levels.names(regimes=True)
        for chosen in levels.cells(name)
    ]


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
    about = {"of": list(attribute(tree, "update")), "draws": attribute(tree, "draws")}
    if "levels" in tree:  # of worlds that are counted the least over the choices is known
        return [{**about, "choices": {}, "effective": attribute(tree, "effective_draws")}]
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
    rows = [row for row in _answers(data, name, words) if row["crossing"]["never"] is not None]
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


def data_ages(tree: xr.DataTree, today: str = "") -> str:
    """Say in one line how far the data behind a projection reach, the newest first; nothing where no date is known.

    Parameters
    ----------
    tree : xarray.DataTree
    today : str
        ISO; by it the line says how old each newest datum is. Without it the line says the same on every day.
    """
    found = sorted(newest(tree).items(), key=lambda item: item[1], reverse=True)
    told = [f"{name} {date}{_age(date, today)}" for name, date in found[:_MOST_TABLES]]
    more = [f"and {len(found) - len(told)} more, to {found[-1][1]}"] if len(found) > len(told) else []
    return f"newest data: {', '.join([*told, *more])}" if told else ""


def _age(date: str, today: str) -> str:
    if not today:
        return ""
    now, then = decimal_year(np.array([today, date], dtype="datetime64[s]"))
    return f" ({now - then:.1f} years old)" if now >= then else " (in the future)"


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
