"""The levers of a scenario as a page offers them: what each is called, where it can stand, and where it stands now."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from forecast import units
from forecast.projection.result import DateAnswer, Projection, ValueAnswer
from forecast.report.headline import Labels
from forecast.report.page.appendices import AssumptionLabels, foreign
from forecast.report.words.number_text import amount, percent
from forecast.report.words.patterns import fill
from forecast.scenarios.quantities.changes import as_phrase
from forecast.scenarios.quantities.levers import Lever
from forecast.scenarios.settings.setting_values import parse_measured
from forecast.sensitivity.lever_points import movable

__all__ = ["LeverControl", "LeverStop", "lever_controls"]

#: Digits of a number that somebody sets, or that is stated.
_STOP_DIGITS = 4


@dataclass(frozen=True, kw_only=True)
class LeverStop:
    """A place at which a lever can stand.

    Parameters
    ----------
    value : str
        What is set there; empty where it stands as the answer has it.
    label : str
        For people, with its unit.
    size : float
        The number; NaN of words.
    command_text : str
        The option of ``forecast run`` that sets it.
    change : str
        What is changed there from a date on, as ``--what-if`` takes it.
    """

    value: str
    label: str
    size: float = math.nan
    command_text: str = ""
    change: str = ""

    @property
    def plain(self) -> dict[str, str]:
        """The same as plain data."""
        told = {"value": self.value, "label": self.label, "typed": self.command_text, "change": self.change}
        return {key: foreign(text) for key, text in told.items() if text}


@dataclass(frozen=True, kw_only=True)
class LeverControl:
    """A lever that is a number.

    Parameters
    ----------
    name, label, about : str
    stops : tuple of LeverStop
        From one end to the other; one has no value where the answer has one of these numbers.
    at : int
        The stop nearest to where it stands in the answer.
    stated : str
        Where it stands there, for people.
    changes : bool
        It changes growth from a date on, where others set a number.
    """

    name: str
    label: str
    about: str
    stops: tuple[LeverStop, ...]
    at: int
    stated: str
    changes: bool

    @property
    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        stops = [each.plain for each in self.stops]
        about = {"name": self.name, "label": foreign(self.label), "about": foreign(self.about)}
        return {**about, "stops": stops, "at": self.at, "stated": foreign(self.stated), "changes": self.changes}


def lever_controls(run: Projection) -> list[LeverControl]:
    """Return the levers of a projection that are numbers, in the order of its scenario.

    Examples
    --------
    >>> import forecast
    >>> run = forecast.project({"start": 2025, "until": 2030, "quantities": {
    ...     "x": {"p05": 1, "p95": 4, "unit": "FLOP"}, "goal": {"value": 2.25, "unit": "FLOP"}},
    ...     "questions": {"q": {"when": "x >= goal"}},
    ...     "levers": {"goal": {"label": "Goal", "range": [1, 3]}}}, draws=64)
    >>> [(each.label, each.at, each.stops[each.at].label) for each in lever_controls(run)]
    [('Goal', 6, '2.25 FLOP')]
    """
    words, called = Labels(run), AssumptionLabels(run)
    return [] if run.swept else [_control(run, lever, words, called) for lever in movable(run)]


def _control(run: Projection, lever: Lever, words: Labels, called: AssumptionLabels) -> LeverControl:
    if lever.since is not None:
        unit, numbers = "", np.array([1.0])
    else:
        unit, numbers = _unit_and_default(run, lever.name, called)
    stops = [_stop(lever, value, unit, words) for value in lever.points()]
    middle = float(np.median(numbers)) if len(numbers) else math.nan
    changes = lever.since is not None
    about: dict[str, Any] = {"name": lever.name, "label": lever.label, "about": lever.about, "changes": changes}
    if shares := _label_shares(run, lever):
        said = [fill("share", label=words(label), percent=percent(share)) for label, share in shares.items()]
        likely = max(shares, key=lambda label: shares[label])
        stated = ", ".join(said) if shares[likely] < 1 else words(likely)
        return LeverControl(stops=tuple(stops), at=list(shares).index(likely), stated=stated, **about)
    fixed = len(numbers) > 0 and float(np.min(numbers)) == float(np.max(numbers))
    if not fixed or any(math.isnan(each.size) for each in stops):
        return LeverControl(
            stops=tuple(stops), at=_nearest(stops, middle), stated=_interval_text(numbers, unit), **about
        )
    own = LeverStop(value="", label=_stop_text(lever, middle, unit), size=middle)
    stops = _with(stops, own)
    return LeverControl(stops=tuple(stops), at=stops.index(own), stated=own.label, **about)


def _label_shares(run: Projection, lever: Lever) -> dict[str, float]:
    """Return how likely each label is where a lever is one of several labels a world; else nothing."""
    quantity = run.quantities.get(lever.name)
    if quantity is None or quantity.kind != "regime" or lever.since is not None:
        return {}
    return quantity.probabilities(quantity.cells[0])


def _with(stops: list[LeverStop], own: LeverStop) -> list[LeverStop]:
    """Return the stops with that of the answer, in place of one of the same number."""
    others = [each for each in stops if not math.isclose(each.size, own.size, rel_tol=1e-9)]
    rises = stops[-1].size > stops[0].size
    return sorted([*others, own], key=lambda each: each.size if rises else -each.size)


def _unit_and_default(run: Projection, name: str, called: AssumptionLabels) -> tuple[str, np.ndarray[Any, Any]]:
    """Return the unit of what is set, and what it is in every world at the first step, as the sentence takes it."""
    if name in run.numeric:
        data = run.pooled(run.worlds[name], run.rivals)
        named = run.opening.default if isinstance(run.opening, (DateAnswer, ValueAnswer)) else {}
        own = {d: named.get(d, run.choices[d].values[0]) for d in run.definitions if d in data.dims}
        first = data.sel(own).isel(time=0) if "time" in data.dims else data.sel(own)
        return str(data.attrs["units"]), np.asarray(first.values, dtype=float).ravel()
    if name in run.uncertain:
        return called(name)[2], np.asarray(run.uncertain[name], dtype=float).ravel()
    return "", np.array([])


def _stop(lever: Lever, value: str, unit: str, words: Labels) -> LeverStop:
    typed = lever.command(value)
    if lever.since is not None:
        size = float(value.removesuffix("*"))
        change = as_phrase({"of": lever.name, "growth": size, "since": lever.since})
        return LeverStop(value=value, label=_stop_text(lever, size, ""), size=size, command_text=typed, change=change)
    found = parse_measured(value)
    try:
        size, own = (float(value), unit) if found is None else found
    except ValueError:
        return LeverStop(value=value, label=words(value), command_text=typed)
    if unit and own != unit:
        size = float(units.convert(size, own, unit))
    return LeverStop(value=value, label=_stop_text(lever, size, unit or own), size=size, command_text=typed)


def _stop_text(lever: Lever, size: float, unit: str) -> str:
    return f"{size:.3g} × since {lever.since:.10g}" if lever.since is not None else amount(size, unit, _STOP_DIGITS)


def _interval_text(numbers: np.ndarray[Any, Any], unit: str) -> str:
    """Say where an uncertain number lies."""
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return ""
    low, middle, high = (amount(float(each), unit) for each in np.quantile(known, [0.05, 0.5, 0.95]))
    return f"{middle} ({low} to {high})"


def _nearest(stops: list[LeverStop], size: float) -> int:
    """Return the place of the stop that is nearest, by ratio where all are positive."""
    sizes = np.array([each.size for each in stops])
    if not np.isfinite(sizes).all() or not math.isfinite(size):
        return 0
    if size > 0 and (sizes > 0).all():
        return int(np.abs(np.log(sizes / size)).argmin())
    return int(np.abs(sizes - size).argmin())
