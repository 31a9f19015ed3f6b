"""The exponential: a straight line in log value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forecast.models import FittedShape, Shape
from forecast_trends.evidence import Evidence, evidence, first_of_each_record, log_series
from forecast_trends.lines.line import FittedLine, Line, degrees_of_freedom, solve, stretch
from forecast_trends.points import said_growth

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Exponential", "growth_facts", "straight"]

#: Residuals that follow one another more closely than this show a bend that a line cannot have.
_BENT = 0.6


class Exponential(Shape):
    """y = exp(a + g·(t − t0)), fitted by least squares on log y.

    The interval is honest about repetition: see `forecast_trends.evidence.evidence`.

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
    import numpy as np

    origin = float(time.mean())
    line = solve(time, y, origin, None)
    records = first_of_each_record(y) if frontier else None
    counted = evidence(line.residuals, records)
    facts = growth_facts(line, counted, records)
    if counted.autocorrelation > _BENT:
        rho = counted.autocorrelation
        note += f"; residuals follow one another (ρ = {rho:.2f}): a straight line fits this series poorly"
    fitted = FittedLine(
        lines=(line,),
        weights=np.ones(1),
        origin=origin,
        evidence=counted,
        summary=_sentence(facts, frontier) + note,
        assumptions=(
            "growth stays at its fitted rate: no limit is built in",
            "log value is a straight line in time with Student-t scatter",
        ),
        facts=facts,
    )
    return fitted


def growth_facts(line: Line, counted: Evidence, records: NDArray[np.bool_] | None) -> dict[str, float]:
    """Return growth after the last break with its 90 % interval, and the counts behind it."""
    import numpy as np
    from scipy.special import stdtrit

    k = len(line.coefficients)
    pick = np.array([0.0, 1.0, 1.0][:k])
    growth = float(pick @ line.coefficients)
    spread = stretch(line, counted) * float(np.linalg.norm(pick @ line.root))
    half = float(stdtrit(degrees_of_freedom(counted, k), 0.95)) * spread
    facts = {
        "n": float(len(line.residuals)),
        "n_effective": counted.size,
        "autocorrelation": counted.autocorrelation,
        "growth_per_year": growth,
        "growth_p05": growth - half,
        "growth_p95": growth + half,
        "doubling_years": float(np.log(2) / growth) if growth else float("inf"),
        "doubling_p05": float(np.log(2) / (growth + half)) if growth + half > 0 else float("inf"),
        "doubling_p95": float(np.log(2) / (growth - half)) if growth - half > 0 else float("inf"),
    }
    if records is not None:
        facts["n_records"] = float(records.sum())
    return facts


def _sentence(facts: dict[str, float], frontier: bool) -> str:
    """Say the doubling time, its interval, and how many points really count."""
    records = f", {facts['n_records']:.0f} distinct records" if frontier else ""
    return f"{said_growth(facts)} from {facts['n']:.0f} points{records} (effective n {facts['n_effective']:.1f})"
