"""How far a trend moves between two versions of a table: the same shape, fitted to both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forecast.base.json_text import none_if_not_finite
from forecast.errors import ForecastError, UnknownNameError
from forecast.tables.diff import Version


@dataclass(frozen=True, kw_only=True)
class TrendOptions:
    """The trend to fit to a table, as in `forecast.models.trend`.

    Parameters
    ----------
    shape : str
    x, y : str
        The columns of dates and of values.
    where : mapping of str to str
        The rows of the trend: the value that a column has in them.
    frontier : bool
        The values are a running maximum.
    since : str
        The first day, ISO; empty for all of them.
    options : mapping
        Options of the shape.
    """

    shape: str
    x: str
    y: str
    where: Mapping[str, str] = field(default_factory=dict)
    frontier: bool = False
    since: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FigureChange:
    """One figure of a trend before and after; `outside` tells whether it left the 90 % interval that it had."""

    name: str
    before: float | None
    after: float | None
    relative: float | None
    interval_before: Mapping[str, float | None] | None
    interval_after: Mapping[str, float | None] | None
    outside: bool | None


@dataclass(frozen=True, kw_only=True)
class TrendChange:
    """A trend of two versions.

    Parameters
    ----------
    options : TrendOptions
    unit : str
    summaries : mapping of str to str
        What the trend says in a sentence, by side: ``before`` and ``after``.
    errors : mapping of str to str
        Why it could not be fitted, by side.
    figures : tuple of FigureChange
        Empty where either fit failed.
    """

    options: TrendOptions
    unit: str
    summaries: Mapping[str, str]
    errors: Mapping[str, str]
    figures: tuple[FigureChange, ...]


def compare_trends(before: Version, after: Version, options: TrendOptions) -> TrendChange:
    """Fit a trend to two versions of a table and compare its figures.

    Raises
    ------
    UnknownNameError
        If there is no such shape, column or option.
    """
    from forecast import models
    from forecast.contract.registry import get_registry

    get_registry().find("shape", options.shape)
    versions = {"before": before, "after": after}
    units = (
        part.units[options.y] for version in versions.values() for part in version.parts if options.y in part.units
    )
    unit = next(units, "")
    descriptions, errors = {}, {}
    for side, version in versions.items():
        try:
            trend = models.trend(version.data, unit=unit, name=f"trend of {side}", **vars(options))
            descriptions[side] = trend.fit().describe()
        except UnknownNameError:
            raise  # a misspelt column or option is wrong for both versions
        except ForecastError as error:
            errors[side] = str(error)
    return TrendChange(
        options=options,
        unit=unit,
        summaries={side: description.summary for side, description in descriptions.items()},
        errors=errors,
        figures=() if errors else compare_figures(descriptions["before"].facts, descriptions["after"].facts),
    )


def compare_figures(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[FigureChange, ...]:
    """Compare the figures of a fitted trend (``describe().facts``).

    The interval of a figure ``doubling_years`` is in ``doubling_p05`` and ``doubling_p95``.

    Examples
    --------
    >>> was = {"n": 10.0, "doubling_years": 2.0, "doubling_p05": 1.5, "doubling_p95": 3.0}
    >>> now = {"n": 12.0, "doubling_years": 3.5, "doubling_p05": 2.5, "doubling_p95": 5.0}
    >>> _, doubling = compare_figures(was, now)
    >>> doubling.name, doubling.relative, doubling.outside
    ('doubling_years', 0.75, True)
    """
    changes = []
    for name in dict.fromkeys([*before, *after]):
        if name.endswith(("_p05", "_p95")):
            continue
        stem = name.rpartition("_")[0] if name.endswith("_years") else name.removesuffix("_per_year")
        was, now = none_if_not_finite(before.get(name)), none_if_not_finite(after.get(name))
        interval_before = interval_after = outside = None
        if f"{stem}_p05" in before and f"{stem}_p95" in before:
            interval_before, interval_after = (
                {quantile: none_if_not_finite(side.get(f"{stem}_{quantile}")) for quantile in ("p05", "p95")}
                for side in (before, after)
            )
            if name in after:
                outside = not before[f"{stem}_p05"] <= after[name] <= before[f"{stem}_p95"]
        changes.append(
            FigureChange(
                name=name,
                before=was,
                after=now,
                relative=now / was - 1 if was and now is not None else None,
                interval_before=interval_before,
                interval_after=interval_after,
                outside=outside,
            )
        )
    return tuple(changes)
