"""What the page of an answer holds, as plain data: what a reader reads, and what the script draws from."""

from __future__ import annotations

import base64
import functools
import itertools
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from forecast.base.dates import decimal_year
from forecast.base.lazy import xr
from forecast.errors import ForecastError
from forecast.report import result_data
from forecast.report.answer_distributions import ReportedAnswer, ReportedValue
from forecast.report.brief import MOST_ORDERS, Group, brief
from forecast.report.headline import (
    MOST_NAMED,
    MOST_SAID,
    Words,
    changed,
    contestant,
    dates_of,
    event,
    headline,
    opening,
)
from forecast.report.page.appendices import Called, about, appendices, foreign
from forecast.report.page.draw_encoding import EncodedDraws
from forecast.report.page.tornado_data import moves
from forecast.report.plain_data import attribute
from forecast.report.words.number_text import amount, percent, scale_of

__all__ = ["answer", "contents", "scales"]


def contents(tree: xr.DataTree, worlds: EncodedDraws, toml: str = "", given: str = "") -> dict[str, Any]:
    """Return what the page says, for its template.

    Parameters
    ----------
    tree : xarray.DataTree
    worlds : EncodedDraws
    toml : str
        The scenario that repeats the answer.
    given : str
        What it is conditioned on, in words.
    """
    short = brief(tree)
    called = Called(tree)
    short = replace(short, sentence=f"{_given(given)}{short.sentence}")
    return {
        "title": foreign(attribute(tree, "title") or attribute(tree, "scenario")),
        "brief": short,
        "groups": [(group, _ranked(group)) for group in short.groups if group.rows],
        "replaced": _steered(tree, worlds),
        "races": [_race(tree, race) for race in _races(tree, Words(tree))],
        "moves": (moved := moves(tree, worlds)),
        "named": {row.name: called(row.name)[:2] for row in moved.rows},
        "figure": _figure(tree),
        **about(tree, worlds),
        **appendices(tree, toml),
        "percent": percent,
        "version": attribute(tree, "versions")["lawcast"],
    }


def _steered(tree: xr.DataTree, worlds: EncodedDraws) -> bool:
    """Tell whether the script answers what the sentence says."""
    name, kind = opening(tree)
    return name in worlds.orders if kind == "rank" else kind != ""


def _ranked(group: Group) -> bool:
    """Tell whether rows are an order, which begins with its title."""
    return group.rows[0].spread is None and not group.rows[0].text


def _given(conditions: str) -> str:
    return f"Given {foreign(conditions)}: " if conditions else ""


def _figure(tree: xr.DataTree) -> str:
    """Return the figure of the answer as the address of an image; nothing where there is nothing to draw."""
    from forecast.report.figures import plot

    with tempfile.TemporaryDirectory() as folder:
        try:
            image = plot(tree, Path(folder) / "figure.png").read_bytes()
        except ForecastError:
            return ""
    return f"data:image/png;base64,{base64.b64encode(image).decode('ascii')}"


def _race(tree: xr.DataTree, race: Mapping[str, Any]) -> dict[str, Any]:
    """Return what comes first under the first values of all choices: rivals are pooled by the script alone."""
    words = Words(tree)
    row = next(row for row in result_data.first_answers(tree) if row["name"] == race["name"])
    told = [(event(tree, name, {}, words), share) for name, share in row["first"].items()]
    told += [("several together", row["together"]), ("none", row["none"])]
    given = words.given(row["choices"])
    return {"title": f"{race['title']}{f' ({given})' if given else ''}", "rows": told}


# --- What the script draws from ---------------------------------------------------------------------------------------


def answer(tree: xr.DataTree, worlds: EncodedDraws, given: str = "") -> dict[str, Any]:
    """Return what the script draws from: the worlds, and what everything in them is called.

    ``lawcast.show`` of the page takes it as it is.
    """
    words = Words(tree)
    name, kind = opening(tree)
    packed = worlds.packed()
    first, last = dates_of(tree)
    inputs, called = [], Called(tree)
    for key, drawn in packed.pop("inputs").items():
        label, of, unit, source = called(key)
        inputs.append(
            {"name": key, "label": label, "of": of, "source": source, "scales": scales(unit), **_shorter(drawn)}
            | ({"labels": [words(each) for each in worlds.labels[key]]} if key in worlds.labels else {})
        )
    asked = [
        _asked(tree, words, worlds.asked[each, 0]) | {"sides": worlds.sides(each)} | codes
        for each, codes in packed["questions"].items()
    ]
    figures = []
    for each in packed["values"]:
        each |= _asked(tree, words, worlds.asked[each["name"], each["place"]])
        each |= {"sides": worlds.sides(each["name"]), "scales": scales(each["unit"])}
        figures.append(_shorter(each))
    packed.pop("questions")
    packed.pop("values")
    return {
        **packed,
        "given": _given(given),
        "sentence": f"{_given(given)}{headline(tree)}",
        "changed": changed(tree, words),
        "opens": {"name": name, "kind": kind},
        "start": first,
        "until": last,
        "choices": list(_choices(tree, words)),
        "inputs": inputs,
        "questions": asked,
        "firsts": list(_races(tree, words)),
        "orders": [_shorter(_ordered(tree, words, each)) for each in packed.pop("orders")],
        "most_orders": MOST_ORDERS,
        "most_said": MOST_SAID,
        "most_named": MOST_NAMED,
        "values": figures,
        "paths": list(_paths(tree, words, packed.pop("paths"))),
    }


def _paths(tree: xr.DataTree, words: Words, packed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Walk the quantities over time, with what makes those of one dimension comparable."""
    from forecast import units

    for name, codes in packed.items():
        unit = codes["unit"]
        base = next(each["unit"] for each in packed.values() if units.same_dimension(each["unit"], unit))
        about = {"label": words(name), "scales": scales(unit), "points": _points(tree, name)}
        about["past"] = list(_past(tree, name))
        scale = {"dimension": base, "factor": float(units.convert(np.array([1.0]), unit, base)[0])}
        yield _shorter({"name": name, **about, **scale, **codes})


def _choices(tree: xr.DataTree, words: Words) -> Iterator[dict[str, Any]]:
    """Walk the choices: those that stand side by side, those that are pooled, and those that nobody has weighed."""
    definitions = attribute(tree, "definitions") if "definitions" in tree.attrs else []
    swept = attribute(tree, "sweep") if "sweep" in tree.attrs else {}
    rivals = attribute(tree, "rivals") if "rivals" in tree.attrs else {}
    for name, values in attribute(tree, "choices").items():
        kind = "open" if name in swept else "definition" if name in definitions else "open"
        told = {"name": name, "label": words(name), "values": [{"name": v, "label": words(v)} for v in values]}
        if name in rivals and kind == "open" and name not in swept:
            yield {**told, "kind": "rival", "weights": rivals[name]}
        else:
            yield {**told, "kind": kind}


def _asked(tree: xr.DataTree, words: Words, asked: ReportedAnswer) -> dict[str, Any]:
    """Return what is asked: its sentence under every combination of the definitions, and which rivals are pooled."""
    own = list(asked.default)
    combinations = itertools.product(*(asked.values(d) for d in own))
    chosen = [dict(zip(own, values, strict=True)) for values in combinations]
    if isinstance(asked, ReportedValue):
        stated = attribute(tree, "values")[asked.name]
        date = stated["dates"][asked.place]
        title = stated["title"] or stated.get("value") or f"growth of {stated.get('growth')}"
        told = [_valued(words, title, each) for each in chosen]
        on = date[:4] if date.endswith("-01-01") else date
        more = {"on": on, "last": asked.place == len(stated["dates"]) - 1}
    else:
        told = [event(tree, asked.name, each, words) for each in chosen]
        more = {"short": event(tree, asked.name, {}, words), **_threshold(tree, asked.name)}
    return {"name": asked.name, "own": own, "said": told, "rivals": list(asked.rivals), **more}


def _races(tree: xr.DataTree, words: Words) -> Iterator[dict[str, Any]]:
    """Walk what is asked to come first, with the questions of each."""
    for name, asked in (attribute(tree, "first") if "first" in tree.attrs else {}).items():
        title = asked["title"] or "what comes first"
        yield {
            "name": name,
            "title": words.title(title, {}),
            "stated": foreign(title),
            "events": asked["first"],
            "labels": [contestant(tree, each, words) for each in asked["first"]],
        }


def _ordered(tree: xr.DataTree, words: Words, packed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ranking with its titles under every combination of its other choices."""
    asked, choices = attribute(tree, "rankings")[packed["name"]], attribute(tree, "choices")
    title = asked["title"] or f"the {asked['best']} {asked['rank']}"
    combinations = itertools.product(*(choices[dim] for dim in packed["dims"]))
    chosen = [dict(zip(packed["dims"], values, strict=True)) for values in combinations]
    return {
        **packed,
        "short": words.title(words.short(packed["name"], title), {}),
        "said": [words.title(title, each) for each in chosen],
        "given": [words.given(each) for each in chosen],
        "lowest": asked["best"] == "lowest",
        "meets": foreign(" and ".join(asked["among"]) or "what is asked"),
        "scales": scales(packed["values"]["unit"], together=True),
    }


def _threshold(tree: xr.DataTree, question: str) -> dict[str, Any]:
    """Return the number that a question compares one quantity with, in the unit of the quantity."""
    from forecast import units
    from forecast.formula import Measured, Name, Number, parse_condition

    when = parse_condition(re.sub("[{}]", "", attribute(tree, "questions")[question]["when"]))
    for of, other in ((when.left.root, when.right.root), (when.right.root, when.left.root)):
        if isinstance(of, Name) and isinstance(other, (Measured, Number)):
            known = tree["projection"].to_dataset()
            unit = other.unit if isinstance(other, Measured) else ""
            if of.name in known and units.same_dimension(unit, known[of.name].attrs["units"]):
                value = units.convert(np.array([other.value]), unit, known[of.name].attrs["units"])
                return {"threshold": {"of": of.name, "value": float(value[0])}}
    return {}


def _valued(words: Words, title: str, chosen: Mapping[str, str]) -> str:
    rest = {c: v for c, v in chosen.items() if f"{{{c}}}" not in title}
    return f"{words.title(title, chosen)}{f' ({words.given(rest)})' if rest else ''}"


def _points(tree: xr.DataTree, name: str) -> list[list[Any]]:
    """Return the data behind a quantity: decimal year, value, and the choices that it belongs to."""
    if f"/observed/{name}" not in tree.groups:
        return []
    data = tree[f"observed/{name}"].to_dataset()
    marks = [str(c) for c in data.coords if c != "date" and data[c].dims == ("point",)]
    years = decimal_year(data["date"].values)
    return [
        [
            round(float(year), 3),
            float(f"{value:.5g}"),
            {mark: str(data[mark].values[i]) for mark in marks},
        ]
        for i, (year, value) in enumerate(zip(years, data["value"].values, strict=True))
    ]


def _past(tree: xr.DataTree, name: str) -> Iterator[list[Any]]:
    """Walk the fitted past of a quantity as it is drawn: decimal year, quantiles, and the choices it belongs to."""
    if f"/past/{name}" not in tree.groups:
        return
    data = tree[f"past/{name}"].to_dataset()
    marks = [str(c) for c in data.coords if c != "date" and data[c].dims == ("point",)]
    before: list[Any] = []
    for place, year in enumerate(decimal_year(data["date"].values)):
        level = [float(f"{each:.5g}") for each in data["level"].values[:, place]]
        row = [round(float(year), 3), level, {mark: str(data[mark].values[place]) for mark in marks}]
        if before and before[2] == row[2] and data["level"].attrs["keeps"] == "frontier":
            yield [row[0], *before[1:]]  # a record stands until the next
        yield row
        before = row


@functools.cache
def scales(unit: str, *, together: bool = False) -> list[list[Any]]:
    """Return at what sizes a unit changes its name, what it is then worth and called: for whoever writes numbers.

    Parameters
    ----------
    unit : str
    together : bool
        Several numbers stand under one name of the unit, which is that of the middle one.

    Examples
    --------
    >>> scales("USD")[:3]
    [[0.0, 0.01, 'cents'], [1.0, 1.0, 'USD'], [1000000.0, 1000000.0, 'million USD']]
    """
    out: list[list[Any]] = []
    for power in range(-12, 31):
        size = 10.0**power
        if together:
            factor, called = scale_of([2 * size], unit)
        else:
            number, _, called = amount(2 * size, unit).partition(" ")
            factor = float(f"{2 * size / float(number.replace(',', '')):.3g}")
        if not out or [factor, called] != out[-1][1:]:
            out.append([size if out else 0.0, factor, called])
    return out


def _shorter(record: Any) -> Any:
    """Round numbers to what codes of 16 bits can tell."""
    if isinstance(record, float):
        return float(f"{record:.7g}")
    if isinstance(record, dict):
        return {key: _shorter(each) for key, each in record.items()}
    if isinstance(record, list):
        return [_shorter(each) for each in record]
    return record
