"""By how much a change moves an answer, world by world: both projections draw the same worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.base.json_text import none_if_not_finite
from forecast.projection.crossing import answer_ranks, weighted_quantiles, weighted_variance
from forecast.projection.likelihood_weights import effective_sample_size

if TYPE_CHECKING:
    from forecast.projection.result.projected_answers import ProjectedAnswer
    from forecast.projection.result.projection import Projection


#: The smallest shifts that these shares of the worlds have at most, by their names in a record.
SHIFT_LEVELS = {"p05": 0.05, "p50": 0.5, "p95": 0.95}
#: A regime is named where it explains this share of the variance of the shifts' ranks: less is hardly seen in them.
_MIN_REGIME_SHARE = 0.1
#: So many values of a regime are told: those that hold in most worlds.
_MAX_REGIME_VALUES = 3
#: Two projections that agree in these settings draw the same worlds: a model that is swapped has draws of its own.
_SETTINGS_OF_DRAWS = ("seed", "draws", "kept", "start", "until", "step", "swap")


def comparable_choices(answer: ProjectedAnswer, changed: Projection) -> dict[str, str]:
    """Return the definitions of an answer's sentence; in place of one that a change left out the first that it kept."""
    kept = {name: choice.values for name, choice in changed.choices.items()}
    return {c: v if v in kept.get(c, (v,)) else kept[c][0] for c, v in answer.default.items()}


def find_shift(was: ProjectedAnswer, changed: Projection, *, decided: bool = True) -> dict[str, Any]:
    """Return by how much a change moves a date or a value; nothing where worlds are not kept, or are not the same.

    Of the worlds that have a date without the change, or a value, each is weighed as it is without it.

    Parameters
    ----------
    was : ProjectedAnswer
        Without the change.
    changed : Projection
        With it.
    decided : bool
        Look for the regime that decides.

    Returns
    -------
    dict
        ``shift`` has its ``kind``, its quantiles at `SHIFT_LEVELS`, and ``new``, the probability of a date that comes
        with the change alone, whose worlds have no shift. Dates are moved by ``years``, positive where they are later,
        and None where one does not come by the last step with the change; nothing else is None. Values are moved by a
        ``ratio``, or by a ``difference`` where one is not positive. ``by`` is there where a ``regime`` decides, with
        the quantiles under each of its ``values``, that of the most worlds first; one that was set, or differs between
        choices, decides nothing.
    """
    run, now = was.run, changed.answers.get(was.name)
    one, other = run.settings, changed.settings
    same = run.rivals == changed.rivals and all(getattr(one, key) == getattr(other, key) for key in _SETTINGS_OF_DRAWS)
    if now is None or was.kind not in ("when", "value") or not same or one.kept < one.draws:
        return {}
    chosen = comparable_choices(was, changed)
    before, weights = was.pooled_draws(chosen)
    after = before if now.same_as(was) and chosen == was.default else now.pooled_draws(now.default)[0]
    if before.ndim != 1 or before.shape != after.shape:  # rivals that nobody weighs, or a sweep
        return {}
    dated, failing = was.kind == "when", np.isnan(before) | np.isnan(after)
    counts = np.where(failing, 0.0, 1.0 if weights is None else np.nan_to_num(weights))
    known = np.isfinite(before) & (dated | np.isfinite(after)) & (counts > 0)
    if not known.any():
        return {}
    new = float(counts[np.isposinf(before) & np.isfinite(after)].sum() / counts.sum()) if dated else 0.0
    unmoved, before, after, counts = after is before, before[known], after[known], counts[known]
    kind = "years" if dated else "ratio" if before.min() > 0 and after.min() > 0 else "difference"
    if unmoved:
        return {"shift": {"kind": kind, **dict.fromkeys(SHIFT_LEVELS, float(kind == "ratio")), "new": new}}
    shifts = after / before if kind == "ratio" else after - before
    shift = {"kind": kind, **_quantiles_of(shifts, counts), "new": new}
    return {"shift": shift, **(_deciding_regime(run, changed, known, shifts, counts) if decided else {})}


def _quantiles_of(shifts: Array, counts: Array) -> dict[str, float | None]:
    found = weighted_quantiles(shifts, counts, list(SHIFT_LEVELS.values()))
    return dict(zip(SHIFT_LEVELS, map(none_if_not_finite, found.tolist()), strict=True))


def _deciding_regime(
    run: Projection, changed: Projection, known: BoolArray, shifts: Array, counts: Array
) -> dict[str, Any]:
    """Return the regime that decides how far these worlds move, if one does, with the quantiles under its values."""
    ranks, best, best_share, labels = answer_ranks(shifts, counts), "", _MIN_REGIME_SHARE, np.array([])
    if ranks.min() == ranks.max():  # all move alike; their variance may be a rounding error
        return {}
    ranked = counts * ranks
    variance, effective = (
        weighted_variance(ranks.astype(np.float64), counts),
        float(effective_sample_size(counts / counts.sum())),
    )
    for name, (every, meanings) in run.regimes.items():
        if name in changed.settings.set:
            continue
        codes = every[known]
        weights = np.bincount(codes, weights=counts).astype(np.float64)
        means = np.bincount(codes, weights=ranked) / np.where(weights > 0, weights, 1.0)
        # the share that lies between its values, less what chance alone would give
        chance = (np.count_nonzero(weights) - 1) / effective
        share = weighted_variance(means, weights) / variance - chance
        if share >= best_share:
            best, best_share, labels = name, share, meanings[codes]
    masks = [(value, labels == value) for value in dict.fromkeys(labels.tolist())]
    masks.sort(key=lambda each: -counts[each[1]].sum())
    values = {value: _quantiles_of(shifts[mask], counts[mask]) for value, mask in masks[:_MAX_REGIME_VALUES]}
    return {"by": {"regime": best, "values": values}} if best else {}
