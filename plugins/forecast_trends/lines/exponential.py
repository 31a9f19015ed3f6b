"""The exponential: a straight line in log value."""

from __future__ import annotations

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.models import FittedShape, Shape
from forecast_trends.autoregression import Mixture, Regressions
from forecast_trends.evidence import first_of_each_record, log_series
from forecast_trends.lines.line import FittedLine, design, regressed_lines
from forecast_trends.points import growth_facts, said_growth

__all__ = ["Exponential", "line_facts", "spacing", "straight"]

#: Residuals that follow one another more closely than this show a bend that a line cannot have.
_BENT = 0.6


class Exponential(Shape):
    """y = exp(a + g·(t − t0)), a line through log y whose noise follows itself.

    The noise is an autoregression from point to point, whose ρ is weighed and not plugged in (see
    `forecast_trends.autoregression`): the interval is honest about repetition. An observation to come goes on from the
    last one, and comes back to the line. Points are taken in order; uneven spacing is ignored.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.arange(2000.0, 2010.0)
    >>> round(Exponential().fit(t, 2.0 ** (t - 2000)).describe().facts["doubling_years"], 6)
    1.0
    """

    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Fit the line and count the evidence."""
        time, y = log_series(time, value, frontier=frontier)
        return straight(time, y, frontier=frontier)


def straight(time: Array, y: Array, *, frontier: bool, note: str = "") -> FittedLine:
    """Fit one straight line to log values `y`, with its evidence counted."""
    origin = float(time.mean())
    records = first_of_each_record(y) if frontier else None
    x = design(time, origin, None)
    plain, found = regressed_lines(x[None], y, records)
    weights = found.shares()
    mixed = Mixture.of(found, plain, weights)
    facts = line_facts(mixed, plain[0], found, weights, records, len(y))
    if (rho := facts["autocorrelation"]) > _BENT:
        note += f"; residuals follow one another (ρ = {rho:.2f}): a straight line fits this series poorly"
    return FittedLine(
        lines=mixed,
        breaks=None,
        central_line=plain[0],
        central_break=None,
        residuals=y - x @ plain[0],
        origin=origin,
        apart=spacing(time, found),
        last=(float(time[-1]), float(y[-1])),
        summary=_sentence(facts, frontier) + note,
        assumptions=(
            "growth stays at its fitted rate: no limit is built in",
            "log value is a straight line in time, and its scatter follows itself from point to point",
        ),
        facts=facts,
    )


def spacing(time: Array, found: Regressions) -> float:
    """Return the mean years from one point, or distinct record, to the next."""
    return float(np.ptp(time)) / max(found.size - 1, 1.0)


def line_facts(
    mixed: Mixture, central: Array, found: Regressions, weights: Array, records: BoolArray | None, points: int
) -> dict[str, float]:
    """Return growth after the last break with its 90 % interval, and the counts behind it."""
    size, rho = found.counted(weights)
    along = np.array([0.0, 1.0, 1.0])[: len(central)]
    facts = growth_facts(float(central @ along), mixed.quantile(0.05, along), mixed.quantile(0.95, along))
    facts = {"n": float(points), "n_effective": size, "autocorrelation": rho} | facts
    return facts if records is None else facts | {"n_records": float(records.sum())}


def _sentence(facts: dict[str, float], frontier: bool) -> str:
    """Say the doubling time, its interval, and how many points really count."""
    records = f", {facts['n_records']:.0f} distinct records" if frontier else ""
    return f"{said_growth(facts)} from {facts['n']:.0f} points{records} (effective n {facts['n_effective']:.1f})"
