"""A named uncertain number, as plugins hand it in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forecast.fields import Checked, checked, empty, maps, number, text, text_field

__all__ = ["Input"]


@dataclass(frozen=True, kw_only=True)
class Input(Checked):
    """A named uncertain number: a node of its own, so that it can be fixed, swept, correlated and blamed.

    Parameters
    ----------
    name : str
        A name of the formula grammar: ``firing_rate``.
    unit : str
        Its unit; ``""`` is dimensionless.
    distribution : mapping
        ``{"value": 3}``; quantiles, ``{"p05": 1, "p95": 10}`` (with an optional ``p50``), taken as lognormal where
        all are positive and normal otherwise unless ``"family"`` says; or ``{"low": a, "mode": b, "high": c}``
        (triangular) and ``{"low": a, "high": b}`` (uniform; ``"family": "loguniform"`` for its logarithm).
    source : str
        Where the number and its width come from.
    title : str
        One line for people.
    basis : mapping of str to str
        What its unit cannot say: ``{"sparsity": "dense"}`` (see `forecast.basis`).
    """

    name: str = text_field()
    unit: str = text_field()
    distribution: Mapping[str, float | str] = checked(
        maps(lambda v: text(v) or number(v)), "a mapping of text to number or text"
    )
    source: str = text_field()
    title: str = text_field(default="")
    basis: Mapping[str, str] = checked(maps(text), "a mapping of attribute to value", default_factory=empty)
