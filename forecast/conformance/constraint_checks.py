"""What the conformance kit asks of bounds: what is declared holds, and a series goes on where its observations end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.base.dates import iso_date
from forecast.base.distributions import distribution
from forecast.base.streams import DRAWS_PER_BLOCK, Streams
from forecast.conformance.law_checks import refuse
from forecast.conformance.shape_checks import BAND_QUANTILES, N_LAST, fewest
from forecast.contract.registry import Record
from forecast.contract.specs import Input, TrendSpec
from forecast.models.scales import Bounds, find_scale

if TYPE_CHECKING:
    from forecast.models.protocol import Model, Observations
    from forecast.projection.result import Projection


#: Rounding of values that come from logarithms.
CONSTRAINT_RTOL = 1e-9


def check_constraints(record: Record, model: Model, time: Array, draws: Array, *, whose: str = "") -> None:
    """Refuse draws, (time, draw), that leave what a model declares, naming the first date and the value."""
    spec = record.spec
    if isinstance(spec, TrendSpec) and (spec.frontier or spec.records) and model.keeps != "frontier":
        raise refuse(record, 'its series is a running maximum, and it does not declare keeps = "frontier"')
    problem = _find_breach(time, draws, model.keeps, model.bounds, model.at_most, model.unit)
    if problem:
        raise refuse(record, f"{whose}{problem}")


def _find_breach(time: Array, path: Array, keeps: str, bounds: Bounds, at_most: float | None, unit: str) -> str:
    """Say what a path breaks, when and with which value; nothing where it breaks nothing."""
    found: list[tuple[str, BoolArray]] = []
    if keeps == "frontier":
        falls = np.zeros(path.shape, dtype=bool)
        falls[1:] = path[1:] < path[:-1] * (1 - CONSTRAINT_RTOL)
        found.append(("keeps a frontier, and falls to", falls))
    if bounds:
        scale = find_scale(np.empty(0), unit=unit, declared=bounds)
        found.append((f"is on a scale of {scale.ends}, and is", scale.is_beyond(path)))
    if keeps == "positive":
        found.append(("keeps what is positive, and is", path <= 0))
    if at_most is not None:
        found.append((f"never exceeds {at_most:g}, and is", path > at_most))
    for said, bad in found:
        if bad.any():
            step, draw = np.argwhere(bad)[0]
            return f"{said} {path[step, draw]:.4g} {unit} on {iso_date(time[step])}".replace("  ", " ")
    return ""


def goes_on(record: Record, trends: list[tuple[Model, float]]) -> None:
    """Refuse a series whose last observation its own forecast does not hold, or whose frontier starts elsewhere.

    The band of one observation (90 %) at its date holds it; where it does not, so many of the last ten as chance
    explains. A frontier starts at the highest observation.

    Parameters
    ----------
    record : Record
    trends : list of (Model, float)
        The trend, or the members of its pool, and their weights.
    """
    seen, levels = _observations_and_draws(trends)
    low, high = np.quantile(levels, BAND_QUANTILES, axis=1)
    value = seen.value[-len(low) :]
    hits = (low * (1 - CONSTRAINT_RTOL) <= value) & (value <= high * (1 + CONSTRAINT_RTOL))
    least = fewest(len(hits))
    if not hits[-1] and hits.sum() < least:
        raise refuse(
            record,
            f"its last observation, {value[-1]:.4g} {seen.unit} on {iso_date(seen.time[-1])}, lies outside its band of"
            f" one (90 %), {low[-1]:.4g} to {high[-1]:.4g}, and {hits.sum()} of the last {len(hits)} lie inside; "
            f"{least} are the fewest that chance explains",
        )
    top = float(seen.value.max())
    for model, _ in trends:
        if model.keeps == "frontier":
            start = _sample_trend(model, seen.time[-1:], observed=False)
            off = float(start.flat[np.abs(start - top).argmax()])
            if abs(off - top) > CONSTRAINT_RTOL * top:
                raise refuse(
                    record,
                    f"its frontier starts at {off:.4g} {seen.unit} on {iso_date(seen.time[-1])}, not at {top:.4g}",
                )


def _observations_and_draws(trends: list[tuple[Model, float]]) -> tuple[Observations, Array]:
    """Return what was observed, and draws of one observation at the last dates, of all members by their weights."""
    most = max(weight for _, weight in trends)
    seen = trends[0][0].fit(seed=0).observed()
    drawn = [
        (_sample_trend(model, np.sort(seen.time)[-N_LAST:], observed=True), weight / most) for model, weight in trends
    ]
    return seen, np.concatenate([d[:, : max(round(share * d.shape[1]), 1)] for d, share in drawn], axis=1)


def _sample_trend(model: Model, time: Array, *, observed: bool) -> Array:
    """Draw a trend at dates."""
    inputs = {
        name: distribution(need.distribution, where=name).ppf(np.random.default_rng(i).random(DRAWS_PER_BLOCK))
        for i, (name, need) in enumerate(model.inputs.items())
        if isinstance(need, Input)
    }
    return model.fit(seed=0).sample(time, inputs, Streams(seed=0, node=model.name, block=0), observed=observed)


def of_run(record: Record, run: Projection) -> None:
    """Refuse a run of a scenario in which a quantity leaves what it declares, naming quantity, date and value."""
    time = run.years
    for name, stated in run.constraints.items():
        levels = run.worlds[name].transpose("time", ...)
        path = levels.values.reshape(len(time), -1)
        bounds = Bounds(**{key: stated[key] for key in ("scale", "floor", "ceiling") if key in stated})
        unit = levels.attrs.get("units", "")
        problem = _find_breach(time, path, stated.get("keeps", ""), bounds, stated.get("at_most"), unit)
        if problem:
            raise refuse(record, f"{name} {problem}")


def weighted_trends(record: Record) -> Iterator[tuple[Model, float]]:
    """Walk the trends that stand behind a series where nobody names a shape, with their weights."""
    from forecast.models import model

    spec = record.spec
    for shape, weight in [(spec.shape, 1.0)] if spec.shape else [(s.name, s.weight) for s in spec.shapes if s.weight]:
        yield model(record.full_name, shape=shape), weight
