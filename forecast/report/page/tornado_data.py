"""What moves the answer, as a tornado: what it is in the worlds in which an assumption is low, and where it is high."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.projection.result import AnswerDistribution, DateAnswer, ProjectedAnswer, Projection, ValueAnswer
from forecast.report.brief import Brief, brief
from forecast.report.headline import Labels
from forecast.report.result_data import driver_rows
from forecast.report.rows import table_cells
from forecast.report.words.date_text import as_text
from forecast.report.words.number_text import percent
from forecast.sensitivity.first_order import MAX_BINS, MIN_DRAWS_PER_BIN, UncertainNumber, variance_shares

if TYPE_CHECKING:
    from forecast.base.lazy import xr
    from forecast.report.page.draw_encoding import EncodedDraws

Array = NDArray[np.float64]

#: So many assumptions are shown, and none that explains less of the variance.
MAX_TORNADO_BARS, MIN_SHARE = 8, 0.01
#: Of hundreds of assumptions none is shown that chance moves as far: by so many standard deviations of its share.
MIN_STANDARD_ERRORS = 4.0
#: The worlds in which an assumption is low are this share of all, and so are those in which it is high.
TAIL_DIVISOR = 5


def tornado_data(run: Projection, worlds: EncodedDraws) -> dict[str, Any]:
    """Return what moves the answer of the sentence; no rows where it is no date and no value, or a range of rivals.

    Parameters
    ----------
    run : Projection
    worlds : EncodedDraws
        The first of all worlds; a page computes the same of those that a reader leaves.

    Returns
    -------
    dict
        ``measure``: what of it is compared, the ``median``, or the probability by the first date (``at_start``) or
        ``by`` the last, ``until``, where the median says nothing; ``rows``, the largest ``share`` of the variance
        first, each with its ``label``, whose it is (``of``), and the answer where the assumption is ``low`` and
        ``high``: ``text``, the number ``size`` (None for what never comes), and the value there, ``called``, of an
        assumption of few values;
        and ``together``, the share that several hold only together.
    """
    nothing = {"measure": "", "until": "", "rows": [], "together": 0.0}
    answer = run.opening
    if not isinstance(answer, (DateAnswer, ValueAnswer)):
        return nothing
    whole = answer.headline
    if whole is None or whole.medians is not None:
        return nothing
    weights = run.weights
    along = {d: v for d, v in answer.default.items() if d in answer.choices}
    answers = run.pooled(answer.worlds.sel(along), answer.rivals)
    if weights is not None and weights.dims != ("draw",):
        return nothing
    measure, short = _measure(answer.kind, whole), brief(run)
    values, counts = answers.values[: worlds.count], None if weights is None else weights.values[: worlds.count]
    rows: list[dict[str, Any]] = []
    words = Labels(run)
    for names, label, of, share in _explained_shares(run, answer, answers, worlds, short):
        if few := (names[0] in run.choices):
            values_of = answer.values(names[0])
            parts = [(answer.over({**answer.default, names[0]: value}), words(value)) for value in values_of]
        else:
            own = next((name for name in names if name in worlds.inputs), "")
            if not own:
                continue
            few = worlds.inputs[own].has_few_values
            parts = [
                (answer.of_worlds(values[at], None if counts is None else counts[at]), words(called))
                for at, called in _low_and_high_draws(worlds, own)
            ]
        answered = [part for part in parts if part[0] is not None]
        if not answered:
            continue
        ends = sorted(answered, key=lambda part: _end_size(part[0], measure)) if few else answered
        low, high = (_make_end(answer, each, called, measure) for each, called in (ends[0], ends[-1]))
        rows.append({"label": label, "of": of, "share": share, "low": low, "high": high})
    return {"measure": measure, "until": as_text(run.span[1]), "rows": rows, "together": short.together}


def _explained_shares(
    run: Projection, answer: ProjectedAnswer, answers: xr.DataArray, worlds: EncodedDraws, short: Brief
) -> Iterator[tuple[list[str], str, str, float]]:
    """Walk what moves an answer, the most first: its names, what it is called, whose it is, and its share.

    Of a date it is what a screen names, over all choices. A value has none there; its numbers explain what the sentence
    says.
    """
    if isinstance(answer, DateAnswer):
        every = driver_rows(run, least=0.0, only=[answer.name])[0]["drivers"]
        for (label, share), row in zip(short.drivers, every, strict=False):
            yield row["name"].split(", "), label, "", share
        return
    numbers = {own: UncertainNumber(draws) for own, draws in worlds.draws.items()}
    count = 0
    for row in variance_shares(run, answers, among=numbers):
        for own in row["name"].split(", "):
            if own in worlds.inputs and row["share"] >= _min_share(worlds, own) and count < MAX_TORNADO_BARS:
                count += 1
                yield [own], *Labels(run).number(own), row["share"]


def _make_end(answer: ProjectedAnswer, found: AnswerDistribution | None, called: str, measure: str) -> dict[str, Any]:
    size = _end_size(found, measure)
    return {"text": _end_text(answer, found, measure), "size": size if math.isfinite(size) else None, "called": called}


def _min_share(worlds: EncodedDraws, name: str) -> float:
    """Return the share of the variance that an assumption must explain to be shown."""
    ranks = worlds.inputs[name]
    bins = len(ranks.values) if ranks.has_few_values else min(MAX_BINS, worlds.count // MIN_DRAWS_PER_BIN)
    return max(MIN_SHARE, MIN_STANDARD_ERRORS * math.sqrt(2 * max(bins - 1, 1)) / max(worlds.count - bins, 1))


def _end_size(spread: AnswerDistribution | None, measure: str) -> float:
    if spread is None:
        return np.inf
    return {"at_start": spread.at_start, "by": 1 - spread.never, "median": spread.median}[measure]


def _measure(kind: str, whole: AnswerDistribution) -> str:
    """Return what of an answer assumptions can move: its median, unless most agree on the first step or *never*."""
    if kind == "when" and whole.at_start >= 0.5:
        return "at_start"
    return "by" if kind == "when" and not np.isfinite(whole.median) else "median"


def _low_and_high_draws(worlds: EncodedDraws, name: str) -> list[tuple[NDArray[np.int64], str]]:
    """Return the worlds in which an assumption is low and in which it is high; of few values, those of each value."""
    ranks = worlds.inputs[name].ranks
    if worlds.inputs[name].has_few_values:
        return [(np.flatnonzero(ranks == place), worlds.called(name, place)) for place in np.unique(ranks)]
    order = np.argsort(ranks, kind="stable")
    count = -(-len(order) // TAIL_DIVISOR)
    return [(order[:count], ""), (order[-count:], "")]


def _end_text(answer: ProjectedAnswer, spread: AnswerDistribution | None, measure: str) -> str:
    if spread is None:
        return "-"
    if isinstance(answer, ValueAnswer) or measure == "median":
        return table_cells(answer, spread)[0]
    return percent(spread.at_start if measure == "at_start" else 1 - spread.never)
