"""What was said of statements that somebody decides, and how good it was: ours, packs', and that of public sites.

A statement is a threshold, a date, and the source that decides: two forecasts are of the same statement where these
three are the same, whoever made them. Ledgers hold what scenarios said; a table called ``public-questions``, which any
plugin may bring, holds what people said on public sites, one probability a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from forecast.contract.registry import Registry
from forecast.evaluation import ledger
from forecast.evaluation.ledger import SHORT_HASH_DIGITS
from forecast.evaluation.scores import mean_or_none
from forecast.evaluation.shared_questions import table_rows

PUBLIC_QUESTIONS_TABLE = "public-questions"
#: Public probabilities have three digits: for the logarithm they are no nearer to 0 and 1 than half of the last.
_MIN_PROBABILITY = 0.0005


class Statement(NamedTuple):
    """What somebody decides.

    Parameters
    ----------
    resolves : str
        The source that decides.
    threshold : str
        The side of the condition that is the same in every world, as a number and its unit.
    by : str
        The date, ISO.
    """

    resolves: str
    threshold: str
    by: str


def shipped_ledgers(registry: Registry) -> dict[str, Path]:
    """Return the ledgers that come with scenarios, by the full name of the scenario."""
    return {each.full_name: Path(each.spec.ledger) for each in registry.records("scenario") if each.spec.ledger}


# --- what was said ----------------------------------------------------------------------------------------------------


def statements(
    records: Sequence[Mapping[str, Any]], amount: Callable[[float, str], str] | None = None
) -> list[dict[str, Any]]:
    """Return every probability that a ledger states, with its scores where it is decided.

    Parameters
    ----------
    records : sequence of dict
        As `forecast.evaluation.ledger.read_ledger` returns them.
    amount : callable, optional
        Writes the number and the unit of a threshold in a title.

    Returns
    -------
    list of dict
        ``statement``, ``title``, ``who`` (the scenario), ``kind`` (``hindcast`` where the data of an earlier date were
        read, else ``forecast``), ``made``, ``probability``, ``came`` (None while it is open), ``brier``, ``log_score``,
        and ``where``, the first digits of the line's hash.
    """
    scored = {row["id"]: row["score"] for row in ledger.forecast_rows(records)}
    out = []
    for line in records:
        if line["kind"] != "forecast" or line["asks"] != "when":
            continue
        name = str(line["sha256"])[:SHORT_HASH_DIGITS]
        decided = {} if scored[name] is None else {row["date"]: row for row in scored[name]["by"]}
        for row in line["by"]:
            found = decided.get(row["date"], {})
            out.append(
                {
                    "statement": Statement(line["resolves"], ledger.threshold_text(line), row["date"]),
                    "title": ledger.title(line, amount),
                    "who": line["scenario"].rpartition("/")[2],
                    "kind": "hindcast" if "as_of" in line.get("settings", {}) else "forecast",
                    "made": line["on"],
                    "probability": row["probability"],
                    "came": found.get("came"),
                    "brier": found.get("brier"),
                    "log_score": found.get("log_loss"),
                    "where": name,
                }
            )
    return out


def public(registry: Registry) -> list[dict[str, Any]]:
    """Return what people said on public sites, as `statements`; ``reason`` says why no scenario answers the same."""
    out = []
    for row in table_rows(registry, PUBLIC_QUESTIONS_TABLE):
        came = None if math.isnan(row["outcome"]) else bool(row["outcome"])
        title = str(row["title"])
        threshold = title if math.isnan(row["level"]) else ledger.amount_text(row["level"], str(row["measured_in"]))
        stated = {
            "statement": Statement(str(row["resolves"]), threshold, str(row["by"])[:10]),
            "title": title,
            "who": str(row["platform"]),
            "kind": "public",
            "made": None if np.isnat(row["made"]) else str(row["made"])[:10],
            "probability": float(row["probability"]),
            "came": None,
            "brier": None,
            "log_score": None,
            "where": str(row["url"]),
            "reason": str(row["left_out"]),
        }
        out.append(stated if came is None else _scored_row(stated, came))
    return out


# --- beside each other ------------------------------------------------------------------------------------------------


def scorecard(said: Iterable[Mapping[str, Any]], on: str) -> dict[str, Any]:
    """Set what was said of each statement side by side.

    Parameters
    ----------
    said : iterable of dict
        As `statements` and `public` return them.
    on : str
        The day, ISO: what was to be decided by then and has no outcome is due.

    Returns
    -------
    dict
        ``statements``, by date: ``title``, ``resolves``, ``threshold``, ``by``, ``state`` (``resolved``, ``due`` or
        ``open``), ``came`` and ``forecasts``; ``scores``: for each who and kind, how many (``n``) are decided, of how
        many (``of``), with the mean ``brier`` and ``log_score``; ``beside``: for each two that answered the same, the
        scores of both on what both answered.
    """
    found: dict[Statement, list[Mapping[str, Any]]] = {}
    for each in said:
        found.setdefault(each["statement"], []).append(each)
    statements = [_statement_row(statement, rows, on) for statement, rows in found.items()]
    statements.sort(key=lambda row: (row["by"], row["title"], row["threshold"]))
    voices: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in statements:
        for each in row["forecasts"]:
            voices.setdefault((each["who"], each["kind"]), []).append({**each, "of": id(row)})
    scores = [{"who": who, "kind": kind, **_score(rows)} for (who, kind), rows in voices.items()]
    return {"on": on, "statements": statements, "scores": scores, "beside": _compare_voices(voices)}


def _statement_row(statement: Statement, rows: Sequence[Mapping[str, Any]], on: str) -> dict[str, Any]:
    outcomes = [row["came"] for row in rows if row["came"] is not None]
    if outcomes:  # what is decided for one that forecast it is decided for all
        rows = [row if row["came"] is not None else _scored_row(row, outcomes[0]) for row in rows]
    state = "resolved" if outcomes else "due" if statement.by <= on else "open"
    return {
        "title": next((row["title"] for row in rows if row["kind"] != "public"), rows[0]["title"]),
        **statement._asdict(),
        "state": state,
        "came": outcomes[0] if outcomes else None,
        "forecasts": [{key: value for key, value in row.items() if key not in ("statement", "title")} for row in rows],
    }


def _scored_row(row: Mapping[str, Any], came: bool) -> dict[str, Any]:
    said = float(row["probability"])
    told = min(max(said, _MIN_PROBABILITY), 1 - _MIN_PROBABILITY)
    return {**row, "came": came, "brier": (said - came) ** 2, "log_score": -math.log(told if came else 1 - told)}


def _score(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    decided = [row for row in rows if row["came"] is not None]
    mean = {key: mean_or_none(row[key] for row in decided) for key in ("brier", "log_score")}
    return {"n": len(decided), "of": len(rows), **mean}


def _compare_voices(voices: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Compare each scenario with everybody else, on the statements that both answered and that are decided."""
    out = []
    decided = {voice: {row["of"]: row for row in rows if row["came"] is not None} for voice, rows in voices.items()}
    names = list(voices)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            both = [each for each in decided[one] if each in decided[other]]
            if both and "public" in (one[1], other[1]) and one[1] != other[1]:
                two = [_score([decided[voice][each] for each in both]) for voice in (one, other)]
                named = [
                    {"who": who, "kind": kind, **score} for (who, kind), score in zip((one, other), two, strict=True)
                ]
                out.append({"n": len(both), "of": named})
    return out
