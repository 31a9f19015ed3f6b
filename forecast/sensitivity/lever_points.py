"""A projection again at places of its levers: one lever is moved at a time, in the same worlds as without it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.errors import ForecastError, printable
from forecast.projection.result import Projection
from forecast.scenarios.quantities.levers import Lever

if TYPE_CHECKING:
    from forecast.scenarios.scenario import Scenario

#: At so many places of its range a number is computed: a straight line between two of them errs by less than the
#: Monte Carlo error of their dates.
N_COMPUTED_POINTS = 5
#: Joint samples of every point.
N_DRAWS = 1024
#: Bytes of draws that are kept from one point to the next.
_CACHE_BYTES = 96 * 2**20


@dataclass(frozen=True, kw_only=True)
class LeverPoint:
    """A projection with one lever moved.

    Parameters
    ----------
    lever : Lever
    value : str
        Where it stands: one of its `points`.
    run : Projection or None
        `beside` the same without the lever; None where it cannot be run.
    problem : str
        Why it cannot.
    """

    lever: Lever
    value: str
    run: Projection | None
    problem: str = ""


def movable(run: Projection) -> list[Lever]:
    """Return the levers of a projection that are numbers: the values of a choice stand side by side in it already.

    There are none in a sweep. Growth that was changed already is left out, for it would be changed twice.
    """
    changed, every = {str(change.get("of")) for change in run.settings.changes}, () if run.swept else run.levers
    return [each for each in every if not each.choice and not (each.since is not None and each.name in changed)]


def computed_points(run: Projection, lever: Lever) -> tuple[str, ...]:
    """Return at what a lever of a projection is computed beside where it stands: its ends, and places between."""
    if lever.since is not None:
        return lever.points(N_COMPUTED_POINTS, (1.0, ""))
    quantity = run.quantities.get(lever.name)
    if quantity is None or quantity.kind == "regime" or quantity.fixed is None:
        return lever.points(N_COMPUTED_POINTS)
    return lever.points(N_COMPUTED_POINTS, (quantity.fixed, quantity.unit))


def lever_points(
    run: Projection,
    scenario: str | Path | Scenario,
    *,
    draws: int = N_DRAWS,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[LeverPoint]:
    """Yield the points of every lever that is a number, with the projection there.

    Everything else is as in the projection: settings, changes, grid and seed.

    Parameters
    ----------
    run : Projection
    scenario : str, path or Scenario
        Of which it is one.
    draws : int
        At every point, and without a change; no more than the projection has.
    progress : callable, optional
        Called with (points done, points in all).

    Examples
    --------
    >>> import forecast
    >>> stated = {"start": 2025, "until": 2030, "quantities": {
    ...     "x": {"p05": 1, "p95": 4, "unit": "FLOP"}, "goal": {"value": 2, "unit": "FLOP"}},
    ...     "questions": {"q": {"when": "x >= goal"}}, "levers": {"goal": {"label": "Goal", "range": [1, 3]}}}
    >>> scenario = forecast.scenario(stated)
    >>> points = list(lever_points(forecast.project(scenario, draws=64), scenario, draws=64))
    >>> [each.value for each in points], points[0].run.answers["q"].headline.already > 0.9
    (['1', '1.5', '2.5', '3'], True)
    """
    from forecast.projection.answers.variations import Variations, can_vary
    from forecast.projection.engine import loaded, project
    from forecast.projection.paths.run_cache import RunCache

    if not (levers := movable(run)) or draws < 1:
        return
    settings, cache = run.settings, RunCache(_CACHE_BYTES)
    draws = min(draws, settings.draws)
    options: dict[str, Any] = {key: getattr(settings, key) for key in ("until", "start", "step", "seed", "as_of")}
    options |= {"draws": draws, "cache": cache}
    own, base_scenario = {**settings.set, **settings.swap}, loaded(scenario)
    changes = [_change_record(each) for each in settings.changes[len(base_scenario.changes) :]]  # beside the scenario's
    base = run if settings.draws == draws else _first_worlds(run, draws)
    base = base or project(scenario, with_=own, what_if=changes, ends=True, **options)
    every = [(lever, value) for lever in levers for value in computed_points(run, lever)]

    def alone(lever: Lever, value: str) -> Projection | str:
        keywords = lever.moved(value)
        with_, what_if = {**own, **keywords.get("with_", {})}, [*changes, *keywords.get("what_if", ())]
        try:
            return project(scenario, with_=with_, what_if=what_if, **options)
        except ForecastError as error:  # a number that a model does not take
            return printable(error, 200)

    together: Iterable[Projection | None] = itertools.repeat(None, len(every))
    if can_vary(base):
        all_variations = [((lever.name,), lever.moved(value)) for lever, value in every]
        together = Variations(base_scenario.changed(changes), base, cache).walk(all_variations)
    for done, ((lever, value), projection) in enumerate(zip(every, together, strict=True), 1):
        made = projection or alone(lever, value)
        if isinstance(made, str):
            yield LeverPoint(lever=lever, value=value, run=None, problem=made)
        else:
            there = made.beside(base, decided=False).conditioned(run.given)
            yield LeverPoint(lever=lever, value=value, run=there)
        if progress is not None:
            progress(done, len(every))


def _first_worlds(run: Projection, draws: int) -> Projection | None:
    """Return a projection of the first worlds of another, whose answers are computed of them.

    None where some answers cannot be: those of worlds that are weighed, ranked, or fail.
    """
    if run.settings.kept < run.settings.draws or "update" in run or "rankings" in run or run.failing:
        return None
    groups = {path: data.isel(draw=slice(draws)) if "draw" in data.dims else data for path, data in run.groups.items()}
    groups.pop("/pooled", None)
    dates = groups["/questions"]
    groups["/questions"] = dates.drop_vars([each.name for each in run.dates])
    return Projection(groups, {**run.texts, "draws": str(draws)})


def _change_record(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a change of a projection as it is stated: its growth is a factor."""
    return {**change, "growth": f"{change['growth']}*"} if "growth" in change else dict(change)
