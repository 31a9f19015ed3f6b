"""Functions over time: what they give on whole paths, and at one step from the rows so far.

A path is (time, draw), or (1, draw) where it does not change. `over_time` computes a function for every step at once;
`at_step` computes one row and reads no later one, for those who walk through time. Both go through one interpolation:
linear in time, and in the logarithm where both neighbours are positive.

What a path was before the first step is its `Past`: what was observed, or a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array, IntArray, accumulate
from forecast.errors import DataError, ScenarioError, printable

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.scenarios.graph import ScenarioGraph


#: Dates closer than this are the same: a third of a second, far above the rounding of a decimal year.
SAME_DATE = 1e-8
#: How many years `growth` looks back where nobody says.
ONE_YEAR = 1.0


@dataclass(frozen=True)
class HistoryOf:
    """Where the past of a quantity is found: what its model has observed, and what the scenario says.

    Parameters
    ----------
    name, unit : str
    before : float or None
        What it was where nobody observed it.
    model : Model or None
        The one that has observations.
    """

    name: str
    unit: str
    before: float | None
    model: Model | None

    @classmethod
    def of(cls, graph: ScenarioGraph, name: str, chosen: Mapping[str, str]) -> HistoryOf:
        """Return that of a quantity under these values of the choices."""
        node = graph.nodes[name]
        model = node.models.get(node.own_in(chosen))
        return cls(name, node.unit, graph.scenario.before.get(name), None if model is None else model.rests_on())


@dataclass(frozen=True, kw_only=True)
class Past:
    """What a path was before its first step.

    Parameters
    ----------
    name : str
        The quantity, for messages.
    time, value : ndarray
        What was observed: decimal years, increasing, and values, (n,).
    before : float or None
        What it was where nobody observed it.
    record : float or None
        The highest observation, where several of one date count as their mean; by default the highest `value`.
    """

    name: str
    time: Array = field(default_factory=lambda: np.empty(0))
    value: Array = field(default_factory=lambda: np.empty(0))
    before: float | None = None
    record: float | None = None

    @classmethod
    def observed(cls, name: str, time: Array, value: Array, *, start: float, before: float | None = None) -> Past:
        """Return the past that points tell: those before `start`; several of one date count as their mean.

        Positive values have a geometric mean.

        Examples
        --------
        >>> past = Past.observed("x", np.array([2024.0, 2023.0, 2024.0]), np.array([1.0, 3.0, 4.0]), start=2025.0)
        >>> past.time.tolist(), past.value.round(12).tolist()
        ([2023.0, 2024.0], [3.0, 2.0])
        """
        kept = (time < start - SAME_DATE) & np.isfinite(value)
        dates, which, count = np.unique(time[kept], return_inverse=True, return_counts=True)
        seen = value[kept]
        positive = bool((seen > 0).all())
        mean = np.bincount(which, np.log(seen) if positive else seen, len(dates)) / count
        record = float(seen.max(initial=-np.inf))
        return cls(name=name, time=dates, value=np.exp(mean) if positive else mean, before=before, record=record)

    @property
    def known(self) -> bool:
        """Whether anything is known of it."""
        return self.before is not None or len(self.time) > 0

    def highest(self) -> float:
        """Return the highest value; minus infinity where nothing is known."""
        seen = self.value.max(initial=-np.inf) if self.record is None else self.record
        return float(seen if self.before is None else max(seen, self.before))

    def at(self, when: Array, start: float, first: Array | None, function: str) -> Array:
        """Return what a path was at dates before its first step.

        Parameters
        ----------
        when : ndarray
            Decimal years, (m, 1) or (m, draw).
        start : float
            The first step.
        first : ndarray or None
            The path's first row, (draw,): dates after the last observation are interpolated towards it. Without it the
            last observation stays constant.
        function : str
            Which asks, for the message.

        Raises
        ------
        ScenarioError
            Where nothing is known, naming the quantity.
        """
        unseen = np.ones(when.shape, dtype=bool) if not len(self.time) else when < self.time[0] - SAME_DATE
        if unseen.any() and self.before is None:
            self._refuse(float(when[unseen].max()), start, function)
        if not len(self.time):
            return np.full(when.shape, self.before)
        value = _interpolate_rows(self.time, self.value[:, np.newaxis], np.minimum(when, self.time[-1]))
        late = when > self.time[-1] + SAME_DATE
        if late.any() and first is not None:
            share = (when - self.time[-1]) / (start - self.time[-1])
            value = np.where(late, _interpolate_positive(self.value[-1], first, np.clip(share, 0.0, 1.0)), value)
        return value if self.before is None else np.where(unseen, self.before, value)

    def _refuse(self, when: float, start: float, function: str) -> None:
        last = f"the first observation is of {self.time[0]:.6g}" if len(self.time) else "nothing was observed"
        way = f"[quantities.{self.name}] before = NUMBER says what it was"
        if not self.name.isidentifier():
            way = f"make '{printable(self.name, 40)}' a quantity of its own, where before = NUMBER says what it was"
        raise ScenarioError(
            f"{_call(function, self)} needs '{printable(self.name, 60)}' at {when:.6g}, before the first step, "
            f"{start:.6g}, and {last}; {way}"
        )


def over_time(function: str, time: Array, path: Array, argument: Array | float | None, past: Past) -> Array:
    """Compute a function of a whole path.

    Parameters
    ----------
    function : str
        ``previous``, ``lag``, ``growth``, ``maximum``, ``since``, ``once`` or ``at``.
    time : ndarray
        Decimal years, increasing, (time,).
    path : ndarray
        (time, draw), or (1, draw) where it does not change with time.
    argument : ndarray, float or None
        The years of ``lag`` and ``growth``, the date of ``at``: a number, (1, draw) or (time, draw).
    past : Past
        What the path was before.

    Returns
    -------
    ndarray
        (time, draw), or (1, draw) where it does not change with time.

    Raises
    ------
    ScenarioError
        Where the past is needed and not known, naming the quantity; where a date lies beyond the last step.
    DataError
        For years that are negative, or no numbers.

    Examples
    --------
    >>> time, path = np.array([2025.0, 2026.0, 2027.0]), np.array([[1.0], [4.0], [9.0]])
    >>> over_time("previous", time, path, None, Past(name="x", before=0.5)).ravel().tolist()
    [0.5, 1.0, 4.0]
    >>> over_time("lag", time, path, 0.5, Past(name="x", before=0.5)).ravel().round(9).tolist()
    [0.5, 2.0, 6.0]
    """
    if function == "maximum":
        return np.maximum(accumulate(np.maximum, path), past.highest())
    if function == "once":
        return accumulate(np.maximum, _condition_mask(path))
    if function == "since":
        once = np.broadcast_to(accumulate(np.maximum, _condition_mask(path)), (len(time), path.shape[1]))
        years = time[:, np.newaxis] - time[(once == 1).argmax(axis=0)]
        return np.where(np.isnan(once), np.nan, np.where(once == 1, years, 0.0))
    given = None if argument is None else np.atleast_2d(np.asarray(argument, dtype=np.float64))
    if len(path) == 1 and not past.known:  # it has always been what it is
        _check(function, given, past)
        return np.zeros_like(path) if function == "growth" else path
    rows = np.broadcast_to(path, (len(time), path.shape[1]))
    fixed = function == "at" and given is not None and len(given) == 1
    return _looked_up(function, np.arange(len(time))[-1 if fixed else 0 :], time, rows, given, past)


def at_step(
    function: str, step: int, time: Array, rows: Array, own: Array, argument: Array | float | None, past: Past
) -> Array:
    """Compute a function at one step, from the rows so far.

    Parameters
    ----------
    function : str
    step : int
        Which step.
    time : ndarray
        Decimal years, increasing, (time,).
    rows : ndarray
        The path: its rows up to this step, (step + 1, draw); up to the one before it where that suffices, as for
        ``previous``, and for ``lag`` by a step or more.
    own : ndarray
        What the function gave at the steps before, (step, draw).
    argument : ndarray, float or None
        At this step: a number or (draw,).
    past : Past

    Returns
    -------
    ndarray
        (draw,)

    Raises
    ------
    ScenarioError, DataError
        As `over_time`; and where a row is needed that is not there yet.
    """
    last = own[step - 1] if step else None
    if function == "maximum":
        return np.asarray(np.maximum(rows[step], past.highest() if last is None else last))
    if function == "once":
        return _condition_mask(rows[step]) if last is None else np.maximum(last, _condition_mask(rows[step]))
    if function == "since":
        if last is None:
            return 0.0 * _condition_mask(rows[step])
        running = (last > 0) | (_condition_mask(rows[step - 1]) == 1)
        unknown = np.isnan(last) | np.isnan(rows[step]) | np.isnan(rows[step - 1])
        return np.where(unknown, np.nan, np.where(running, last + (time[step] - time[step - 1]), 0.0))
    if function == "previous" and step:
        return np.asarray(rows[step - 1])
    given = None if argument is None else np.atleast_1d(np.asarray(argument, dtype=np.float64))[np.newaxis]
    found = _looked_up(function, np.array([step]), time, rows, given, past)
    return np.asarray(np.broadcast_to(found, (1, rows.shape[1]))[0])


def step_reader(
    function: str, time: Array, argument: Array | float | None, past: Past
) -> Callable[[int, Array, Array], Array]:
    """Return what computes a function at a step, of the rows so far and of its own, where its argument is known before.

    It gives what `at_step` does. Where all worlds lag by the same time, the rows that steps read are found once for all
    of them.

    Parameters
    ----------
    function : str
    time : ndarray
        Decimal years, increasing, (time,).
    argument : ndarray, float or None
        A number, (1, draw) or (time, draw), as `over_time` takes it.
    past : Past

    Examples
    --------
    >>> time, rows = np.array([2025.0, 2026.0, 2027.0]), np.array([[1.0], [4.0], [9.0]])
    >>> lag = step_reader("lag", time, 0.5, Past(name="x"))
    >>> lag(2, rows, np.empty((2, 1))).round(9).tolist()
    [6.0]
    """
    years = np.atleast_2d(np.asarray(np.nan if argument is None else argument, dtype=np.float64))

    def whole(step: int, rows: Array, own: Array) -> Array:
        given = None if argument is None else years[min(step, len(years) - 1)]
        return at_step(function, step, time, rows, own, given, past)

    if function != "lag" or not ((years == years[:, :1]) & (years >= 0) & (years < np.inf)).all():
        return whole
    when = time - years[:, 0]
    early = when < time[0] - SAME_DATE
    below, above, share = _enclosing_steps(time, np.maximum(when, time[0]))

    def read(step: int, rows: Array, own: Array) -> Array:
        if early[step] or above[step] >= len(rows):
            return whole(step, rows, own)
        return _interpolate_positive(rows[below[step]], rows[above[step]], share[step])

    return read


def _call(function: str, past: Past) -> str:
    return f"{function}({printable(past.name, 60)})"


def _condition_mask(condition: Array) -> Array:
    return np.where(np.isnan(condition), np.nan, condition != 0)


def _check(function: str, argument: Array | None, past: Past) -> None:
    """Refuse years and dates that are none."""
    if argument is None:
        return
    least = {"growth": "above 0", "lag": "at least 0"}.get(function, "finite")
    fits = np.isfinite(argument) & {"growth": argument > 0, "lag": argument >= 0}.get(function, True)
    if not fits.all():
        what = "a date" if function == "at" else "years"
        wrong = float(argument[~fits].flat[0])
        raise DataError(f"{function}({printable(past.name, 60)}, ...): expected {what} {least}, got {wrong:g}")


def _looked_up(function: str, steps: IntArray, time: Array, rows: Array, argument: Array | None, past: Past) -> Array:
    """Compute, at some steps, what reads the path at other dates; `rows` are the ones that are known."""
    _check(function, argument, past)
    if function == "previous":
        index = steps - 1
        shifted = rows[np.maximum(index, 0)] if len(rows) else np.empty((len(steps), rows.shape[1]))
        if index[0] < 0:
            step = time[1] - time[0] if len(time) > 1 else ONE_YEAR
            shifted[0] = past.at(np.array([[time[0] - step]]), time[0], None, function)[0]
        return shifted
    now = time[steps][:, np.newaxis]
    if function == "growth":
        years = np.array([[ONE_YEAR]]) if argument is None else argument
        with np.errstate(divide="ignore", invalid="ignore"):
            gained = np.log(rows[steps]) - np.log(_rows_at_dates(now - years, time, rows, past, function))
            return np.asarray(gained / years)
    assert argument is not None
    when = argument if function == "at" else now - argument
    if function == "at" and len(argument) == len(time):
        when = argument[steps]
    return _rows_at_dates(when, time, rows, past, function)


def _rows_at_dates(when: Array, time: Array, rows: Array, past: Past, function: str) -> Array:
    """Return a path at dates, (m, 1) or (m, draw); `rows` are the ones that are known."""
    known = time[: len(rows)]
    end = known[-1] if len(rows) else -np.inf
    early = when < time[0] - SAME_DATE
    if (~early & (when > end + SAME_DATE)).any():
        latest = float(when[when > end + SAME_DATE].max())
        last = f"the last step is {end:.6g}" if len(rows) == len(time) else "that is not known yet: a longer lag is"
        raise ScenarioError(f"{_call(function, past)} needs '{printable(past.name, 60)}' at {latest:.6g}; {last}")
    if early.all():
        found = past.at(when, time[0], rows[0] if len(rows) else None, function)
        return np.broadcast_to(found, (len(when), rows.shape[1]))
    value = _interpolate_rows(known, rows, np.maximum(when, time[0]))
    if not early.any():
        return value
    before = past.at(np.where(early, when, when[early].max()), time[0], rows[0], function)
    return np.where(early, before, value)


def _interpolate_rows(time: Array, rows: Array, when: Array) -> Array:
    """Interpolate rows at dates between the first and the last of them; what lies before the first is the first."""
    below, above, share = _enclosing_steps(time, when)
    return _interpolate_positive(_taken(rows, below), _taken(rows, above), share)


def _enclosing_steps(time: Array, when: Array) -> tuple[IntArray, IntArray, Array]:
    """Return between which two steps dates lie, and how far from the first of them, as a share."""
    below = np.maximum(np.searchsorted(time, when + SAME_DATE, side="right") - 1, 0)
    above = np.minimum(below + 1, len(time) - 1)
    gap = np.where(above > below, time[above] - time[below], 1.0)
    share = (when - time[below]) / gap
    share = np.where((above > below) & (share * gap > SAME_DATE), share, 0.0)
    return below, above, share


def _taken(rows: Array, index: IntArray) -> Array:
    """Return a row for each step, or the entries of each draw's own steps."""
    if index.shape[1] == 1:
        return rows[index[:, 0]]
    return np.take_along_axis(np.broadcast_to(rows, (len(rows), index.shape[1])), index, axis=0)


def _interpolate_positive(low: Array, high: Array, share: Array) -> Array:
    """Go from one value to another: in the logarithm where both are positive."""
    if not share.any():
        return np.asarray(low + 0.0 * share)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = np.log(low) + share * (np.log(high) - np.log(low))
        value = np.where((low > 0) & (high > 0), np.exp(logs), low + share * (high - low))
    return np.where((share == 0) | (low == high), low, value)
