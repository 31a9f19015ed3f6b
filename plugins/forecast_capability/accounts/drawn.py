"""What a forecast draws from the accounts: a ratio of the next year, spending at the start, and paths around both.

A ratio has few years, so its logarithm is drawn around its mean with one spread for all of `SHARES_AND_FACTORS`, as a
Student t with the years that spread rests on, and wider for a mean of few years.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import accumulate
from forecast.errors import DataError
from forecast.models import Array, Description, FittedModel, ModelRecord, Observations
from forecast.streams import student_t
from forecast_capability.accounts.plan_slips import EDITION_DAYS, due_steps, plan_revisions
from forecast_capability.accounts.ratios import (
    EDITIONS,
    LAB,
    RATIOS,
    RUNS_EDITION,
    Ratio,
    Tables,
    pooled_spread,
    read_ratios,
    summed,
)

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = [
    "GROWTHS",
    "SHARES_AND_FACTORS",
    "capex",
    "growth_spread",
    "last",
    "plan_delay",
    "plan_growth",
    "planned",
    "ratio",
    "share_gain",
    "walk",
]

#: Links whose spread around their mean is pooled: of shares and factors, and of growth.
SHARES_AND_FACTORS = (
    "chips-of-all", "tracked", "lab-of-chips", "research-of-compute", "research-of-capex", "final-of-research",
    "run-of-lab-chips", "run-of-site-power",
)  # fmt: skip
GROWTHS = ("capex-growth", "site-power-growth", "tracked-power-growth")
PREFIX = "accounts-"


@dataclass(frozen=True, kw_only=True)
class _OfLink(ModelRecord):
    """A model that is named after its link."""

    @property
    def link(self) -> str:
        """The link of the accounts."""
        return self.name.rpartition(PREFIX)[2].removesuffix("-now")


@dataclass(frozen=True, kw_only=True)
class _Fitted(FittedModel):
    """A number a world, or a path of it, with what is said of it.

    Parameters
    ----------
    draw : callable
        Takes dates and streams, and gives a number for all, one a world, or one a date and world.
    """

    model: ModelRecord
    said: str
    draw: Callable[[Array, Streams], Array | float]
    assumptions: tuple[str, ...] = ()
    facts: Mapping[str, float] = field(default_factory=dict)
    points: Observations = field(default_factory=Observations)

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        return np.array(np.broadcast_to(self.draw(time, streams), (len(time), streams.draws)))

    def observed(self) -> Observations:
        return self.points

    def describe(self) -> Description:
        return Description(
            summary=self.said, assumptions=self.assumptions, sources=self.model.sources, facts=dict(self.facts)
        )


def _student(time: Array, streams: Streams, *, middle: float, error: float, dof: float) -> Array:
    """Draw a number a world: Student t."""
    return np.asarray(middle + error * student_t(streams.uniforms("parameters", 2), dof)[0])


def _drawn_number(time: Array, streams: Streams, *, number: float) -> float:
    return number


# --- A ratio of the next year ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Ratio(_OfLink):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        tables = Tables(as_of)
        found = _known(self.link, tables, self.name)
        spread, dof = pooled_spread(tables, SHARES_AND_FACTORS)
        logs = np.log([ratio.value for ratio in found])
        error = float(spread * np.sqrt(1 + 1 / len(found)))
        return _Fitted(
            model=self,
            said=f"{', '.join(f'{ratio.year}: {ratio.value:.3g}' for ratio in found)}; a factor {np.exp(spread):.2f} "
            f"either way (one standard deviation of all links, {dof} degrees of freedom)",
            assumptions=("the next year is drawn from the same distribution as those before",),
            facts={"n": float(len(found)), "spread": spread, "middle": float(np.exp(logs.mean()))},
            draw=partial(_ratio, middle=float(logs.mean()), error=error, dof=dof, most=RATIOS[self.link].most),
        )


def _known(link: str, tables: Tables, name: str) -> list[Ratio]:
    """Return the ratios of a link by year, or say that there are none."""
    found = read_ratios(link, tables)
    if not found:
        raise DataError(f"{name}: no year of the accounts has it: {RATIOS[link].title}")
    return found


def _ratio(time: Array, streams: Streams, *, most: float, **logs: float) -> Array:
    return np.minimum(np.exp(_student(time, streams, **logs)), most)


#: Builds the model of a ratio of the next year.
ratio = _Ratio.from_spec


# --- Spending at the start ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Capex(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        tables = Tables(as_of)
        dates, rates = _spending_rates(tables)
        if len(dates) < 2:
            raise DataError(
                f"{self.name}: expected two periods of capital expenditure of four companies, got {len(dates)}"
            )
        before = int(np.argmin(np.abs(dates - (dates[-1] - 1))))
        growth = float(np.log(rates[-1] / rates[before]) / (dates[-1] - dates[before]))
        spread, _ = pooled_spread(tables, GROWTHS[:1])
        points = _spending_rates(tables, whole_past=True)
        return _Fitted(
            model=self,
            said=f"{rates[-1] / 1e9:,.0f} bn USD a year in {dates[-1]:.2f}, {np.expm1(growth):+.0%} on the year "
            "before, which goes on until the start",
            facts={"last": float(rates[-1]), "growth": growth, "date": float(dates[-1])},
            draw=partial(_grown, last=float(rates[-1]), date=float(dates[-1]), growth=growth, spread=spread),
            points=Observations(time=points[0], value=points[1], unit=self.unit),
        )


def _spending_rates(tables: Tables, *, whole_past: bool = False) -> tuple[Array, Array]:
    """Return the four companies' spending, USD a year, and the middle of the period that it is of.

    By quarters where there are more than four of them, else by years; with `whole_past` the years before are in it too.
    """
    whole = {int(period) + 0.5: usd for period, usd in summed(tables.spent()).items()}
    quarters = {
        int(period[:4]) + (int(period[-1]) - 0.5) / 4: 4 * usd
        for period, usd in summed(tables.spent(span="quarter")).items()
    }
    of = quarters if len(quarters) > QUARTERS_A_YEAR else whole
    if whole_past:
        of = {date: usd for date, usd in whole.items() if date < min(of)} | of
    dates = np.array(sorted(of))
    return dates, np.array([of[date] for date in dates])


QUARTERS_A_YEAR = 4


def _grown(time: Array, streams: Streams, *, last: float, date: float, growth: float, spread: float) -> Array:
    from scipy.special import ndtri

    gap = max(float(time[0]) - date, 0.0)
    z = ndtri(streams.uniforms("parameters", 1)[0])
    return np.asarray(last * np.exp(growth * gap + spread * np.sqrt(gap) * z))


#: Builds the model of what four companies spend a year at the start.
capex = _Capex.from_spec


# --- Paths around them ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Walk(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        return _Fitted(model=self, said="a standard random walk in continuous time, 0 at the start", draw=_walked)


def _walked(time: Array, streams: Streams) -> Array:
    steps = np.sqrt(np.maximum(np.diff(time, prepend=time[0]), 0))[:, None]
    return accumulate(np.add, steps * streams("walk").standard_normal((len(time), streams.draws)))


#: Builds a standard random walk.
walk = _Walk.from_spec


@dataclass(frozen=True, kw_only=True)
class _GrowthSpread(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        spread, dof = pooled_spread(Tables(as_of), GROWTHS)
        return _Fitted(
            model=self,
            said=f"{spread:.3f}: standard deviation of a year's logarithmic growth of spending, and of the power of "
            f"sites, around the mean of each, {dof} degrees of freedom",
            facts={"spread": spread},
            draw=partial(_drawn_number, number=spread),
        )


#: Builds the spread of growth of spending and of sites.
growth_spread = _GrowthSpread.from_spec


# --- A ratio as it stands -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Last(_OfLink):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        last = _known(self.link, Tables(as_of), self.name)[-1]
        return _Fitted(
            model=self,
            said=f"{last.value:.3g} at the end of {last.year}: {last.over}",
            facts={"year": float(last.year), "value": last.value},
            draw=partial(_drawn_number, number=last.value),
        )


#: Builds the model of a ratio as it was in its last year, as certain as the two figures in it.
last = _Last.from_spec


@dataclass(frozen=True, kw_only=True)
class _ShareGain(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        logs = np.log([ratio.value for ratio in read_ratios("run-share-growth", Tables(as_of))])
        if len(logs) < 2:
            raise DataError(f"{self.name}: expected two years of growth of the share, got {len(logs)}")
        mean, spread = float(logs.mean()), float(logs.std(ddof=1))
        return _Fitted(
            model=self,
            said=f"the share of spending that the largest run costs grew {np.exp(mean):.2f}-fold a year over "
            f"{len(logs)} years, with a standard deviation of {spread:.2f} in its logarithm",
            assumptions=("its pace goes on, as uncertain as so many years leave it, and it wanders as it did",),
            facts={"growth": mean, "spread": spread, "n": float(len(logs))},
            draw=partial(_share_path, mean=mean, spread=spread, n=len(logs)),
        )


def _share_path(time: Array, streams: Streams, *, mean: float, spread: float, n: int) -> Array:
    pace = _student(time, streams, middle=mean, error=spread / n**0.5, dof=n - 1.0)
    logs = pace * (time - time[0])[:, None] + spread * _walked(time, streams)
    return np.asarray(np.exp(np.clip(logs, -50.0, 50.0)))


#: Builds the path of the share of spending that the largest run costs, over that at the start.
share_gain = _ShareGain.from_spec


# --- Plans ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Planned(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        if as_of is not None:
            raise DataError(f"{self.name}: plans are those of 2026; which stood before is not kept")
        what = self.name.rpartition("-")[2]
        dates, values = _plans(what)
        return _Fitted(
            model=self,
            said=f"{values[-1]:,.3g} by {dates[-1]:.1f}",
            assumptions=("plans are done on the day: accounts-plan-delay says how late they are",),
            facts={"last": float(values[-1]), "date": float(dates[-1])},
            draw=partial(_planned_path, dates=dates, values=values, steps=what == "site"),
        )


def _plans(what: str) -> tuple[Array, Array]:
    """Return dates and what stands, or is spent a year, by then: of the largest site, tracked chips, or research."""
    from forecast import tables
    from forecast.tables import series

    if what == "research":
        spent = Tables()
        of = spent.spent("training compute", plan="yes") | spent.spent("research compute", plan="yes")
        years = {int(period) + 0.5: usd for (who, period), usd in of.items() if who == LAB}
        dates = np.array(sorted(years))
        return dates, np.array([years[date] for date in dates])
    table, column = ("data-centres", "power") if what == "site" else ("data-centre-totals", "h100_equivalents")
    rows = series.rows_as_of(
        f"datasets/{table}", where={"edition": RUNS_EDITION}, as_of=None, name="accounts", date="date"
    )
    dates, values = tables.decimal_year(rows.column("date")), rows.numeric(column)
    order = np.argsort(dates, kind="stable")
    return dates[order], np.maximum.accumulate(values[order])


def _planned_path(time: Array, streams: Streams, *, dates: Array, values: Array, steps: bool) -> Array:
    if steps:
        path = values[np.maximum(np.searchsorted(dates, time, side="right") - 1, 0)]
    else:
        path = np.exp(np.interp(time, dates, np.log(values)))
    return np.asarray(path)[:, None]


#: Builds the power of the largest site, the chips of all that are followed, or research, as planned.
planned = _Planned.from_spec


# --- How plans slip: two editions are kept, four months apart --------------------------------------------------------


def _check_editions_are_out(as_of: float | None, name: str) -> None:
    if as_of is not None and as_of <= EDITION_DAYS[1]:
        raise DataError(f"{name}: the later of two editions of the sites is of {EDITIONS[1]}")


@dataclass(frozen=True, kw_only=True)
class _PlanDelay(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        _check_editions_are_out(as_of, self.name)
        steps = due_steps()
        late, done = sum(step.late for step in steps), sum(step.done for step in steps)
        if not done:
            raise DataError(f"{self.name}: of {len(steps)} steps that were due none was done, so their delay is open")
        return _Fitted(
            model=self,
            said=f"of {len(steps)} sites whose next step was due between the editions {' and '.join(EDITIONS)}, {done} "
            f"had done it, and all together were {late:.2f} years late by then; delays are exponential, with a mean "
            f"of {12 * late / done:.0f} months, as uncertain as {done} steps leave it",
            assumptions=("plans for later years slip no more than steps that were due within four months: ours",),
            facts={"n": float(len(steps)), "done": float(done), "late": late},
            draw=partial(_mean_delay, late=late, done=done),
        )


def _mean_delay(time: Array, streams: Streams, *, late: float, done: int) -> Array:
    from scipy.special import gammaincinv

    return np.asarray(late / gammaincinv(done, streams.uniforms("parameters", 1)[0]))


#: Builds how late sites are in the mean: an exponential delay, where what is not done yet is censored.
plan_delay = _PlanDelay.from_spec


@dataclass(frozen=True, kw_only=True)
class _PlanGrowth(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        _check_editions_are_out(as_of, self.name)
        growth = np.array(list(plan_revisions().values())) / (EDITION_DAYS[1] - EDITION_DAYS[0])
        middle, error = float(growth.mean()), float(growth.std(ddof=1) / np.sqrt(len(growth)))
        return _Fitted(
            model=self,
            said=f"from the edition {EDITIONS[0]} to {EDITIONS[1]} the final power of {len(growth)} planned sites grew "
            f"by {middle:.2f} a year in its logarithm, with a standard error of {error:.2f}",
            assumptions=("plans go on to grow as they did in four months, until they are due: ours",),
            facts={"n": float(len(growth)), "middle": middle, "error": error},
            draw=partial(_student, middle=middle, error=error, dof=len(growth) - 1),
        )


#: Builds by how much the power that is planned at a site grows a year, from one edition to the next.
plan_growth = _PlanGrowth.from_spec
