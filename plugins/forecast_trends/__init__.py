"""Shapes of a trend: laws in time, each with an honest noise law, that fit any series of any plugin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from forecast import ModelSpec, ShapeSpec, hookimpl

#: How forecasts with each shape have done; `forecast_trends.pool.make` writes it.
POOL_RECORD = str(Path(__file__).with_name("pool") / "track-record.csv")
#: How often levels were reached by a date, as each shape stated; written beside it.
POOL_CROSSINGS = str(Path(__file__).with_name("pool") / "crossings.csv")


@hookimpl
def forecast_shapes() -> Iterator[ShapeSpec]:
    """Bring every shape, with its records."""
    for spec in (*_lasting(), *_limited(), *_wandering()):
        yield replace(spec, record=POOL_RECORD, crossings=POOL_CROSSINGS)


def _lasting() -> Iterator[ShapeSpec]:
    """Several shapes together, and growth that lasts."""
    yield ShapeSpec(
        name="pool",
        title="Several shapes together, as wide as the record of other series asks for",
        target="forecast_trends.pool.shape:Pool",
        members=("trends/local-linear", "trends/damped-trend", "trends/changepoint", "trends/recent-line"),
        record_members=("trends/steps",),
        reference="Lichtendahl, K. C., Grushka-Cockayne, Y. & Winkler, R. L. (2013), Is it better to average "
        "probabilities or quantiles?, Management Science 59(7), 1594-1611; the weights are ours, from rolling origins",
    )
    yield ShapeSpec(
        name="exponential",
        title="A straight line in log value over time",
        target="forecast_trends.lines.exponential:Exponential",
        reference="Moore, G. E. (1965), Cramming more components onto integrated circuits, Electronics 38(8)",
    )
    yield ShapeSpec(
        name="recent-line",
        title="A line through the latest points, whose growth dies away",
        target="forecast_trends.lines.recent_line:RecentLine",
        reference="Gardner, E. S. & McKenzie, E. (1985), Forecasting trends in time series, Management Science 31(10), "
        "1237-1246; that five points count, and growth dies away over half the span, is ours, from rolling origins",
    )
    yield ShapeSpec(
        name="changepoint",
        title="Two straight lines in log value that meet at a tested break",
        target="forecast_trends.lines.changepoint:Changepoint",
        reference="Andrews, D. W. K. (1993), Tests for parameter instability and structural change with unknown change "
        "point, Econometrica 61(4), 821-856; null distribution by simulation with autocorrelated noise",
    )


def _limited() -> Iterator[ShapeSpec]:
    """Growth that ends, or comes in steps, or is bounded from above."""
    yield ShapeSpec(
        name="logistic",
        title="Growth towards a cap that falls with what has been reached",
        target="forecast_trends.limits.bounded_shape:Logistic",
        reference="Verhulst, P.-F. (1838), Notice sur la loi que la population suit dans son accroissement, "
        "Correspondance mathématique et physique 10, 113-121",
    )
    yield ShapeSpec(
        name="gompertz",
        title="Growth towards a cap that falls exponentially in time",
        target="forecast_trends.limits.bounded_shape:Gompertz",
        reference="Gompertz, B. (1825), On the nature of the function expressive of the law of human mortality, "
        "Philosophical Transactions of the Royal Society 115, 513-583",
    )
    yield ShapeSpec(
        name="staircase",
        title="Steady growth and one-off features, each with a date, an adoption curve and a gain",
        target="forecast_trends.limits.staircase:Staircase",
        reference="Dettmers 2025-12-10, Why AGI Will Not Happen (16-bit, tensor cores, HBM, TMA, 8-bit, 4-bit: one-off "
        "features); logistic adoption after Fisher & Pry (1971), Technological Forecasting and Social Change 3, 75-88",
    )
    yield ShapeSpec(
        name="steps",
        title="A record that waits for the next one, and steps that shrink",
        target="forecast_trends.limits.steps:Steps",
        reference="Glick, N. (1978), Breaking records and breaking boards, The American Mathematical Monthly 85(1), "
        "2-26; the prior is ours, from records that are not shipped",
    )
    yield ShapeSpec(
        name="frontier",
        title="The line below which a share tau of all observations lies",
        target="forecast_trends.limits.frontier:Frontier",
        reference="Koenker, R. & Bassett, G. (1978), Regression quantiles, Econometrica 46(1), 33-50",
    )


def _wandering() -> Iterator[ShapeSpec]:
    """Growth that shocks move."""
    yield ShapeSpec(
        name="random-walk",
        title="A random walk with drift in log value, with moving-average noise",
        target="forecast_trends.walks.walk:RandomWalk",
        reference="Farmer, J. D. & Lafond, F. (2016), How predictable is technological progress?, Research Policy "
        "45(3), 647-665",
    )
    yield ShapeSpec(
        name="experience",
        title="An experience curve: so much with every doubling of what was ever made",
        target="forecast_trends.learning.experience:Experience",
        reference="Wright, T. P. (1936), Factors affecting the cost of airplanes, Journal of the Aeronautical Sciences "
        "3(4), 122-128; Lafond, F. et al. (2018), How well do experience curves predict technological progress?, "
        "Technological Forecasting and Social Change 128, 104-117",
    )
    yield ShapeSpec(
        name="damped-trend",
        title="Exponential smoothing of log value with growth that dies away",
        target="forecast_trends.walks.damped:DampedTrend",
        reference="Gardner, E. S. & McKenzie, E. (1985), Forecasting trends in time series, Management Science 31(10), "
        "1237-1246; Hyndman, R. J. et al. (2008), Forecasting with exponential smoothing, Springer",
    )
    yield ShapeSpec(
        name="local-linear",
        title="A level and a growth of log value that both wander",
        target="forecast_trends.walks.local_linear:LocalLinear",
        reference="Harvey, A. C. (1989), Forecasting, structural time series models and the Kalman filter, Cambridge "
        "University Press",
    )


@hookimpl
def forecast_models() -> tuple[ModelSpec, ...]:
    """Bring the growth of another quantity."""
    return (
        ModelSpec(
            name="growth",
            title="Growth a year of another quantity, over five years",
            quantity="trends.growth",
            unit="1/year",
            target="forecast_trends.growth:growth",
            reference="The difference of logarithms over time; nothing is fitted",
        ),
    )
