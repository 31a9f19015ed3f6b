"""What tables show of statements in a ledger: whether what was observed has met a threshold, and when.

It decides nothing: whoever resolves a forecast reads the source that it names. A table shows which are worth a look.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from forecast.base.dates import from_decimal_year
from forecast.errors import ForecastError
from forecast.evaluation import ledger
from forecast.evaluation.ledger import SHORT_HASH_DIGITS
from forecast.projection.engine import project
from forecast.projection.result import Projection
from forecast.projection.result.observed_values import observed_points, threshold

#: Worlds enough to tell a number that is the same in all of them.
_N_DRAWS = 64


def table_outcomes(
    records: Sequence[Mapping[str, Any]], day: str, amount: Callable[[float, str], str] | None = None,
    folder: Path = Path(),
) -> list[dict[str, Any]]:  # fmt: skip
    """Return what the tables show of every open forecast that somebody observes, those that are met first.

    Parameters
    ----------
    records : sequence of dict
        As `forecast.evaluation.ledger.read_ledger` returns them.
    day : str
        Rows after this date count for nothing, ISO.
    amount : callable, optional
        Writes the number and the unit of a threshold in a title.
    folder : Path
        Of the ledger, beside which the scenarios are that no plugin registers: ``NAME.toml``.

    Returns
    -------
    list of dict
        ``id``, the first digits of the forecast's hash; ``statement``, its title with the number of its threshold;
        ``resolves`` and ``threshold``, the source that decides and the fixed side of the condition, which are the same
        for one statement; ``decides``, the next date by which it is asked; ``met``, the date of the first row that
        meets the threshold, None where none does; ``row``, what that row is called, or the best so far, empty where it
        has no name; its ``value`` and ``unit``; and ``newest``, the date of the newest row. Dates are ISO.
    """
    following = {row["id"]: row["next"] for row in ledger.forecast_rows(records, day)}
    runs: dict[tuple[str, str], Projection | None] = {}
    found = []
    for line in records:
        decides = following.get(str(line["sha256"])[:SHORT_HASH_DIGITS])
        if line["kind"] != "forecast" or line["asks"] != "when" or decides is None:
            continue
        settings = line.get("settings", {}).get("set", {})
        key = line["scenario"], json.dumps(settings, sort_keys=True)
        if key not in runs:
            try:
                beside = folder / f"{line['scenario']}.toml"
                scenario = beside if beside.parent == folder and beside.is_file() else line["scenario"]
                runs[key] = project(scenario, with_=settings, draws=_N_DRAWS)
            except ForecastError:  # a scenario that is there no more, or has changed
                runs[key] = None
        run = runs[key]
        if run is not None and (shown := _table_outcome(run, line, decides, day, amount)) is not None:
            found.append(shown)
    return sorted(found, key=lambda each: (each["met"] is None, each["decides"], each["statement"]))


def _table_outcome(
    run: Projection, line: Mapping[str, Any], decides: str, day: str, amount: Callable[[float, str], str] | None
) -> dict[str, Any] | None:
    answer = run.answers.get(line["question"])
    level = None if answer is None or answer.text != line["asked"] else threshold(answer)
    if answer is None or level is None or level.of not in run.quantities:
        return None
    years, values, names = observed_points(answer, level.of, level.stated, line["choices"])
    dates = np.asarray(from_decimal_year(years)).astype("datetime64[D]").astype(str)
    known = [i for i in np.argsort(years, kind="stable") if dates[i] <= day and np.isfinite(values[i])]
    if not known:
        return None
    meets = [i for i in known if level.met(float(values[i]), level.stated)]
    best = (max if level.op in (">=", ">") else min)(known, key=lambda i: values[i])
    place = meets[0] if meets else best
    return {
        "id": str(line["sha256"])[:SHORT_HASH_DIGITS], "statement": ledger.title(line, amount),
        "resolves": line["resolves"], "threshold": ledger.threshold_text(line), "decides": decides,
        "met": str(dates[place]) if meets else None, "row": names[place] if names else "",
        "value": float(values[place]), "unit": level.stated, "newest": str(dates[known[-1]]),
    }  # fmt: skip
