"""How a scenario that ships would have done as of dates in the past: the table that its plugin keeps beside it."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from forecast.base.lazy import xr
from forecast.errors import ForecastError, PluginError, printable
from forecast.evaluation import scenario_backtest

__all__ = ["of_scenario", "screen_line", "sentences", "write"]

#: So many quantities are named on a screen.
_MOST = 3


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

    if "/" not in name:  # a file of the user's own
        return None
    record = get_registry().find("scenario", name)
    assert isinstance(record.spec, ScenarioSpec)
    return None if not record.spec.record else _read(record.spec.record, record.full_name)


@lru_cache(maxsize=8)
def _read(path: str, name: str) -> xr.Dataset:
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        on = {row["model"]: row["published_on"] for row in rows if row["published_on"]}
        return scenario_backtest.of_rows(rows, name=name, published=on)
    except (OSError, KeyError, ForecastError) as problem:
        why = printable(f"{type(problem).__name__}: {problem}", 200)
        raise PluginError(f"scenario '{name}': its record of past forecasts cannot be read: {why}") from None


def write(found: xr.Dataset, path: Path) -> None:
    """Write the forecasts of `forecast.backtest_scenario` whose outcome is known as such a table."""
    on = found.attrs["published"]
    rows = scenario_backtest.forecast_rows(found)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "published_on"], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            told = {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()}
            writer.writerow({**told, "published_on": on.get(row["model"], "")})


def screen_line(found: xr.Dataset, shown: Sequence[str], labels: Mapping[str, str]) -> str:
    """Say in one sentence how often the intervals of the scenario held, of the quantities that it shows."""
    rows = _own(found)
    of = [name for name in shown if name in rows] or list(rows)
    told = [f"{labels.get(name, name)} {_held(rows[name])}" for name in of[:_MOST]]
    return f"Record {_when(found)}: 90 % intervals held {', '.join(told)}; values of today's editions"


def sentences(found: xr.Dataset, labels: Mapping[str, str]) -> list[str]:
    """Say of each quantity how good it was, beside its rivals, and what such a record cannot tell."""
    rows = scenario_backtest.quantity_scores(found)
    out = [f"record {_when(found)}, up to {12 * float(found['ahead'].max()):.0f} months ahead; {'; '.join(scenario_backtest.limits(found))}"]
    for name, row in _own(found).items():
        unit = scenario_backtest.SCALES[row["scale"]].title or row["unit"] or "points"
        beside = [
            f"{each['model']} {each['mine']:.2g}" + (f" (it {each['beside']:.2g} on these {each['both']})" if each["both"] < row["forecasts"] else "")
            for each in rows
            if each["quantity"] == name and each["model"] != row["model"] and each["mine"] is not None
        ]
        out.append(
            f"record of {labels.get(name, name)}: 50 and 90 % intervals held {100 * row['half']:.0f} and {_held(row)}, 90 % are "
            f"{row['width']:.3g} {unit} wide; score {row['score']:.2g}{'; ' if beside else ''}{', '.join(beside)}"
        )
    return out


def _own(found: xr.Dataset) -> dict[str, dict[str, Any]]:
    own = str(found["model"].values[0])
    return {row["quantity"]: row for row in scenario_backtest.quantity_scores(found) if row["model"] == own}


def _held(row: Mapping[str, Any]) -> str:
    return f"{round(row['held'] * row['forecasts'])} of {row['forecasts']}"


def _when(found: xr.Dataset) -> str:
    cuts = found["origin"].values
    return f"as of {len(cuts)} dates from {cuts[0]:.0f} (at most {scenario_backtest.years_apart(cuts)} independent)"
