"""What is planned: levels by date, or the factors a year that hold from each date on.

::

    [quantities.budget]
    schedule = [[2026, 2.6], [2029, 2.0]]
    as = "rate"
    between = "log"
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from forecast.base.arrays import Array
from forecast.errors import printable
from forecast.scenarios.quantities.node import Combination, Node, Plan, StatedKind

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader


@dataclass(frozen=True, kw_only=True)
class Schedule(StatedKind):
    """What is planned: levels by date, or the factors a year that hold from each date on.

    Parameters
    ----------
    points : tuple of (float, float)
        Decimal years, increasing, and what holds there. Before the first the first holds, after the last the last.
    as_ : {"level", "rate"}
        The value itself, or a factor a year: the quantity is then 1 at the first step and its logarithm the integral of
        the rate's logarithm.
    between : {"step", "linear", "log"}
        What holds from one date to the next: the earlier value, or a straight line, or one in the logarithm.
    unit : str
    qualifiers : mapping of str to str
    """

    KIND, IDENTIFYING_KEYS, FORM = "schedule", ("schedule",), "a schedule"

    points: tuple[tuple[float, float], ...]
    as_: Literal["level", "rate"]
    between: Literal["step", "linear", "log"] = "step"
    unit: str = ""
    qualifiers: Mapping[str, str] = field(default_factory=dict)

    def values(self, time: Array) -> Array:
        """Return the quantity at these decimal years, (time,); a rate counts from the first of them.

        Examples
        --------
        >>> import numpy as np
        >>> plan = Schedule(points=((2020.0, 2.0), (2022.0, 1.0)), as_="rate", between="step")
        >>> plan.values(np.array([2019.0, 2020.0, 2021.0, 2023.0])).round(6).tolist()
        [1.0, 2.0, 4.0, 8.0]
        """
        if self.as_ == "level":
            return self._between(time)
        total = self._integral(time)
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(total - total[:1]))

    def _between(self, time: Array) -> Array:

        dates, values = (np.array(column) for column in zip(*self.points, strict=True))
        if self.between == "step":
            return np.asarray(values[np.maximum(np.searchsorted(dates, time, side="right") - 1, 0)])
        if self.between == "linear":
            return np.asarray(np.interp(time, dates, values))
        return np.asarray(np.exp(np.interp(time, dates, np.log(values))))

    def _integral(self, time: Array) -> Array:
        """Integrate the logarithm of the rate from the first date of the schedule to each time, exactly."""
        dates, rates = (np.array(column) for column in zip(*self.points, strict=True))
        # pieces: before the first date, between dates, after the last one
        piece = np.searchsorted(dates, time, side="right") - 1
        whole = np.diff(dates) * self._mean_log(rates[:-1], rates[1:])
        upto = np.concatenate([[0.0], np.cumsum(whole)])
        inside = np.clip(piece, 0, len(dates) - 1)
        return np.asarray(upto[inside] + (time - dates[inside]) * self._mean_log(rates[inside], self._between(time)))

    def _mean_log(self, first: Array, last: Array) -> Array:
        """Return the mean of the rate's logarithm from one date to another, between which it goes as stated."""
        if self.between == "step":
            return np.asarray(np.log(first))
        if self.between == "log":
            return np.asarray(0.5 * (np.log(first) + np.log(last)))
        # linear: the mean of log(a + (b - a)*s) over s from 0 to 1 is log(a) + (1 + x)*log(1 + x)/x - 1, x = b/a - 1
        x = last / first - 1
        still = x == 0
        x = np.where(still, 1.0, x)
        return np.asarray(np.log(first) + np.where(still, 0.0, (1 + x) * np.log1p(x) / x - 1))

    @classmethod
    def read(cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]) -> Schedule:
        """Return the dates and what holds there."""
        reader.only(record, ("schedule", "as", "between", "unit", "qualifiers"), key)
        as_ = reader.word(record, "as", key, ("level", "rate"), what="word")
        between = reader.word(record, "between", key, ("linear", "log", "step"), what="word", default="step")
        at, stated = f"{key}.schedule", record["schedule"]
        if not isinstance(stated, (list, tuple)) or not stated:
            raise reader.fail(at, "expected dates and values, such as [[2026, 2.6], [2029, 2.0]]")
        points = []
        for pair in stated:
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                raise reader.fail(at, f"expected a date and a value, such as [2026, 2.6], got '{printable(pair, 40)}'")
            points.append((reader.decimal_year(pair[0], at), reader.finite(pair[1], at)))
        for (before, _), (after, _) in itertools.pairwise(points):
            if not before < after:
                raise reader.fail(at, f"expected dates that rise, got {after:g} after {before:g}")
        if as_ == "rate" or between == "log":
            for when, level in points:
                if level <= 0:
                    what = "a rate is a factor a year" if as_ == "rate" else "a logarithm is taken"
                    raise reader.fail(at, f"expected values above 0, got {level:g} in {when:g}: {what}")
        unit = reader.unit(record, key) if as_ == "level" or "unit" in record else ""
        if as_ == "rate":
            from forecast import units

            units.check(
                unit, "", where=f"{reader.where}: {key}.unit: a rate makes a factor that is 1 at the first step"
            )
        return cls(points=tuple(points), as_=as_, between=between, unit=unit, qualifiers=reader.qualifiers(record, key))

    def lower(self, plan: Plan, node: Node, combination: Combination) -> int:
        """Return the same path in every world."""
        stated = self.points, self.as_, self.between
        return plan.add("path_of_dates", (), self.values, stated=stated, dated=True, of=node.name)
