"""What stands around and behind an answer on its page: warnings and ages, assumptions, models, data, provenance."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import numpy as np

from forecast.base.json_text import strict_json, to_json
from forecast.base.warning_lines import warning_lines
from forecast.contract.registry import get_registry
from forecast.errors import ForecastError, ForecastWarning, printable
from forecast.projection.result import Projection
from forecast.report import result_data
from forecast.report.brief import past_record
from forecast.report.headline import Labels, name_in_words
from forecast.report.page.draw_encoding import MAX_PAGE_CONTESTANTS, MAX_PAGE_DATES, EncodedDraws, shorter
from forecast.report.words.number_text import amount, format_number

#: Rows of data that are listed for one quantity, the newest; and characters of any text from outside.
_MAX_DATA_ROWS, _MAX_APPENDIX_TEXT = 120, 2000
#: A formula or a setting, and a name that programs read: ``brain/pooled``, ``firing_rate``.
_FORMULA = re.compile(r"^[\w/@.-]+ = |--set |[\w)]\*[\w(]", re.ASCII)
_NAME_IN_TEXT = re.compile(r"(?<![\w./=-])(?:[a-z]+/|[a-z]\w*?[-_])[a-z0-9][a-z0-9_-]*(?:@[a-z0-9-]+)?(?![\w/=.-]\w)")
#: An assumption as a model states it: ``firing_rate [1/s]: lognormal, p05 = 50 (source)``.
_ASSUMPTION_PATTERN = re.compile(r"(?P<name>\w+) \[(?P<unit>[^\]]*)\]: (?P<text>.*)", re.ASCII | re.DOTALL)


def about(run: Projection, worlds: EncodedDraws) -> dict[str, Any]:
    """Return what stands below an answer: how old its data are, how such forecasts have done, and warnings."""
    warnings: list[ForecastWarning | str] = [*run.failures, *run.warnings]
    prose = _Prose(run)
    return {
        "newest": result_data.newest_data(run),
        "past": past_record(run),
        "warnings": [prose(text) for text in warnings],
        "grouped": [prose(text) for text in warning_lines(warnings)],
        "worlds": worlds,
        "most_dates": MAX_PAGE_DATES,
        "most_contestants": MAX_PAGE_CONTESTANTS,
    }


def appendices(run: Projection, toml: str) -> dict[str, Any]:
    """Return what stands behind an answer.

    Parameters
    ----------
    run : Projection
    toml : str
        The scenario that repeats the answer.
    """
    return {
        "models": list(_model_rows(run)),
        "inputs": list(_assumption_rows(run)),
        "observed": list(_observation_rows(run)),
        "tables": list(_table_rows(run)),
        "facts": _repeat_facts(run),
        "repeat": command(run),
        "record": _escape_element(to_json(shorter(_answer_record(run)))),
        "toml": _escape_element(toml),
    }


def _escape_element(text: str) -> str:
    """Escape text for the inside of an element, where its quotes may stay: of thousands, they double the page."""
    return escape(text, quote=False)


def foreign(text: object) -> str:
    """Return text from outside as one line."""
    return printable(text, _MAX_APPENDIX_TEXT)


class AssumptionLabels:
    """What assumptions are called, whose they are, and what is stated of them.

    Parameters
    ----------
    run : Projection
    """

    def __init__(self, run: Projection) -> None:
        self._words, self._levels, self._models = Labels(run), run.worlds.data_vars, run.models
        self._levers, self._prose = {each.name: foreign(each.label) for each in run.levers}, _Prose(run)

    def __call__(self, name: str) -> tuple[str, str, str, str]:
        """Return what an assumption is called, whose it is, its unit, and what is stated of it with its source."""
        label, of = self._words.number(name)
        label = self._levers.get(name, label)
        if name in self._levels:
            about = self._levels[name].attrs
            return label, "", str(about["units"]), self._prose(about.get("long_name", ""))
        model, _, own = name.rpartition(".")
        record = self._models.get(model, {"assumptions": [], "sources": []})
        matches = filter(None, map(_ASSUMPTION_PATTERN.fullmatch, record["assumptions"]))
        found = next((each for each in matches if each["name"] == own), None)
        unit = "" if found is None or found["unit"] == "dimensionless" else found["unit"]
        text = found["text"] if found is not None else "; ".join(record["sources"])
        return label, of, unit, self._prose(text)


def _model_rows(run: Projection) -> Iterator[dict[str, Any]]:
    words, prose = Labels(run), _Prose(run)
    for name, record in run.models.items():
        yield {
            "id": foreign(name),
            "title": words.model(name, whole=True),
            "summary": prose(record["summary"]),
            "assumptions": [
                (prose(text).replace(" [dimensionless]", ""), _FORMULA.search(text) is not None)
                for text in record["assumptions"]
            ],
            "sources": [prose(text) for text in record["sources"]],
            "facts": [(name_in_words(key), format_number(value, 3)) for key, value in record["facts"].items()],
        }


class _Prose:
    """Write names of models, shapes and tables in foreign text in words; formulas and settings stay as they are."""

    def __init__(self, run: Projection) -> None:
        self._words = Labels(run)
        self._names = {name.rpartition(".")[2] for name in (*run.uncertain, *run.quantities, *run.choices)}
        for kind in ("law", "model", "scenario", "shape", "table"):
            self._names |= {each for name in get_registry().names(kind) for each in (name, name.rpartition("/")[2])}

    def __call__(self, text: object) -> str:
        def named(found: re.Match[str]) -> str:
            own, _, shape = found[0].partition("@")
            words = [self._words(own.rpartition("/")[2]), *([self._words(shape)] if shape else [])]
            return ", ".join(words) if own in self._names else found[0]

        return foreign(text if _FORMULA.search(str(text)) else _NAME_IN_TEXT.sub(named, str(text)))


def _assumption_rows(run: Projection) -> Iterator[dict[str, str]]:
    """Walk every assumption of the projection, those that are one number among them, with what it is and whence."""
    called = AssumptionLabels(run)
    for name, draws in run.uncertain.items():
        label, of, unit, text = called(name)
        low, middle, high = (amount(float(q), unit) for q in np.quantile(np.nan_to_num(draws), [0.05, 0.5, 0.95]))
        span = middle if low == high else f"{middle} ({low} to {high})"
        yield {"label": label, "of": of, "value": span, "source": text}


def _observation_rows(run: Projection) -> Iterator[dict[str, Any]]:
    """Walk the data that quantities were fitted to, the newest rows first."""
    words = Labels(run)
    for name, data in run.groups_in("observed"):
        unit = str(data["value"].attrs["units"])
        order = np.argsort(data["date"].values, kind="stable")[::-1]
        marks = [str(c) for c in data.coords if c != "date" and data[c].dims == ("point",)]
        rows = [
            {
                "date": str(data["date"].values[i].astype("datetime64[D]")),
                "value": amount(float(data["value"].values[i]), unit, 4),
                "of": ", ".join(words(str(data[mark].values[i])) for mark in marks),
            }
            for i in order[:_MAX_DATA_ROWS]
        ]
        yield {"name": words(name), "rows": rows, "more": len(order) - len(rows), "marked": bool(marks)}


def _table_rows(run: Projection) -> Iterator[dict[str, Any]]:
    """Walk the tables and files behind the answer, with their citations where they are installed."""
    from forecast import tables

    dates = run.newest
    for name, digest in run.data.items():
        described: Mapping[str, str] = {}
        if "/" in name:
            with contextlib.suppress(ForecastError):  # it may have been made where other tables are installed
                described = tables.look(name).attrs
        row: dict[str, Any] = {key: foreign(described.get(key, "")) for key in ("title", "version")}
        row["title"] = row["title"] or name_in_words(name.rpartition("/")[2])
        for key in ("sources", "licenses"):
            row[key] = [_link(each) for each in strict_json(described.get(key, "[]"), where="table")]
        yield {"id": foreign(name), "hash": foreign(digest), "newest": dates.get(name, ""), **row}


def _link(record: Mapping[str, str]) -> dict[str, str]:
    """Return a source with its address, where that is one of the web."""
    path = str(record.get("path", ""))
    web = re.fullmatch(r"https?://[^\s\"'<>]+", path) is not None
    return {"title": foreign(record.get("title") or record.get("name") or path), "path": path if web else ""}


def _repeat_facts(run: Projection) -> list[tuple[str, str]]:
    """Return what it takes to repeat the answer."""
    settings, record = run.settings, run.provenance
    facts: list[tuple[str, Any]] = [("data", line) for line in run.read]
    facts += [("scenario", run.scenario), ("hash of the scenario", record["scenario_hash"])]
    facts += [(key, settings.plain[key]) for key in ("seed", "draws", "start", "until", "step")]
    facts += [] if settings.as_of is None else [("as of", settings.as_of)]
    facts.append(("versions", ", ".join(f"{k} {v}" for k, v in record["versions"].items())))
    facts.append(("plugins", ", ".join(f"{p['name']} {p['version']}" for p in record["plugins"])))
    return [(name, foreign(value)) for name, value in facts if value not in ("", None)]


def command(run: Projection) -> str:
    """Return the command that repeats the answer from the scenario in a file."""
    from forecast.scenarios.quantities.changes import as_phrase
    from forecast.scenarios.settings.setting_values import as_text

    words, settings = ["forecast", "run", "scenario.toml"], run.settings
    for option, values in (("--set", settings.set), ("--swap", settings.swap)):
        for name, value in values.items():
            text = value if isinstance(value, str) else as_text({name: value})[0].partition(" = ")[2]
            words += [option, f"{name}={text}"]
    for change in settings.changes:
        words += ["--what-if", as_phrase(change)]
    for key in ("until", "start", "step", "draws", "seed"):
        words += [f"--{key}", str(settings.plain[key])]
    return printable(shlex.join(words), _MAX_APPENDIX_TEXT)


def _answer_record(run: Projection) -> dict[str, Any]:
    """Return the answer as plain data, without quantities step by step: these make a file."""
    record = result_data.projection_data(run, only=())
    bounds = [{k: v for k, v in row.items() if k not in ("time", "binds")} for row in record.get("limits", ())]
    parts = ("headline", "answer", "questions", "pooled", "drivers", "rankings", "values", "first")
    out = {key: record[key] for key in parts if key in record}
    return {**out, "limits": bounds, "provenance": run.provenance}
