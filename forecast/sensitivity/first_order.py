"""Sensitivity of an answer: the share of its variance that each choice and each uncertain number explains alone.

The answer is taken by rank, so that *never* is simply the latest date. A choice's share is the variance of its values'
means over that of all draws and combinations (the main effect of a balanced design). A number's share is the same with
its draws sorted into bins, less the share by chance: the first-order Sobol' index from given data (Plischke,
Borgonovo & Smith 2013, European Journal of Operational Research 226(3), 536-550). What is left belongs to several
together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from forecast.base.arrays import Array, IntArray
from forecast.base.lazy import xr
from forecast.errors import UnknownNameError
from forecast.projection.crossing import answer_ranks, weighted_variance
from forecast.projection.result import DateAnswer, ProjectedAnswer, Projection, RankingAnswer, ValueAnswer

#: Smallest share of the variance that is worth a line.
MIN_DRIVER_SHARE = 0.02
#: Draws in a bin, and at most so many bins.
MIN_DRAWS_PER_BIN, MAX_BINS = 25, 32


def first_order(
    run: Projection, question: str, *, among: Mapping[str, UncertainNumber] | None = None
) -> list[dict[str, Any]]:
    """Return the shares of the variance of what a question is answered, the largest first.

    Of a date or a value it is the answer itself. Of a ranking it is by how much its likeliest winner is ahead of the
    best of all others.

    Parameters
    ----------
    run : Projection
    question : str
    among : mapping of str to UncertainNumber, optional
        The result of `uncertain` for the projection, to share it between several questions.

    Returns
    -------
    list of dict
        ``name`` (a choice, or ``model.number``), ``kind`` (``choice``, ``number`` or ``group``) and ``share``, from 0
        to 1. Empty where every draw has the same answer.

    Raises
    ------
    UnknownNameError
        For a name that is no question of the projection.

    Examples
    --------
    >>> import forecast
    >>> run = forecast.project({"start": 2025, "until": 2060, "quantities": {
    ...     "x": {"p05": 1, "p95": 100, "unit": "FLOP"}, "y": {"p05": 9, "p95": 11, "unit": "FLOP"}},
    ...     "questions": {"q": {"when": "x >= y"}}}, draws=1000)
    >>> first_order(run, "q")[0]["name"]
    'x'
    """
    answer = run.answers.get(question)
    if answer is None:
        raise UnknownNameError("question", question, list(run.answers))
    known = run.derived[first_order, question]  # of one page several parts ask for the same
    return list(known.get("shares") or known.setdefault("shares", _shares(run, answer, among)))


def _shares(
    run: Projection, answer: ProjectedAnswer, among: Mapping[str, UncertainNumber] | None
) -> list[dict[str, Any]]:
    if isinstance(answer, DateAnswer):
        return variance_shares(run, answer.unmasked, answer.failing, among=among)
    if isinstance(answer, RankingAnswer) and answer.contests is not None and answer.table[0].best is not None:
        worlds = _lead(answer, answer.contests, answer.table[0].best.name)
    elif isinstance(answer, ValueAnswer):
        worlds = answer.worlds
    else:
        return []
    return variance_shares(run, worlds.fillna(0.0), worlds.isnull(), among=among)


def _lead(ranking: RankingAnswer, contests: xr.Dataset, best: str) -> xr.DataArray:
    """Return how far the likeliest winner is ahead of the best of all others, in every stored world."""
    asked = {choice: value for choice, value in ranking.table[0].choices.items() if choice in ranking.run.definitions}
    worlds, over = contests.sel(asked, drop=True), ranking.over_choice
    sizes = (worlds["value"] * (-1.0 if ranking.best == "lowest" else 1.0)).where(worlds["takes"] == 1)
    others = sizes.drop_sel({over: best})
    return sizes.sel({over: best}, drop=True) - (others.max(over) if others.sizes[over] else 0.0)


def variance_shares(
    run: Projection,
    answers: xr.DataArray,
    failing: xr.DataArray | None = None,
    *,
    among: Mapping[str, UncertainNumber] | None = None,
) -> list[dict[str, Any]]:
    """Return the shares of the variance of the worlds' answers, by rank, the largest first.

    Numbers that the scenario correlates are one driver, ``kind`` ``group``.

    Parameters
    ----------
    run : Projection
    answers : xarray.DataArray
        (draw, choices); +inf where never, NaN where a combination has no answer.
    failing : xarray.DataArray, optional
        Which worlds are left out, as `answers`.
    among : mapping of str to UncertainNumber, optional
        As in `first_order`.
    """
    dims = [str(d) for d in answers.dims if d != "draw"]
    answers = answers.transpose("draw", *dims)
    weights = run.weights
    counts = np.ones(answers.shape)
    if weights is not None:  # 1 on average, so that every combination of choices counts alike
        counts = np.nan_to_num(weights.broadcast_like(answers).transpose("draw", *dims).values) * answers.sizes["draw"]
    lost = np.zeros(answers.shape, dtype=bool) if failing is None else failing.transpose("draw", *dims).values
    if lost.any():
        counts = np.where(lost, 0.0, counts)
        counts *= len(counts) / np.where((total_counts := counts.sum(axis=0)) > 0, total_counts, 1.0)
    place = answer_ranks(answers.values, counts)
    taken = ~np.isnan(place) & (counts > 0)
    if not taken.any() or place[taken].min() == place[taken].max():  # else the variance may be a rounding error, not 0
        return []
    total = weighted_variance(place[taken], counts[taken])
    shares = []
    for axis, dim in enumerate(dims, 1):
        others = tuple(i for i in range(place.ndim) if i != axis)
        count = np.sum(taken * counts, axis=others)
        answered = count > 0  # a value of the choice may have failed throughout
        means = np.sum(np.where(taken, place * counts, 0.0), axis=others)[answered] / count[answered]
        shares.append({"name": dim, "kind": "choice", "share": float(np.var(means)) / total})
    flat_ranks, flat_counts = (each.reshape(len(place), -1) for each in (place, counts))
    answered = ~np.isnan(flat_ranks).any(axis=0) & flat_counts.any(axis=0)  # not where all worlds failed
    columns = _Columns(flat_ranks[:, answered], flat_counts[:, answered])
    numbers = uncertain(run) if among is None else among
    for group in _explained_groups(run, numbers):
        share = _explained_variance(columns, [numbers[name] for name in group]) / total
        if share > 0:
            kind = "number" if len(group) == 1 else "group"
            shares.append({"name": ", ".join(group), "kind": kind, "share": share})
    return sorted(shares, key=lambda row: -row["share"])


class UncertainNumber:
    """The draws of one uncertain number, and the bins in which its share is counted."""

    def __init__(self, draws: Array) -> None:
        self._raw_draws = draws
        self.most = min(MAX_BINS, len(draws) // MIN_DRAWS_PER_BIN)

    @cached_property
    def moves(self) -> bool:
        """Whether it is not the same number in all draws."""
        return bool(np.isfinite(self._raw_draws).any() and np.nanmin(self._raw_draws) != np.nanmax(self._raw_draws))

    @cached_property
    def draws(self) -> Array:
        """The draws, with a number in place of each that is none."""
        return np.nan_to_num(self._raw_draws)

    @cached_property
    def sorted(self) -> tuple[IntArray, IntArray]:
        """The draws in the order of their bins, and where each bin begins."""
        place = _make_bins(self.draws, self.most)
        order = np.argsort(place, kind="stable")
        return order, np.flatnonzero(np.diff(place[order], prepend=-1))


def uncertain(run: Projection) -> dict[str, UncertainNumber]:
    """Return every uncertain number of a projection by its name."""
    return {name: UncertainNumber(draws) for name, draws in run.uncertain.items()}


def certain(run: Projection) -> bool:
    """Return True if nothing in a projection is uncertain."""
    return not any(number.moves for number in uncertain(run).values())


def _explained_groups(run: Projection, numbers: Mapping[str, UncertainNumber]) -> list[tuple[str, ...]]:
    """Return the numbers that are explained together: those that the scenario correlates, each other alone."""
    groups = run.correlations
    every = [[n for name in group["of"] for n in group.get("fitted", {}).get(name, [name])] for group in groups]
    together = [tuple(name for name in names if name in numbers) for names in every]
    grouped = {name for group in together for name in group}
    return [*filter(None, together), *((name,) for name in numbers if name not in grouped)]


class _Columns:
    """The ranks of combinations of choices, each about its mean, and what each draw counts for; all (draw, column)."""

    def __init__(self, ranks: Array, counts: Array) -> None:
        # draws mostly count alike in all combinations: one column then does for all
        self.counts = counts[:, :1] if (counts == counts[:, :1]).all() else counts
        self.whole = np.sum(self.counts, axis=0)
        away = ranks - np.sum(self.counts * ranks, axis=0) / self.whole
        self.about = self.counts * away
        self.scatter = np.sum(self.about * away, axis=0)
        squares = self.counts**2
        self.squares = np.sum(squares, axis=0)
        # what is summed in the bins of every number: a row a column, draws side by side
        self._rows = np.ascontiguousarray(np.concatenate([self.counts, squares, self.about], axis=1).T)

    def explained(self, number: UncertainNumber) -> float:
        """Return the variance between bins, less what chance alone would give, on average over the columns."""
        order, first = number.sorted
        binned = np.ascontiguousarray(np.add.reduceat(self._rows.take(order, axis=1), first, axis=1).T)
        each = self.counts.shape[1]
        bin_counts, squares, sums = binned[:, :each], binned[:, each : 2 * each], binned[:, 2 * each :]
        divisor = np.where(bin_counts > 0, bin_counts, 1.0)
        between = np.sum(sums**2 / divisor, axis=0)
        # bins of a number that explains nothing differ by chance: as much as the scatter in them, times their number
        # where all draws count alike
        alike = np.sum(squares / divisor, axis=0)
        free = self.whole - alike
        within = (self.scatter - between) / np.where(free > 0, free, 1.0)
        chance = (alike - self.squares / self.whole) * within
        return float(np.mean(np.where(free > 0, np.maximum(between - chance, 0.0), 0.0) / self.whole))

    def fitted(self, design: Array) -> float:
        """Return the variance that a least-squares fit explains, less what chance alone would give, on average."""
        counts = np.broadcast_to(self.counts, self.about.shape)
        each = zip(counts.T, self.about.T, np.broadcast_to(self.scatter, len(counts.T)), strict=True)
        return float(np.mean([_explained_share(design, *column) for column in each]))


def _explained_share(design: Array, counts: Array, about: Array, scatter: float) -> float:
    root, whole = np.sqrt(counts), np.sum(counts)
    ranks = np.divide(about, root, out=np.zeros_like(root), where=root > 0)
    coefficients, _, rank, _ = np.linalg.lstsq(design * root[:, None], ranks, rcond=None)
    left = float(np.sum((ranks - root * (design @ coefficients)) ** 2))
    effective_draws = whole**2 / np.sum(counts**2)  # Kish: equally weighted draws of the same variance
    if effective_draws <= rank:
        return 0.0
    return float(max(scatter - left - (rank - 1) * left / (effective_draws - rank), 0.0) / whole)


def _explained_variance(columns: _Columns, numbers: Sequence[UncertainNumber]) -> float:
    """Return the variance that bins of one number explain, or those of several together, over all combinations."""
    moving = [number for number in numbers if number.moves]
    bins = numbers[0].most
    if bins < 2 or not moving or not columns.about.size:
        return 0.0
    if len(moving) == 1:
        return columns.explained(moving[0])
    # several that move together: the sum of a step function of each, by least squares
    steps = [_make_bins(number.draws, max(bins // 2, 2)) for number in moving]
    design = np.column_stack([np.ones(len(steps[0])), *(np.eye(step.max() + 1)[step][:, 1:] for step in steps)])
    return columns.fitted(design)


def _make_bins(draws: Array, bins: int) -> IntArray:
    """Sort draws into bins of as many each; a number of few values, such as a regime, has a bin for each value."""
    order = np.argsort(draws, kind="stable")
    rises = np.diff(draws[order]) > 0
    place = np.empty(len(draws), dtype=np.int64)
    if rises.sum() < bins:
        place[order] = np.concatenate([[0], np.cumsum(rises)])
    else:
        place[order] = np.minimum(np.arange(len(draws)) * bins // len(draws), bins - 1)
    return place
