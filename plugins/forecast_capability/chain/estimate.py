"""What the chain says of points per order of compute and of the pace of algorithms, and whether its intervals hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from forecast.base.arrays import Array
from forecast_capability.chain.likelihood import Asked, Chain, Form
from forecast_capability.chain.posterior import JITTER, Posterior, sample, state
from forecast_capability.chain.rows import DISCLOSED, RUN, Rows

__all__ = [
    "ESTIMATE_CASES",
    "FIRST_INDEX_YEAR",
    "NOW",
    "QUANTITIES",
    "Case",
    "Estimate",
    "estimate",
    "evidences",
    "interval_coverage",
]

#: The dates between which paces are means: the first models of the index, and the end of the tables.
FIRST_INDEX_YEAR, NOW = 2023.25, 2026.75
#: Orders over 1e25 FLOP of a run of 2e26 FLOP.
FAR = 1.3
ESTIMATED = tuple(Asked(what, date) for what in ("compute", "algorithms") for date in (FIRST_INDEX_YEAR, NOW))

#: What is estimated, and what each is called.
QUANTITIES = {
    "points": "points of the index per order of compute (at 1e25 FLOP)",
    "points_far": "... at 2e26 FLOP",
    "pace": "pace of algorithms, orders of compute a year",
    "growth": "growth of the largest run, orders a year",
    "points_a_year": "points a year from both",
    "doublings": "doublings of the horizon per point",
    "scatter": "scatter of models at the frontier, points",
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """An estimate to be compared with the others: without some rows, or from another prior.

    Parameters
    ----------
    title : str
    disclosed : bool
        Models of disclosed compute are among the rows.
    centre : float
        The median of points per order before the data.
    """

    title: str
    disclosed: bool = True
    centre: float = 10.0


ESTIMATE_CASES = (
    Case(title="all rows"),
    Case(title="without models of disclosed compute", disclosed=False),
    Case(title="prior of points centred at 5", centre=5.0),
    Case(title="prior of points centred at 20", centre=20.0),
)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Draws of what `QUANTITIES` names, (draw,) each.

    Parameters
    ----------
    rows : int
        How many it rests on.
    draws : mapping of str to ndarray
    evidence : float
        The logarithm of the density of the rows under the form.
    """

    rows: int
    draws: dict[str, Array]
    evidence: float

    @property
    def correlation(self) -> float:
        """That of points per order with the pace of algorithms."""
        return float(np.corrcoef(self.draws["points"], self.draws["pace"])[0, 1])

    def quantiles(self, name: str) -> tuple[float, float, float]:
        """Return the 5, 50 and 95 % quantiles."""
        low, middle, high = np.quantile(self.draws[name], [0.05, 0.5, 0.95])
        return float(low), float(middle), float(high)


def estimate(
    rows: Rows, form: Form, case: Case = ESTIMATE_CASES[0], *, worth: float = 250.0, seed: int = 0
) -> Estimate:
    """Estimate from rows, under a form.

    Parameters
    ----------
    rows : Rows
    form : Form
    case : Case
    worth : float
        Of how many independent draws the estimate is worth.
    seed : int
    """
    rows = rows if case.disclosed else rows.undisclosed
    chain = Chain(rows=rows, form=replace(form, points=case.centre))
    posterior = sample(chain, draws=1200, worth=worth, seed=seed)
    return Estimate(rows=len(rows), draws=_derived(rows, posterior, seed), evidence=posterior.evidence)


def evidences(rows: Rows, form: Form, *, worth: float = 250.0, seed: int = 0) -> tuple[float, float]:
    """Return the log evidence of a form by all rows, and by those of the frontier given runs and disclosed models.

    The first counts how well a form says what models of disclosed compute score, most of them small and open; the
    second, which is what a forecast of the frontier needs, what the others score and for how long they work.
    """
    known = rows.take((rows.compute == RUN) | ((rows.compute == DISCLOSED) & ~rows.horizon))
    whole, part = (sample(Chain(rows=each, form=form), draws=1, worth=worth, seed=seed) for each in (rows, known))
    return whole.evidence, whole.evidence - part.evidence


def _derived(rows: Rows, posterior: Posterior, seed: int) -> dict[str, Array]:
    """Return what is derived from the numbers and the state given them."""
    chain = Chain(rows=rows, form=posterior.form, asked=ESTIMATED)
    return _quantities(posterior.numbers, state(chain, posterior, seed=seed))


def _quantities(numbers: dict[str, Array], asked: Array) -> dict[str, Array]:
    """Return the quantities from numbers and from C and A at both dates."""
    years = NOW - FIRST_INDEX_YEAR
    bend = numbers.get("bend", np.zeros(len(asked)))
    growth, pace = (asked[:, 1] - asked[:, 0]) / years, (asked[:, 3] - asked[:, 2]) / years
    far = numbers["points"] * np.exp(-bend * FAR)
    return {
        "points": numbers["points"],
        "points_far": far,
        "pace": pace,
        "growth": growth,
        "points_a_year": numbers["points"] * pace + far * growth,
        "doublings": numbers["doublings"],
        "scatter": numbers["frontier_scatter"],
    }


def interval_coverage(
    rows: Rows, form: Form, *, chains: int = 200, worth: float = 100.0, seed: int = 0
) -> Iterator[dict[str, bool]]:
    """Say of each simulated chain which true quantities lie in the 90 % interval that its rows give.

    The numbers are drawn from the prior, the state and the values of the rows from the likelihood at these numbers:
    dates, stated compute and errors of measurement are those of `rows`, and a horizon that is censored there is so
    where it exceeds a limit. (Drawn where the data put them, the truth would be known to the estimate beforehand.)

    Parameters
    ----------
    rows : Rows
    form : Form
    chains : int
    worth : float
        Of how many independent draws each estimate is worth.
    seed : int

    References
    ----------
    Cook, Gelman & Rubin (2006), Validation of software for Bayesian models using posterior quantiles, Journal of
    Computational and Graphical Statistics 15(3), 675-692.
    """
    for one in range(chains):
        rng = np.random.default_rng([seed, one])
        numbers = {each.name: each.median * float(np.exp(each.spread * rng.standard_normal())) for each in form.numbers}
        told, asked = _simulated(rows, form, numbers, rng)
        truth = _quantities({name: np.array([value]) for name, value in numbers.items()}, asked[None, :])
        found = estimate(told, form, worth=worth, seed=one)
        yield {
            name: bool(found.quantiles(name)[0] <= float(truth[name][0]) <= found.quantiles(name)[2])
            for name in QUANTITIES
        }


def _simulated(rows: Rows, form: Form, numbers: dict[str, float], rng: np.random.Generator) -> tuple[Rows, Array]:
    """Return rows drawn at these numbers, and C and A behind them."""
    chain, n = Chain(rows=rows, form=form, asked=ESTIMATED), len(rows)
    mean, covariance = chain.moments(numbers)
    covariance[np.diag_indices_from(covariance)] += JITTER
    drawn = mean + np.linalg.cholesky(covariance) @ rng.standard_normal(len(mean))
    # limits are set before anything is known: at what the middle of the prior expects of the row
    limit = chain.moments({each.name: each.median for each in form.numbers})[0][:n]
    beyond = rows.at_least & (drawn[:n] > limit)
    return replace(rows, value=np.where(beyond, limit, drawn[:n]), at_least=beyond), drawn[n:]
