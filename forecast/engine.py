"""Order → draw → sample → answer: a scenario becomes a projection. Owns draws and seeds."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import graph as graphs
from forecast import units
from forecast.dates import decimal_year, from_decimal_year
from forecast.errors import ForecastError, ScenarioError, UsageError, printable
from forecast.graph import Combination, Graph
from forecast.models import Model
from forecast.provenance import provenance
from forecast.questions import QUANTILES, crossing, date_quantiles
from forecast.registry import stdout_is_data
from forecast.scenario import Scenario
from forecast.streams import BLOCK, Streams, check_seed
from forecast.world import Fits, World

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["project"]

#: A projection larger than this is refused before it fills the memory.
LIMIT_BYTES = 4 << 30


def project(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    until: int | None = None,
    start: int | None = None,
    step: str | None = None,
    draws: int = 2000,
    seed: int | None = 0,
    set: Mapping[str, Any] | None = None,
    before: float | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> xr.DataTree:
    """Project a scenario: every quantity over time, in jointly drawn worlds, along every choice.

    Parameters
    ----------
    scenario : str, path, mapping or Scenario
        A registered name (``"brain-parity"``), a TOML file, or what such a file holds.
    until, start : int, optional
        Last and first year, instead of the scenario's.
    step : {"year", "month"}, optional
    draws : int
        Fewer draws are a prefix of more.
    seed : int or None
        None takes a fresh seed, recorded in the result.
    set : mapping, optional
        ``{"trend": "changepoint"}`` narrows a choice; ``{"brain": 1e18}`` fixes a quantity in its unit;
        ``{"brain/dettmers-2015.firing_rate": 100}`` fixes an input.
    before : float, optional
        Use only what was known before this decimal year.
    workers : int
        Threads; the result is bitwise the same for any number.
    progress : callable, optional
        Called with (blocks done, blocks in all).

    Returns
    -------
    xarray.DataTree
        ``/projection`` (time × draw × choices), ``/questions``, ``/observed/<quantity>``, ``/posterior/<model>``;
        everything needed to repeat it is in the attributes of the root.

    Raises
    ------
    UnknownNameError, ScenarioError, UnitError, UsageError
        If what was asked cannot be.
    ForecastError
        If a quantity fails in every combination of choices; one that fails in some is NaN there, and listed under
        ``failures`` in the root's attributes.

    Examples
    --------
    >>> import forecast
    >>> run = forecast.project({"start": 2025, "until": 2030, "quantities": {
    ...     "x": {"p05": 1, "p95": 4, "unit": "FLOP"}, "none": {"expression": "x - x"}}}, draws=10)
    >>> float(abs(run["projection"]["none"]).max())
    0.0
    """
    import xarray as xr

    asked = _scenario(scenario)
    seed = check_seed(seed)
    draws = _whole("draws", draws, 1, 100_000_000)
    workers = _whole("workers", workers, 1, 1024)
    graph = graphs.build(asked, set)
    fits = Fits(before=before, seed=seed)
    time = _time(graph, fits, until=until, start=start, step=step)
    _check_size(graph, len(time), draws, workers)

    sampled = _Sampled(graph, decimal_year(time), draws)
    blocks = range(-(-draws // BLOCK))
    # Swapping sys.stdout is no business of several threads at once: it is swapped here, around them all.
    with stdout_is_data(), ExitStack() as stack:
        # one worker is this thread: an interrupt then ends a slow model at once
        each = map if workers == 1 else stack.enter_context(ThreadPoolExecutor(max_workers=workers)).map
        drawn = each(lambda b: sampled.fill(World(graph, fits, sampled.years, seed, b)), blocks)
        for done, _ in enumerate(drawn, 1):
            if progress is not None:
                progress(done, len(blocks))
    sampled.raise_if_nothing_is_left()

    tree = {
        "/": xr.Dataset(),
        "/projection": sampled.projection(time),
        "/questions": sampled.questions(),
        **{f"/observed/{name}": data for name, data in _observed(graph, fits)},
        **{f"/posterior/{name}": data for name, data in _posteriors(graph, fits, seed, draws)},
    }
    described = {name: said for name, m in _models(graph).items() if (said := fits.describe(m)) is not None}
    result = xr.DataTree.from_dict(tree)
    result.attrs.update(
        provenance(
            graph,
            run={
                "seed": seed,
                "draws": draws,
                "start": int(sampled.years[0]),
                "until": int(sampled.years[-1]),
                "step": step or asked.step,
                "before": before,
            },
            settings=dict(set or {}),
            models=described,
            failures=sorted({*sampled.reasons(), *fits.failures.values()}),
        )
    )
    return result


def _scenario(given: str | Path | Mapping[str, Any] | Scenario) -> Scenario:
    if isinstance(given, Scenario):
        return given
    if isinstance(given, Mapping):
        return Scenario.from_dict(given)
    return Scenario.load(given)


def _whole(name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not low <= int(value) <= high:
        raise UsageError(f"{name}: expected a whole number from {low} to {high}, got '{printable(value, 40)}'")
    return int(value)


def _time(
    graph: Graph, fits: Fits, *, until: int | None, start: int | None, step: str | None
) -> NDArray[np.datetime64]:
    """Return the grid: the first day of every year, or of every month."""
    scenario = graph.scenario
    step = step or scenario.step
    if step not in ("year", "month"):
        raise UsageError(f"step: expected 'year' or 'month', got '{printable(step, 40)}'")
    last = _whole("until", scenario.until if until is None else until, 1, 9999) if until or scenario.until else None
    if last is None:
        raise ScenarioError(f"{scenario.where}: until: is missing: the last year of the projection")
    first = start if start is not None else scenario.start
    if first is None:
        first = _last_observation(graph, fits)
    if first is None:
        raise ScenarioError(f"{scenario.where}: start: is missing, and no quantity has observations to start from")
    first = _whole("start", first, 1, 9999)
    if last <= first:
        raise UsageError(f"until: expected a year after the first one, {first}, got {last}")
    grid = np.arange(f"{first:04d}-01", f"{last:04d}-02", 12 if step == "year" else 1, dtype="datetime64[M]")
    return grid.astype("datetime64[s]")


def _last_observation(graph: Graph, fits: Fits) -> int | None:
    ends = [float(points.time[-1]) for _, _, _, points in _points(graph, fits) if len(points.time)]
    return int(max(ends)) if ends else None


def _check_size(graph: Graph, steps: int, draws: int, workers: int) -> None:
    """Refuse what would fill the memory: what is kept, and the whole blocks that are being drawn."""
    cells = sum(math.prod(len(graph.scenario.choices[d]) for d in n.dims) for n in graph.nodes.values())
    blocks = BLOCK * min(workers, -(-draws // BLOCK))
    size = 8 * steps * cells * (draws + blocks)
    if size > LIMIT_BYTES:
        left = LIMIT_BYTES // (8 * steps * cells) - blocks
        hint = f"that is {left:,} draws" if left > 0 else "fewer steps or fewer choices fit"
        raise UsageError(
            f"draws: {draws:,} draws of {cells:,} quantities over {steps:,} steps need {size / 2**30:.1f} GiB; "
            f"{LIMIT_BYTES / 2**30:.0f} GiB is the limit: {hint}"
        )


class _Sampled:
    """The arrays that blocks fill, and what failed while they did."""

    def __init__(self, graph: Graph, years: Array, draws: int) -> None:
        self.graph, self.years, self.draws = graph, years, draws
        # By what failed and the combination: the block and the error. The first block's is kept, whichever thread
        # is first, so that the result is the same for any number of workers.
        self._failed: dict[tuple[str, Combination], tuple[int, ForecastError]] = {}
        self._lock = Lock()
        self._levels = {
            name: np.full((len(years), draws, *self._sizes(node.dims)), np.nan) for name, node in graph.nodes.items()
        }
        self._dims = {
            name: graph.dims([*question.when.left.names, *question.when.right.names])
            for name, question in graph.scenario.questions.items()
        }
        self._dates = {name: np.full((draws, *self._sizes(dims)), np.nan) for name, dims in self._dims.items()}
        self._already = {name: np.zeros(dates.shape, dtype=bool) for name, dates in self._dates.items()}

    def _sizes(self, dims: Iterable[str]) -> tuple[int, ...]:
        return tuple(len(self.graph.scenario.choices[d]) for d in dims)

    def _cells(self, dims: tuple[str, ...]) -> Iterator[tuple[Any, Combination]]:
        yield from zip(np.ndindex(*self._sizes(dims)), self.graph.combinations(dims), strict=True)

    def fill(self, world: World) -> None:
        """Compute one block and keep the part of it that was asked for."""
        low = world.block * BLOCK
        high = min(low + BLOCK, self.draws)
        part: slice[Any, Any, Any] = slice(low, high)
        lost: list[ForecastError] = []
        for name, node in self.graph.nodes.items():
            for index, combination in self._cells(node.dims):
                try:
                    drawn = world.quantity(name, combination)
                except ForecastError as error:
                    self._fail(name, combination, world.block, error)
                    lost.append(error)
                    continue
                self._levels[name][(slice(None), part, *index)] = drawn[:, : high - low]
        for name, question in self.graph.scenario.questions.items():
            dims, when = self._dims[name], question.when
            where = f"questions.{name}.when"
            unit = units.infer(when.left, self.graph.unit_of(), where=where)
            for index, combination in self._cells(dims):
                try:
                    greater, lesser = (
                        world.formula(side, dims, combination, target=unit, where=where)
                        for side in (when.greater_side, when.lesser_side)
                    )
                except ForecastError as error:
                    if not any(error is found for found in lost):  # else listed as the quantity's already
                        self._fail(name, combination, world.block, error)
                    continue
                found = crossing(self.years, greater, lesser, strict=when.op in (">", "<"))
                self._dates[name][(part, *index)] = found.date[: high - low]
                self._already[name][(part, *index)] = found.already[: high - low]

    def _fail(self, name: str, combination: Combination, block: int, error: ForecastError) -> None:
        with self._lock:
            first = self._failed.get((name, combination), (block, error))
            self._failed[name, combination] = min(first, (block, error), key=lambda found: found[0])

    def reasons(self) -> Iterator[str]:
        """Say what failed, where and why."""
        for (name, combination), (_, error) in self._failed.items():
            dims = self.graph.nodes[name].dims if name in self.graph.nodes else self._dims[name]
            chosen = ", ".join(f"{d} = {v}" for d, v in zip(dims, combination, strict=True))
            yield f"{name}{f' ({chosen})' if chosen else ''}: {error}"

    def raise_if_nothing_is_left(self) -> None:
        """Raise the failure of a quantity that failed in every combination."""
        for name, node in self.graph.nodes.items():
            errors = [self._failed.get((name, c)) for c in self.graph.combinations(node.dims)]
            if all(errors) and errors[0] is not None:
                raise errors[0][1]

    def projection(self, time: NDArray[np.datetime64]) -> xr.Dataset:
        """Return the levels as a dataset."""
        import xarray as xr

        data = {}
        for name, node in self.graph.nodes.items():
            data[name] = (("time", "draw", *node.dims), self._levels[name], {"units": node.unit})
        return xr.Dataset(data, coords={"time": time, **self._coordinates(self.graph.scenario.choices)})

    def _coordinates(self, dims: Iterable[str]) -> dict[str, Any]:
        used = {d for node in self.graph.nodes.values() for d in node.dims}
        return {d: (d, list(self.graph.scenario.choices[d])) for d in dims if d in used}

    def questions(self) -> xr.Dataset:
        """Return each question's quantiles, *already* and *never*, and the date of every draw."""
        import xarray as xr

        data: dict[str, Any] = {}
        dims_used = {d for dims in self._dims.values() for d in dims}
        for name, dims in self._dims.items():
            dates = self._dates[name]
            answered = ~np.isnan(dates).any(axis=0)
            quantiles = np.apply_along_axis(date_quantiles, 0, dates)
            finite = np.where(np.isfinite(dates), dates, np.nan)
            title = self.graph.scenario.questions[name].title or self.graph.scenario.questions[name].when.text
            data[name] = (("quantile", *dims), _stamps(quantiles), {"long_name": printable(title, 500)})
            data[f"{name}_already"] = (dims, np.where(answered, self._already[name].mean(axis=0), np.nan))
            data[f"{name}_never"] = (dims, np.where(answered, np.isposinf(dates).mean(axis=0), np.nan))
            data[f"{name}_date"] = (("draw", *dims), _stamps(finite))
        coords = {"quantile": list(QUANTILES.values())} if data else {}
        return xr.Dataset(
            data, coords={**coords, **self._coordinates(d for d in self.graph.scenario.choices if d in dims_used)}
        )


def _stamps(years: Array) -> NDArray[np.datetime64]:
    """Return dates; NaT where a date is infinite (never) or missing."""
    return from_decimal_year(np.where(np.isfinite(years), years, np.nan))


def _points(graph: Graph, fits: Fits) -> Iterator[tuple[str, Combination, Model, Any]]:
    """Walk the observations behind every quantity."""
    for name, node in graph.nodes.items():
        for combination, model in node.models.items():
            points = fits.observed(model)
            if points is not None:
                yield name, combination, model, points


def _observed(graph: Graph, fits: Fits) -> Iterator[tuple[str, xr.Dataset]]:
    """Return the points behind each quantity, each once, labelled by the choices that change them."""
    import xarray as xr

    by_name: dict[str, dict[Combination, tuple[Model, Any]]] = {}
    for name, combination, model, points in _points(graph, fits):
        by_name.setdefault(name, {})[combination] = (model, points)
    for name, found in by_name.items():
        own, unit = graph.nodes[name].own, graph.nodes[name].unit
        series = {
            c: (points.time.tobytes(), points.value.tobytes(), points, model) for c, (model, points) in found.items()
        }
        matters = [i for i in range(len(own)) if _changes(series, i)]
        kept: dict[Combination, tuple[Model, Any]] = {}
        for c, (_, _, points, model) in series.items():
            kept.setdefault(tuple(c[i] for i in matters), (model, points))
        time = np.concatenate([from_decimal_year(p.time) for _, p in kept.values()])
        value = np.concatenate([units.convert(p.value, p.unit, unit, where=name) for _, p in kept.values()])
        labels = {
            own[i]: ("point", np.concatenate([[c[k]] * len(p.time) for c, (_, p) in kept.items()]).astype(str))
            for k, i in enumerate(matters)
        }
        yield name, xr.Dataset({"value": ("point", value, {"units": unit})}, coords={"date": ("point", time), **labels})


def _changes(series: Mapping[Combination, tuple[bytes, bytes, Any, Any]], axis: int) -> bool:
    """Tell whether the points differ between any two combinations that differ in this choice alone."""
    seen: dict[Combination, tuple[bytes, bytes]] = {}
    for c, (time, value, _, _) in series.items():
        rest = (*c[:axis], *c[axis + 1 :])
        if seen.setdefault(rest, (time, value)) != (time, value):
            return True
    return False


def _models(graph: Graph) -> dict[str, Model]:
    """Return every model behind the quantities, and the models these contain, by name."""
    return {m.name: m for node in graph.nodes.values() for outer in node.models.values() for m in graphs.nested(outer)}


def _posteriors(graph: Graph, fits: Fits, seed: int, draws: int) -> Iterator[tuple[str, xr.Dataset]]:
    """Return the draws of every input and of every fitted parameter."""
    import xarray as xr

    blocks = range(-(-draws // BLOCK))
    for name, model in _models(graph).items():
        inputs = [key for key in graph.inputs if key.rpartition(".")[0] == name]
        worlds = [World(graph, fits, np.empty(0), seed, b) for b in blocks]
        data = {
            key.rpartition(".")[2]: np.concatenate([w.input(key, graph.inputs[key]) for w in worlds])[:draws]
            for key in inputs
        }
        drawn = [fits.posterior(model, Streams(seed, name, b)) for b in blocks]
        data |= {p: np.concatenate([d[p] for d in drawn])[:draws] for p in drawn[0] if all(p in d for d in drawn)}
        if data:
            yield name, xr.Dataset({p: ("draw", v) for p, v in data.items()})
