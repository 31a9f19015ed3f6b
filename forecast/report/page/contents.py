"""What the page of an answer holds, as plain data: what a reader reads, and what the script draws from."""

from __future__ import annotations

import base64
import contextlib
import functools
import itertools
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.dates import decimal_year
from forecast.base.json_text import to_json
from forecast.errors import ForecastError, printable
from forecast.report import summary
from forecast.report.brief import Group, brief
from forecast.report.headline import Words, dates_of, event, headline, opening
from forecast.report.page.moves import moves
from forecast.report.page.worlds import MOST_DATES, Worlds
from forecast.report.plain import attribute
from forecast.report.spreads import Asked, Figure
from forecast.report.words.numbers import amount, percent, plain

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["answer", "command", "contents", "scales"]

#: Rows of data that are listed for one quantity, the newest; and characters of any text from outside.
_MOST_ROWS, _LONG = 120, 2000
#: An assumption as a model states it: ``firing_rate [1/s]: lognormal, p05 = 50 (source)``.
_STATED = re.compile(r"(?P<name>\w+) \[(?P<unit>[^\]]*)\]: (?P<text>.*)", re.ASCII | re.DOTALL)


def contents(tree: xr.DataTree, worlds: Worlds, toml: str = "", given: str = "") -> dict[str, Any]:
    """Return what the page says, for its template.

    Parameters
    ----------
    tree : xarray.DataTree
    worlds : Worlds
    toml : str
        The scenario that repeats the answer.
    given : str
        What it is conditioned on, in words.
    """
    short = brief(tree)
    short = replace(short, sentence=f"{_given(given)}{short.sentence}")
    said = [*attribute(tree, "failures"), *summary.warnings(tree)]
    return {
        "title": _said(attribute(tree, "title") or attribute(tree, "scenario")),
        "brief": short,
        "groups": [(group, _ranked(group)) for group in short.groups if group.rows],
        "replaced": bool(_steered(tree)),
        "races": [_race(tree, race) for race in _races(tree, Words(tree))],
        "moves": (moved := moves(tree, worlds)),
        "named": {row.name: _about(tree, row.name)[:2] for row in moved.rows},
        "figure": _figure(tree),
        "worlds": worlds,
        "warnings": [_said(text) for text in said],
        "models": list(_models(tree)),
        "inputs": list(_inputs(tree)),
        "observed": list(_observed(tree)),
        "tables": list(_tables(tree)),
        "facts": _facts(tree),
        "repeat": command(tree),
        "record": _text(to_json(_record(tree), indent=1)),
        "toml": _text(toml),
        "percent": percent,
        "most_dates": MOST_DATES,
        "version": attribute(tree, "versions")["lawcast"],
    }


def _text(text: str) -> str:
    """Escape text for the inside of an element, where its quotes may stay: of thousands, they double the page."""
    return escape(text, quote=False)


def _steered(tree: xr.DataTree) -> bool:
    """Tell whether the script answers what the sentence says: a date or a value, and no order."""
    return opening(tree)[1] in ("when", "value")


def _ranked(group: Group) -> bool:
    """Tell whether rows are an order, which begins with its title."""
    return group.rows[0].spread is None and not group.rows[0].text


def _given(conditions: str) -> str:
    return f"Given {printable(conditions, _LONG)}: " if conditions else ""


def _said(text: object) -> str:
    return printable(text, _LONG)


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
    row = next(row for row in summary.firsts(tree) if row["name"] == race["name"])
    told = [(event(tree, name, {}, words), share) for name, share in row["first"].items()]
    told += [("several together", row["together"]), ("none", row["none"])]
    given = words.given(row["choices"])
    return {"title": f"{race['title']}{f' ({given})' if given else ''}", "rows": told}


# --- Appendices -------------------------------------------------------------------------------------------------------


def _models(tree: xr.DataTree) -> Iterator[dict[str, Any]]:
    for name, told in attribute(tree, "models").items():
        yield {
            "name": _said(name),
            "summary": _said(told["summary"]),
            "assumptions": [_said(text) for text in told["assumptions"]],
            "sources": [_said(text) for text in told["sources"]],
            "facts": [(_said(key), plain(value, 3)) for key, value in told["facts"].items()],
        }


def _about(tree: xr.DataTree, name: str) -> tuple[str, str, str, str]:
    """Return what an assumption is called, whose it is, its unit, and what is stated of it with its source."""
    words, projected = Words(tree), tree["projection"].to_dataset()
    if name in projected:
        return words(name), "", str(projected[name].attrs["units"]), str(projected[name].attrs.get("long_name", ""))
    model, _, own = name.rpartition(".")
    told = attribute(tree, "models").get(model, {"assumptions": [], "sources": []})
    stated = (found for text in told["assumptions"] if (found := _STATED.fullmatch(text)) is not None)
    found = next((each for each in stated if each["name"] == own), None)
    unit = "" if found is None or found["unit"] == "dimensionless" else found["unit"]
    text = found["text"] if found is not None else "; ".join(told["sources"])
    label = words(name) if words(name) != printable(name, 60) else printable(own.replace("_", " "), 60)
    return label, _said(model), unit, _said(text)


def _inputs(tree: xr.DataTree) -> Iterator[dict[str, str]]:
    """Walk every assumption of the projection, those that are one number among them, with what it is and whence."""
    for name, drawn in _every(tree):
        label, of, unit, text = _about(tree, name)
        low, middle, high = (amount(float(q), unit) for q in np.quantile(drawn, [0.05, 0.5, 0.95]))
        span = middle if low == high else f"{middle} ({low} to {high})"
        yield {"label": label, "of": of, "value": span, "source": text}


def _every(tree: xr.DataTree) -> Iterator[tuple[str, Any]]:
    from forecast.sensitivity.answers import uncertain

    for name, number in uncertain(tree).items():
        yield name, number.draws


def _observed(tree: xr.DataTree) -> Iterator[dict[str, Any]]:
    """Walk the data that quantities were fitted to, the newest rows first."""
    words = Words(tree)
    for node in tree["observed"].leaves if "observed" in tree else ():
        data = node.to_dataset()
        name, unit = node.path.rpartition("/")[2], str(data["value"].attrs["units"])
        order = np.argsort(data["date"].values, kind="stable")[::-1]
        marks = [str(c) for c in data.coords if c != "date" and data[c].dims == ("point",)]
        rows = [
            {
                "date": str(data["date"].values[i].astype("datetime64[D]")),
                "value": amount(float(data["value"].values[i]), unit, 4),
                "of": ", ".join(words(str(data[mark].values[i])) for mark in marks),
            }
            for i in order[:_MOST_ROWS]
        ]
        yield {"name": words(name), "rows": rows, "more": len(order) - len(rows), "marked": bool(marks)}


def _tables(tree: xr.DataTree) -> Iterator[dict[str, Any]]:
    """Walk the tables and files behind the answer, with their citations where they are installed."""
    from forecast import tables

    dates = summary.newest(tree)
    for name, digest in attribute(tree, "data").items():
        described: Mapping[str, str] = {}
        if "/" in name:
            with contextlib.suppress(ForecastError):  # it may have been made where other tables are installed
                described = tables.look(name).attrs
        told: dict[str, Any] = {key: _said(described.get(key, "")) for key in ("title", "version")}
        for key in ("sources", "licenses"):
            told[key] = [_link(each) for each in _listed(described.get(key, "[]"))]
        yield {"name": _said(name), "hash": _said(digest), "newest": dates.get(name, ""), **told}


def _listed(text: str) -> list[Mapping[str, str]]:
    from forecast.base.json_text import strict_json

    return list(strict_json(text, where="table"))


def _link(record: Mapping[str, str]) -> dict[str, str]:
    """Return a source with its address, where that is one of the web."""
    path = str(record.get("path", ""))
    web = re.fullmatch(r"https?://[^\s\"'<>]+", path) is not None
    return {"title": _said(record.get("title") or record.get("name") or path), "path": path if web else ""}


def _facts(tree: xr.DataTree) -> list[tuple[str, str]]:
    """Return what it takes to repeat the answer."""
    told = [("scenario", attribute(tree, "scenario")), ("hash of the scenario", attribute(tree, "scenario_hash"))]
    told += [(key, attribute(tree, key)) for key in ("seed", "draws", "start", "until", "step")]
    if attribute(tree, "as_of") is not None:
        told.append(("as of", attribute(tree, "as_of")))
    told.append(("versions", ", ".join(f"{k} {v}" for k, v in attribute(tree, "versions").items())))
    told.append(("plugins", ", ".join(f"{p['name']} {p['version']}" for p in attribute(tree, "plugins"))))
    return [(name, _said(value)) for name, value in told if value not in ("", None)]


def command(tree: xr.DataTree) -> str:
    """Return the command that repeats the answer from the scenario in a file."""
    from forecast.scenarios.quantities.changes import spoken
    from forecast.scenarios.settings import said

    words = ["forecast", "run", "scenario.toml"]
    for key, option in (("set", "--set"), ("swap", "--swap")):
        stated = attribute(tree, key) if key in tree.attrs else {}
        for name, value in stated.items():
            told = value if isinstance(value, str) else said({name: value})[0].partition(" = ")[2]
            words += [option, f"{name}={told}"]
    for change in attribute(tree, "changes") if "changes" in tree.attrs else []:
        words += ["--what-if", spoken(change)]
    for key in ("until", "start", "step"):
        words += [f"--{key}", str(attribute(tree, key))]
    words += ["--draws", str(attribute(tree, "draws")), "--seed", str(attribute(tree, "seed"))]
    return printable(shlex.join(words), _LONG)


def _record(tree: xr.DataTree) -> dict[str, Any]:
    """Return the answer as plain data, without quantities step by step: these make a file."""
    run = ("scenario", "scenario_hash", "seed", "draws", "start", "until", "step", "set")
    return {
        "headline": brief(tree).sentence,
        "questions": summary.questions(tree),
        "pooled": summary.pooled(tree),
        "drivers": summary.drivers(tree),
        "rankings": summary.rankings(tree),
        "values": summary.figures(tree),
        "first": summary.firsts(tree),
        "limits": [{k: v for k, v in row.items() if k not in ("time", "binds")} for row in summary.limits(tree)],
        "provenance": {key: attribute(tree, key) for key in (*run, "data", "versions", "plugins")},
    }


# --- What the script draws from ---------------------------------------------------------------------------------------


def answer(tree: xr.DataTree, worlds: Worlds, given: str = "") -> dict[str, Any]:
    """Return what the script draws from: the worlds, and what everything in them is called.

    ``lawcast.show`` of the page takes it as it is.
    """
    words = Words(tree)
    name, kind = opening(tree)
    packed = worlds.packed()
    first, last = dates_of(tree)
    inputs = []
    for key, drawn in packed.pop("inputs").items():
        label, of, unit, source = _about(tree, key)
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
        each |= _asked(tree, words, worlds.asked[each["name"], each["place"]]) | {"scales": scales(each["unit"])}
        figures.append(_shorter(each))
    packed.pop("questions")
    packed.pop("values")
    return {
        **packed,
        "given": _given(given),
        "sentence": f"{_given(given)}{headline(tree)}",
        "opens": {"name": name, "kind": kind},
        "start": first,
        "until": last,
        "choices": list(_choices(tree, words)),
        "inputs": inputs,
        "questions": asked,
        "firsts": list(_races(tree, words)),
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


def _asked(tree: xr.DataTree, words: Words, asked: Asked) -> dict[str, Any]:
    """Return what is asked: its sentence under every combination of the definitions, and which rivals are pooled."""
    own = list(asked.default)
    combinations = itertools.product(*(asked.values(d) for d in own))
    chosen = [dict(zip(own, values, strict=True)) for values in combinations]
    if isinstance(asked, Figure):
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
        title = words.title(asked["title"] or "what comes first", {})
        yield {"name": name, "title": title, "events": asked["first"]}


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
def scales(unit: str) -> list[list[Any]]:
    """Return at what sizes a unit changes its name, what it is then worth and called: for whoever writes numbers.

    Examples
    --------
    >>> scales("USD")[:3]
    [[0.0, 0.01, 'cents'], [1.0, 1.0, 'USD'], [1000000.0, 1000000.0, 'million USD']]
    """
    out: list[list[Any]] = []
    for power in range(-12, 31):
        size = 10.0**power
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
