"""What an answer says over some of its choices: each given, pooled by its weights, or left as a range of medians."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.dates import decimal_year
from forecast.base.lazy import xr
from forecast.projection.answers.crossing_dates import DateDraws, answered
from forecast.projection.answers.pooling import pooled
from forecast.projection.crossing import QUANTILES
from forecast.projection.weights import failing_of, value_quantiles, weights_of
from forecast.report.plain_data import attribute

__all__ = ["AnswerDistribution", "ReportedAnswer", "ReportedDate", "ReportedValue"]


@dataclass(frozen=True, kw_only=True)
class AnswerDistribution:
    """Quantiles of an answer, or the range of the medians where rivals have no weights.

    Parameters
    ----------
    quantiles : tuple of float
        At 5, 25, 50, 75 and 95 %: decimal years, +inf inside the never mass; or values.
    never, already : float
        Probabilities, of dates.
    medians, nevers : (float, float), optional
        The lowest and the highest of several answers that are not pooled; `quantiles` are then of no use.
    count : int
        How many answers those are.
    """

    quantiles: tuple[float, float, float, float, float]
    never: float = 0.0
    already: float = 0.0
    medians: tuple[float, float] | None = None
    nevers: tuple[float, float] = (0.0, 0.0)
    count: int = 1

    @property
    def median(self) -> float:
        """The middle one."""
        return self.quantiles[2]

    @staticmethod
    def over(several: list[AnswerDistribution]) -> AnswerDistribution | None:
        """Return the range of several answers, or the only one."""
        if len(several) < 2:
            return several[0] if several else None
        medians, nevers = [s.median for s in several], [s.never for s in several]
        ends = (min(medians), max(medians))
        return AnswerDistribution(
            quantiles=(ends[0], ends[0], math.nan, ends[1], ends[1]), medians=ends, nevers=(min(nevers), max(nevers)),
            never=max(nevers), already=min(s.already for s in several), count=len(several),
        )  # fmt: skip


class ReportedAnswer:
    """What every world answers along the choices.

    Parameters
    ----------
    tree : xarray.DataTree
    name : str
        Of the question.
    """

    def __init__(self, tree: xr.DataTree, name: str) -> None:
        self.tree, self.name = tree, name
        every = attribute(tree, "rivals") if "rivals" in tree.attrs else {}
        along = self.choices
        self.definitions = [
            d
            for key in ("sweep", "definitions")
            if key in tree.attrs
            for d in attribute(tree, key)
            if d in along  # a sweep is a mapping
        ]
        self.rivals = {d: every[d] for d in along if d in every and d not in self.definitions}
        self.open = [d for d in along if d not in self.definitions and d not in self.rivals]

    @property
    def worlds(self) -> xr.DataArray:
        """What every world says, (draw, choices)."""
        raise NotImplementedError

    @property
    def choices(self) -> list[str]:
        """The choices on which the answer depends."""
        return [str(d) for d in self.worlds.dims if d != "draw"]

    def values(self, choice: str) -> list[str]:
        """Return the values of one of them."""
        return [str(v) for v in self.worlds[choice].values]

    @cached_property
    def default(self) -> dict[str, str]:
        """The definitions, but for what is swept, that the sentence is about: the first that give an answer."""
        swept = attribute(self.tree, "sweep") if "sweep" in self.tree.attrs else {}
        own = [d for d in self.definitions if d not in swept]
        every = (dict(zip(own, v, strict=True)) for v in itertools.product(*(self.values(d) for d in own)))
        return next((each for each in every if self.spread(each) is not None), {d: self.values(d)[0] for d in own})

    def spread(self, chosen: Mapping[str, str]) -> AnswerDistribution | None:
        """Return the answer under these values, pooled over the rivals that have weights; None where it failed."""
        free = [d for d in self.choices if d not in chosen and d not in self.rivals]
        several = [
            self._one({**chosen, **dict(zip(free, values, strict=True))})
            for values in itertools.product(*(self.values(d) for d in free))
        ]
        return AnswerDistribution.over([each for each in several if each is not None])

    def _one(self, chosen: dict[str, str]) -> AnswerDistribution | None:
        raise NotImplementedError

    def of_worlds(
        self, own: NDArray[np.float64], counts: NDArray[np.float64] | None = None
    ) -> AnswerDistribution | None:
        """Return what some worlds say together, by what each says and counts; None where there is no answer."""
        raise NotImplementedError

    def _drawn(self, chosen: Mapping[str, str]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return what every kept world says, one rival of each choice drawn in each, and what it counts."""
        seed, weights = attribute(self.tree, "seed"), weights_of(self.tree)
        rivals = {d: w for d, w in self.rivals.items() if d not in chosen}
        own = pooled(self.worlds.sel(dict(chosen)), rivals, seed=seed)
        counts = None
        if weights is not None:
            given = {d: v for d, v in chosen.items() if d in weights.dims}
            counts = pooled(weights.sel(given), rivals, seed=seed).values
        return np.asarray(own.values, dtype=float), counts


class ReportedDate(ReportedAnswer):
    """The date of a question."""

    @cached_property
    def worlds(self) -> xr.DataArray:
        """What every world says, (draw, choices)."""
        data = self.tree["questions"].to_dataset()
        dates = data[f"{self.name}_date"]
        years = np.where(np.isnat(dates.values), np.inf, decimal_year(dates.values))
        lost = failing_of(data, self.name) | data[f"{self.name}_never"].isnull()
        return dates.copy(data=years).where(~lost).transpose("draw", ...).reset_coords(drop=True)

    @cached_property
    def start(self) -> float:
        """The first step."""
        return float(decimal_year(self.tree["projection"].to_dataset()["time"].values[:1])[0])

    def _one(self, chosen: dict[str, str]) -> AnswerDistribution | None:
        for group in ("questions", "pooled"):  # of all worlds, where they are more than those kept
            data = self.tree[group].to_dataset() if group in self.tree else {}
            if self.name in data and set(chosen) == {str(d) for d in data[self.name].dims if d != "quantile"}:
                return self._read(data, chosen)
        return self.of_worlds(*self._drawn(chosen))

    def of_worlds(
        self, own: NDArray[np.float64], counts: NDArray[np.float64] | None = None
    ) -> AnswerDistribution | None:
        """Return what some worlds say together, by what each says and counts; None where too many fail."""
        if not answered(own) or (counts is not None and not np.nansum(counts) > 0):
            return None
        whole = DateDraws(own, self.start, (), None if counts is None else counts / counts.sum())
        levels = whole.quantiles(list(QUANTILES.values()))
        return AnswerDistribution(quantiles=_five(levels), never=float(whole.never), already=float(whole.already))

    def _read(self, data: Any, chosen: dict[str, str]) -> AnswerDistribution | None:
        never = float(data[f"{self.name}_never"].sel(chosen))
        if math.isnan(never):
            return None
        dates = data[self.name].sel(chosen).values
        levels = np.where(np.isnat(dates), np.inf, decimal_year(dates))
        return AnswerDistribution(
            quantiles=_five(levels), never=never, already=float(data[f"{self.name}_already"].sel(chosen))
        )


class ReportedValue(ReportedAnswer):
    """A value at one of the dates that are asked for.

    Parameters
    ----------
    tree : xarray.DataTree
    name : str
    place : int
        Of the date.
    """

    def __init__(self, tree: xr.DataTree, name: str, place: int = -1) -> None:
        self.place = place
        super().__init__(tree, name)

    @cached_property
    def worlds(self) -> xr.DataArray:
        """What every world says, (draw, choices)."""
        drawn = self.tree["values"][self.name].to_dataset()["value"].isel(date=self.place, drop=True)
        return drawn.transpose("draw", ...).reset_coords(drop=True)

    @property
    def unit(self) -> str:
        """The unit of the value."""
        return str(self.tree["values"][self.name].to_dataset()["value"].attrs["units"])

    def _one(self, chosen: dict[str, str]) -> AnswerDistribution | None:
        data = self.tree["values"][self.name].to_dataset()
        if "quantiles" not in data or set(chosen) != set(self.choices):
            return self.of_worlds(*self._drawn(chosen))
        levels = data["quantiles"].isel(date=self.place).sel(chosen).values
        return None if np.isnan(levels).any() else AnswerDistribution(quantiles=_five(levels))

    def of_worlds(
        self, own: NDArray[np.float64], counts: NDArray[np.float64] | None = None
    ) -> AnswerDistribution | None:
        """Return what some worlds say together, by what each says and counts; None where all fail."""
        levels = value_quantiles(own[:, None], counts)[:, 0]
        return None if np.isnan(levels).any() else AnswerDistribution(quantiles=_five(levels))


def _five(levels: Any) -> tuple[float, float, float, float, float]:
    p05, p25, p50, p75, p95 = (float(level) for level in levels)
    return p05, p25, p50, p75, p95
