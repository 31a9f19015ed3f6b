"""Scores of what a whole scenario said as of dates in the past: on a scale, as rows of a table, and in sentences."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array
from forecast.base.dates import decimal_year, iso_date
from forecast.base.files import replace_atomically
from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILE_NAMES, QUANTILES
from forecast.errors import DataError, ForecastError, PluginError, printable
from forecast.evaluation.scores import coverage, weighted_interval

if TYPE_CHECKING:
    from forecast.evaluation.backtest_datasets import ScenarioBacktest

#: Digits of a forecast and of what came: a record that stands still is inside an interval that ends at it.
ROUND_DIGITS = 9
#: Rivals that every observed quantity has, by their names in a result.
OWN_TREND, EXTRAPOLATED, LAST_VALUE_RIVAL = "own trend", "extrapolate", "last value"
RIVALS = (OWN_TREND, EXTRAPOLATED, LAST_VALUE_RIVAL)


@dataclass(frozen=True, kw_only=True)
class Scale:
    """In what a quantity is scored.

    Parameters
    ----------
    title : str
        What one of it is called; empty where it is the quantity's own unit.
    forward : callable
        From a value in the quantity's unit.
    """

    title: str
    forward: Callable[[Array], Array]

    def of(self, values: Array) -> Array:
        """Return values on the scale; what has no place there is NaN."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.forward(np.asarray(values, dtype=float))
        return np.asarray(np.round(np.where(np.isfinite(found), found, np.nan), ROUND_DIGITS), dtype=float)


SCALES = {
    "log10": Scale(title="powers of ten", forward=np.log10),
    "log2": Scale(title="doublings", forward=np.log2),
    "unit": Scale(title="", forward=np.asarray),
}


def unit_text(row: Mapping[str, Any]) -> str:
    """Say in what a quantity is scored, from a row with its ``scale`` and its ``unit``."""
    return SCALES[row["scale"]].title or row["unit"] or "points"


def scored_forecasts(forecasts: Array, came: Array, coords: Mapping[str, Any]) -> ScenarioBacktest:
    """Return forecasts, (quantity, vintage, ahead, model, quantile), with their scores against what came."""
    from forecast.evaluation.backtest_datasets import ScenarioBacktest

    dims = ("quantity", "origin", "ahead")
    levels = {"quantile": list(QUANTILES)}
    # scored without the names along other dimensions: xarray would compare them in every step
    stated = xr.DataArray(forecasts, dims=(*dims, "model", "quantile"), coords=levels)
    observed = xr.DataArray(came, dims=dims)
    kept: dict[str, Any] = {"preserve_dims": [*dims, "model"]}
    low, high = (stated.sel(quantile=level, drop=True) for level in (QUANTILES[0], QUANTILES[-1]))
    found = {
        "observed": xr.DataArray(came, dims=dims, coords={key: coords[key] for key in dims}),
        "forecast": xr.DataArray(forecasts, dims=stated.dims, coords={**coords, **levels}),
        "weighted-interval": weighted_interval(stated, observed, logs=False, **kept),
        "half": coverage(stated, observed, level=0.5, **kept),
        "coverage": coverage(stated, observed, level=0.9, **kept),
        "width": (high - low).where(observed.notnull()),
    }
    return ScenarioBacktest(found)


# --- what it comes to -------------------------------------------------------------------------------------------------


def quantity_scores(found: xr.Dataset, *, by_ahead: bool = False) -> list[dict[str, Any]]:
    """Return a row for each quantity and model: means over what it forecast and what is known.

    Parameters
    ----------
    found : xarray.Dataset
        Of `forecast.backtest_scenario`.
    by_ahead : bool
        A row for each time ahead too.

    Returns
    -------
    list of dict
        ``quantity``, ``unit``, ``scale``, ``model``, ``ahead`` (None: all), how many ``forecasts`` and ``vintages``,
        the shares of intervals that held (``half`` and ``held``), ``width`` of the 90 % interval, ``score``; and of
        those that the scenario made too how many (``both``), with the model's own score there (``mine``) and the
        scenario's (``beside``).
    """
    of = {part: found[part].transpose("quantity", "model", "origin", "ahead").values for part in _SCORES}
    about = [{key: str(found[key].values[k]) for key in ("quantity", "unit", "scale")} for k in range(len(of["half"]))]
    ahead = enumerate(map(float, found["ahead"].values)) if by_ahead else ()
    parts = [(None, slice(None)), *((years, slice(j, j + 1)) for j, years in ahead)]
    rows = [
        {**about[k], "model": str(model), "ahead": years, **_score_row({part: of[part][k, :, :, at] for part in of}, m)}
        for k in range(len(about))
        for years, at in parts
        for m, model in enumerate(found["model"].values)
    ]
    return [row for row in rows if row["forecasts"]]


#: What is averaged, (quantity, vintage, ahead, model).
_SCORES = ("weighted-interval", "half", "coverage", "width")


def _score_row(of: Mapping[str, Array], model: int) -> dict[str, Any]:
    """Return the scores of a model on one quantity, (model, vintage, ahead) each; the first model is the scenario."""
    scores, own = of["weighted-interval"][model], of["weighted-interval"][0]
    result = ~np.isnan(scores)
    both = result & ~np.isnan(own)
    return {
        "forecasts": int(result.sum()),
        "vintages": int(result.any(axis=1).sum()),
        "half": _nan_mean(of["half"][model]),
        "held": _nan_mean(of["coverage"][model]),
        "width": _nan_mean(of["width"][model]),
        "score": _nan_mean(scores),
        "both": int(both.sum()),
        "mine": _nan_mean(np.where(both, scores, np.nan)),
        "beside": _nan_mean(np.where(both, own, np.nan)),
    }


def _nan_mean(values: Array) -> float | None:
    known = ~np.isnan(values)
    return float(np.nanmean(values)) if known.any() else None


# --- as rows of a table -----------------------------------------------------------------------------------------------


def forecast_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Return a row for each forecast whose outcome is known: quantiles and what came, on the scale of its quantity."""
    rows = []
    known = found["weighted-interval"].transpose("quantity", "model", "origin", "ahead").notnull()
    for k, m, i, j in np.argwhere(known.values):
        each = found.isel(quantity=k, model=m, origin=i, ahead=j)
        about = {key: str(each[key].values) for key in ("quantity", "unit", "scale", "model")}
        stated = dict(zip(QUANTILE_NAMES, map(float, each["forecast"].values), strict=True))
        when = {"vintage": iso_date(float(each["origin"])), "ahead": float(each["ahead"])}
        rows.append({**about, **when, **stated, "observed": float(each["observed"])})
    return rows


def of_rows(rows: Sequence[Mapping[str, Any]], scenario: str, published: Mapping[str, str]) -> xr.Dataset:
    """Return what `forecast_rows` tells of a scenario, scored as it was.

    Parameters
    ----------
    rows : sequence of dict
    scenario : str
        Its name in the rows.
    published : mapping of str to str
        When each published model appeared, ISO.

    Raises
    ------
    DataError
        If a row is not one of these.
    """
    try:
        about = {str(row["quantity"]): (str(row["unit"]), str(row["scale"])) for row in rows}
        names, models = list(about), [scenario, *RIVALS, *published]
        cuts = sorted({str(row["vintage"]) for row in rows})
        steps = sorted({float(row["ahead"]) for row in rows})
        came = np.full((len(names), len(cuts), len(steps)), np.nan)
        forecasts = np.full((*came.shape, len(models), len(QUANTILES)), np.nan)
        for row in rows:
            at = names.index(row["quantity"]), cuts.index(row["vintage"]), steps.index(float(row["ahead"]))
            forecasts[(*at, models.index(row["model"]))] = [float(row[key]) for key in QUANTILE_NAMES]
            came[at] = float(row["observed"])
        years = decimal_year(np.array(cuts, dtype="datetime64[s]"))
    except (KeyError, ValueError, TypeError) as problem:
        raise DataError(f"a row of past forecasts: {type(problem).__name__}: {printable(problem, 100)}") from None
    coords = {
        "quantity": names, "origin": years, "ahead": steps, "model": models,
        "unit": ("quantity", [unit for unit, _ in about.values()]),
        "scale": ("quantity", [scale for _, scale in about.values()]),
    }  # fmt: skip
    return scored_forecasts(forecasts, came, coords).assign_attrs(published=dict(published))


# --- in sentences -----------------------------------------------------------------------------------------------------


def coverage_sentence(found: xr.Dataset) -> str:
    """Return in a sentence how often the intervals of the scenario held; empty if nothing can be compared yet."""
    name = str(found["model"].values[0])
    covered = found["coverage"].sel(model=name).dropna("quantity", how="all").dropna("origin", how="all")
    if not (count := int(covered.notnull().sum())):
        return ""
    cuts, quantities = covered["origin"].values, covered["quantity"].values
    what = f"{len(quantities)} quantities" if len(quantities) > 1 else str(quantities[0])
    when = f"{len(cuts)} dates from {month_of(cuts[0])} to {month_of(cuts[-1])}" if len(cuts) > 1 else month_of(cuts[0])
    months = 12 * float(covered.dropna("ahead", how="all")["ahead"].max())
    return (
        f"As of {when}, {int(covered.sum())} of {count} 90 % intervals of {name} held "
        f"({100 * float(covered.mean()):.0f} %): {what}, up to {months:.0f} months ahead."
    )


def limitation_lines(found: xr.Dataset) -> list[str]:
    """Say what such a record cannot tell."""
    cuts, on = found["origin"].values, found.attrs["published"]
    apart = max_independent_vintages(cuts)
    lines = [
        "rows are chosen by their dates, and hold the values of today's editions where no older one is kept",
        "priors, weights and forms of the scenario are today's, chosen in sight of what came",
    ]
    if len(cuts) > 1:
        lines.append(f"forecasts overlap: of {len(cuts)} dates {apart} lie a year apart, and are independent at best")
    if on:
        named = ", ".join(f"{name} {date}" for name, date in on.items())
        lines.append(f"published models are as published, and count from that day on: {named}")
    return lines


def max_independent_vintages(cuts: Array) -> int:
    """Return how many vintages lie a year apart, at most."""
    count, last = 0, -np.inf
    for cut in cuts:
        if cut >= last + 1 - 0.01:  # a date in days is no exact part of a year
            count, last = count + 1, float(cut)
    return count


def month_of(year: float) -> str:
    """Return the month of a decimal year, ISO."""
    return iso_date(year)[:7]


# --- The record that a plugin keeps -----------------------------------------------------------------------------------
# How a scenario that ships would have done as of dates in the past: the table that its plugin keeps beside it.


#: So many quantities are named on a screen.
_MAX_QUANTITIES = 3


def of_scenario(name: str) -> xr.Dataset:
    """Return the record of a registered scenario, as `forecast.backtest_scenario` does; empty where it keeps none.

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

    registry = get_registry()
    if name not in registry.names("scenario"):  # a file of the user's own, or of a plugin that is not there
        return xr.Dataset()
    spec = registry.find("scenario", name).spec
    return _read_rows(spec.record, name) if spec.record else xr.Dataset()


@lru_cache(maxsize=8)
def _read_rows(path: str, name: str) -> xr.Dataset:
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        if not rows:
            raise DataError("expected a row for each forecast, got none")
        on = {row["model"]: row["published_on"] for row in rows if row["published_on"]}
        return of_rows(rows, name.rpartition("/")[2], on).assign_attrs(name=name)
    except (OSError, KeyError, UnicodeDecodeError, csv.Error, ForecastError) as problem:
        why = printable(f"{type(problem).__name__}: {problem}", 200)
        raise PluginError(f"scenario '{name}': its record of past forecasts cannot be read: {why}") from None


def write_record(found: xr.Dataset, path: Path) -> None:
    """Write the forecasts of `forecast.backtest_scenario` whose outcome is known as such a table."""
    on = found.attrs["published"]
    rows = forecast_rows(found)
    with replace_atomically(path) as arriving, arriving.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "published_on"], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            told = {key: f"{value:.9g}" if isinstance(value, float) else value for key, value in row.items()}
            writer.writerow({**told, "published_on": on.get(row["model"], "")})


def _read_or_reason(name: str) -> xr.Dataset | str | None:
    """Return the record of a scenario, or why it cannot be read: that costs no answer."""
    try:
        return of_scenario(name) or None
    except PluginError as problem:
        return f"No record: {problem}"


def screen_line(name: str, shown: Sequence[str], labels: Mapping[str, str]) -> str | None:
    """Say in one sentence how often the intervals of a scenario held, of the quantities that it shows.

    None where it keeps no record; where that cannot be read, why.
    """
    found = _read_or_reason(name)
    if found is None or isinstance(found, str):
        return found
    # every screen has this line, and rivals are for `record_sentences` alone
    rows = {row["quantity"]: row for row in quantity_scores(found.isel(model=[0]))}
    of = [each for each in shown if each in rows] or list(rows)
    told = ", ".join(f"{labels.get(each, each)} {_coverage_text(rows[each])}" for each in of[:_MAX_QUANTITIES])
    return f"Record {_vintages_text(found)}: 90 % intervals held {told}; values of today's editions"


def record_sentences(name: str, labels: Mapping[str, str]) -> list[str]:
    """Say of each quantity how good it was, beside its rivals, and what such a record cannot tell.

    Nothing where the scenario keeps no record; where that cannot be read, why.
    """
    found = _read_or_reason(name)
    if found is None or isinstance(found, str):
        return [found] if found else []
    rows = quantity_scores(found)
    months = 12 * float(found["ahead"].max())
    out = [f"record {_vintages_text(found)}, up to {months:.0f} months ahead; {'; '.join(limitation_lines(found))}"]
    scenario = str(found["model"].values[0])
    for own in (row for row in rows if row["model"] == scenario):
        of = own["quantity"]
        rivals = [row for row in rows if row["quantity"] == of and row["model"] != scenario and row["both"]]
        beside = ", ".join(_rival_text(row, own) for row in rivals)
        out.append(
            f"record of {labels.get(of, of)}: 50 % intervals held {100 * own['half']:.0f} %, 90 % intervals "
            f"{_coverage_text(own)}, {own['width']:.3g} {unit_text(own)} wide; score {own['score']:.2g}"
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
    return f"as of {len(cuts)} dates from {cuts[0]:.0f} (at most {max_independent_vintages(cuts)} independent)"
