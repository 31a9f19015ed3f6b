"""A projection as plain data and one plain sentence. Works on a fresh projection and on one loaded from a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from forecast.base.dates import decimal_year
from forecast.base.lazy import xr
from forecast.projection.crossing import QUANTILES
from forecast.projection.source_tables import newest
from forecast.projection.weights import effective_sample_size, weights_of
from forecast.report.binding_text import limits, sentence as limit_sentence
from forecast.report.headline import Words
from forecast.report.plain_data import attribute, combinations, iso, numbers, places
from forecast.report.rankings import rankings
from forecast.report.value_quantiles import ValueQuantiles
from forecast.report.value_text import first_answers, sentence as asked_sentence, value_answers

__all__ = [
    "asked_sentence",
    "attribute",
    "combinations",
    "data_ages",
    "drivers",
    "failing",
    "first_answers",
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
    "value_answers",
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
    words = Words(tree)
    return [row for name, asked in attribute(tree, "questions").items() for row in _answers(data, name, asked, words)]


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
    out, asked, words = [], tree["questions"].to_dataset(), Words(tree)
    for name, stated in attribute(tree, "questions").items():
        if name in data:
            weights = {str(d): rivals[str(d)] for d in asked[f"{name}_never"].dims if d not in data[name].dims}
            out += [{**row, "weights": weights} for row in _answers(data, name, stated, words)]
    return out


def _answers(data: xr.Dataset, name: str, asked: Mapping[str, Any], words: Words) -> list[dict[str, Any]]:
    out, dims = [], [d for d in data[name].dims if d != "quantile"]
    parts = ("", "_never", "_already", "_error", *(["_by"] if "dates" in asked else []))
    values = {part: data[f"{name}{part}"].transpose(*dims, ...).values for part in parts}
    for chosen, place in places(data[name], ("quantile",)):
        crossing: dict[str, Any] = dict(zip(QUANTILES, map(iso, values[""][place]), strict=True))
        for part in ("never", "already"):
            crossing[part] = _plain(values[f"_{part}"][place])
        crossing["error"] = _plain(values["_error"][place][list(QUANTILES).index("p50")])
        about = {"name": name, "title": words.title(asked["title"], chosen), "when": asked["when"]}
        row = {**about, "choices": chosen, "crossing": crossing}
        if "dates" in asked:
            row["dates"] = [
                {"date": date, "probability": _plain(p)}
                for date, p in zip(asked["dates"], values["_by"][place], strict=True)
            ]
        out.append(row)
    return out


def _plain(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def drivers(tree: xr.DataTree, *, least: float = 0.02, only: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return what moves each question's date: its ``name``, and ``drivers`` with a share of at least `least`.

    ``note`` says so where of what is drawn a number comes first that somebody stated, and no data were fitted to.
    """
    from forecast.sensitivity.of_answer import first_order as moved, uncertain

    asked, among, out = attribute(tree, "questions"), uncertain(tree), []
    for name in asked if only is None else only:
        told = [d for d in moved(tree, name, among=among) if d["share"] >= least]
        first = next((d["name"] for d in told if d["kind"] == "number"), "")
        note = _stated(tree, first) if first else ""
        out.append({"name": name, "drivers": told, **({"note": note} if note else {})})
    return out


def _stated(tree: xr.DataTree, number: str) -> str:
    """Say of an uncertain number that it is stated, with its range and source; nothing of one that is fitted."""
    kind = tree["projection"].to_dataset()[number].attrs["kind"] if number in tree["projection"] else ""
    if kind == "regime":
        return f"of what is drawn '{number}' comes first, whose probabilities are stated and not measured"
    if kind == "prior":
        return f"of what is drawn '{number}' comes first, which the scenario states and no data were fitted to"
    owner, _, short = number.rpartition(".")
    lines = attribute(tree, "models").get(owner, {}).get("assumptions", ())
    said = next((line for line in lines if line.startswith(f"{short} [")), "")
    return f"of what is drawn '{number}' comes first, a number that is stated and not fitted: {said}" if said else ""


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
    levels = ValueQuantiles(tree)
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
    levels = ValueQuantiles(tree)
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
    counts = weights.isel(draw=0).copy(data=effective_sample_size(weights.values))
    rows = ((chosen, float(count)) for chosen, count in combinations(counts, ()))
    return [{**about, "choices": chosen, "effective": count if np.isfinite(count) else None} for chosen, count in rows]


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
