"""What moves the answer, as a tornado: what it is in the worlds in which an assumption is low, and where it is high."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast.projection.result import AnswerDistribution, DateAnswer, ProjectedAnswer, Projection, ValueAnswer
from forecast.report.headline import cells
from forecast.report.words.date_text import as_text
from forecast.report.words.number_text import percent
from forecast.sensitivity.first_order import BINS, PER_BIN, UncertainNumber, variance_shares

if TYPE_CHECKING:
    from forecast.report.page.draw_encoding import EncodedDraws

Array = NDArray[np.float64]


__all__ = ["TornadoBar", "TornadoData", "moves"]

#: So many assumptions are shown, and none that explains less of the variance.
MAX_BARS, MIN_SHARE = 8, 0.01
#: Of hundreds of assumptions none is shown that chance moves as far: by so many standard deviations of its share.
MIN_STANDARD_ERRORS = 4.0
#: The worlds in which an assumption is low are this share of all, and so are those in which it is high.
FIFTH = 5


@dataclass(frozen=True, kw_only=True)
class TornadoBar:
    """What one assumption does to the answer.

    Parameters
    ----------
    name : str
    share : float
        Of the variance, alone.
    low, high : str
        The answer where the assumption is low, and where it is high.
    """

    name: str
    share: float
    low: str
    high: str


@dataclass(frozen=True, kw_only=True)
class TornadoData:
    """What moves the answer of the sentence.

    Parameters
    ----------
    measure : str
        What of it is compared: ``median``, or ``already`` or ``by`` for the probability where the median says nothing.
    until : str
        The last date.
    rows : tuple of TornadoBar
        The largest share first.
    """

    measure: str = ""
    until: str = ""
    rows: tuple[TornadoBar, ...] = ()


def moves(run: Projection, worlds: EncodedDraws) -> TornadoData:
    """Return what moves the answer of the sentence; nothing where it is no date and no value, or a range of rivals.

    Parameters
    ----------
    run : Projection
    worlds : EncodedDraws
        The first of all worlds; a page computes the same of those that a reader leaves.
    """
    answer = run.opening
    if not isinstance(answer, (DateAnswer, ValueAnswer)):
        return TornadoData()
    whole = answer.headline
    if whole is None or whole.medians is not None:
        return TornadoData()
    weights = run.weights
    along = {d: v for d, v in answer.default.items() if d in answer.choices}
    told = run.pooled(answer.worlds.sel(along), answer.rivals)
    if weights is not None and weights.dims != ("draw",):
        return TornadoData()
    drawn = {own: UncertainNumber(draws) for own, draws in worlds.draws.items()}
    measure = _measure(answer.kind, whole)
    values, counts = told.values[: worlds.count], None if weights is None else weights.values[: worlds.count]
    rows: list[TornadoBar] = []
    for row in variance_shares(run, told, among=drawn):
        for own in row["name"].split(", "):
            if own not in worlds.inputs or row["share"] < _least(worlds, own) or len(rows) == MAX_BARS:
                continue
            parts = [
                (answer.of_worlds(values[at], None if counts is None else counts[at]), label)
                for at, label in _parts(worlds, own)
            ]
            ends = sorted(parts, key=lambda part: _measured(part[0], measure)) if worlds.inputs[own].few else parts
            low, high = (
                f"{_said(answer, each, measure)}{f' ({label})' if label else ''}" for each, label in (ends[0], ends[-1])
            )
            rows.append(TornadoBar(name=own, share=row["share"], low=low, high=high))
    return TornadoData(measure=measure, until=as_text(run.span[1]), rows=tuple(rows))


def _least(worlds: EncodedDraws, name: str) -> float:
    """Return the share of the variance that an assumption must explain to be shown."""
    drawn = worlds.inputs[name]
    bins = len(drawn.values) if drawn.few else min(BINS, worlds.count // PER_BIN)
    return max(MIN_SHARE, MIN_STANDARD_ERRORS * math.sqrt(2 * max(bins - 1, 1)) / max(worlds.count - bins, 1))


def _measured(spread: AnswerDistribution | None, measure: str) -> float:
    if spread is None:
        return np.inf
    return {"already": spread.already, "by": 1 - spread.never, "median": spread.median}[measure]


def _measure(kind: str, whole: AnswerDistribution) -> str:
    """Return what of an answer assumptions can move: its median, unless most worlds agree on *already* or *never*."""
    if kind == "when" and whole.already >= 0.5:
        return "already"
    return "by" if kind == "when" and not np.isfinite(whole.median) else "median"


def _parts(worlds: EncodedDraws, name: str) -> list[tuple[NDArray[np.int64], str]]:
    """Return the worlds in which an assumption is low and in which it is high; of few values, those of each value."""
    drawn = worlds.inputs[name]
    if drawn.few:
        return [(np.flatnonzero(drawn.ranks == place), worlds.called(name, place)) for place in np.unique(drawn.ranks)]
    order = np.argsort(drawn.ranks, kind="stable")
    count = -(-len(order) // FIFTH)
    return [(order[:count], ""), (order[-count:], "")]


def _said(answer: ProjectedAnswer, spread: AnswerDistribution | None, measure: str) -> str:
    if spread is None:
        return "-"
    if isinstance(answer, ValueAnswer) or measure == "median":
        return cells(answer, spread)[0]
    return percent(spread.already if measure == "already" else 1 - spread.never)
