"""How a scenario that ships would have done as of dates in the past: the table that its plugin keeps beside it."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from forecast.base.files import replace_atomically
from forecast.base.lazy import xr
from forecast.errors import DataError, ForecastError, PluginError, printable
from forecast.evaluation.whole import scenario_scores as scores

__all__ = ["of_scenario", "record_sentences", "screen_line", "write_record"]

#: So many quantities are named on a screen.
_MAX_QUANTITIES = 3


def of_scenario(name: str) -> xr.Dataset | None:
    """Return the record of a registered scenario, as `forecast.backtest_scenario` does; None where it keeps none.

    Raises
    ------
    PluginError
        If the plugin's table cannot be read.

    Examples
    --------
    >>> found = of_scenario("capability/model-capability")
    >>> bool(found["coverage"].sel(model="model-capability").mean() > 0.5)
    True
    """
    from forecast.contract.registry import get_registry
    from forecast.contract.specs import ScenarioSpec

    registry = get_registry()
    if name not in registry.names("scenario"):  # a file of the user's own, or of a plugin that is not there
        return None
    spec = registry.find("scenario", name).spec
    assert isinstance(spec, ScenarioSpec)
    return _read_rows(spec.record, name) if spec.record else None


@lru_cache(maxsize=8)
def _read_rows(path: str, name: str) -> xr.Dataset:
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        if not rows:
            raise DataError("expected a row for each forecast, got none")
        on = {row["model"]: row["published_on"] for row in rows if row["published_on"]}
        return scores.of_rows(rows, name.rpartition("/")[2], on).assign_attrs(name=name)
    except (OSError, KeyError, UnicodeDecodeError, csv.Error, ForecastError) as problem:
        why = printable(f"{type(problem).__name__}: {problem}", 200)
        raise PluginError(f"scenario '{name}': its record of past forecasts cannot be read: {why}") from None


def write_record(found: xr.Dataset, path: Path) -> None:
    """Write the forecasts of `forecast.backtest_scenario` whose outcome is known as such a table."""
    on = found.attrs["published"]
    rows = scores.forecast_rows(found)
    with replace_atomically(path) as arriving, arriving.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "published_on"], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            told = {key: f"{value:.9g}" if isinstance(value, float) else value for key, value in row.items()}
            writer.writerow({**told, "published_on": on.get(row["model"], "")})


def _readable(name: str) -> xr.Dataset | str | None:
    """Return the record of a scenario, or why it cannot be read: that costs no answer."""
    try:
        return of_scenario(name)
    except PluginError as problem:
        return f"No record: {problem}"


def screen_line(name: str, shown: Sequence[str], labels: Mapping[str, str]) -> str | None:
    """Say in one sentence how often the intervals of a scenario held, of the quantities that it shows.

    None where it keeps no record; where that cannot be read, why.
    """
    found = _readable(name)
    if found is None or isinstance(found, str):
        return found
    # every screen has this line, and rivals are for `record_sentences` alone
    rows = {row["quantity"]: row for row in scores.quantity_scores(found.isel(model=[0]))}
    of = [each for each in shown if each in rows] or list(rows)
    told = ", ".join(f"{labels.get(each, each)} {_coverage_text(rows[each])}" for each in of[:_MAX_QUANTITIES])
    return f"Record {_vintages_text(found)}: 90 % intervals held {told}; values of today's editions"


def record_sentences(name: str, labels: Mapping[str, str]) -> list[str] | None:
    """Say of each quantity how good it was, beside its rivals, and what such a record cannot tell.

    None where the scenario keeps no record; where that cannot be read, why.
    """
    found = _readable(name)
    if found is None or isinstance(found, str):
        return [found] if found else None
    rows = scores.quantity_scores(found)
    months = 12 * float(found["ahead"].max())
    out = [
        f"record {_vintages_text(found)}, up to {months:.0f} months ahead; {'; '.join(scores.limitation_lines(found))}"
    ]
    scenario = str(found["model"].values[0])
    for own in (row for row in rows if row["model"] == scenario):
        of = own["quantity"]
        rivals = [row for row in rows if row["quantity"] == of and row["model"] != scenario and row["both"]]
        beside = ", ".join(_rival_text(row, own) for row in rivals)
        out.append(
            f"record of {labels.get(of, of)}: 50 % intervals held {100 * own['half']:.0f} %, 90 % intervals "
            f"{_coverage_text(own)}, {own['width']:.3g} {scores.unit_text(own)} wide; score {own['score']:.2g}"
            f"{f'; {beside}' if beside else ''}"
        )
    return out


def _rival_text(rival: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """Say the score of a rival, and the scenario's on the same rows where these are fewer."""
    fewer = f" (it {rival['beside']:.2g} on these {rival['both']})" if rival["both"] < own["forecasts"] else ""
    return f"{rival['model']} {rival['mine']:.2g}{fewer}"


def _coverage_text(row: Mapping[str, Any]) -> str:
    return f"{round(row['held'] * row['forecasts'])} of {row['forecasts']}"


def _vintages_text(found: xr.Dataset) -> str:
    cuts = found["origin"].values
    return f"as of {len(cuts)} dates from {cuts[0]:.0f} (at most {scores.max_independent_vintages(cuts)} independent)"
