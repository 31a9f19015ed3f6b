"""A named uncertain number, as plugins hand it in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forecast.base.distributions import distribution, numbers_in
from forecast.contract.fields import (
    Checked,
    checked_field,
    date,
    is_number,
    is_text,
    mapping_field,
    mapping_of,
    optional_field,
    text_field,
)


def below(stated: Mapping[str, object], lower: float | None) -> float | None:
    """Return a number of a distribution's record that lies below the least it may be; None where none does."""
    return next((v for v in numbers_in(stated) if lower is not None and v < lower), None)


def _is_distribution_value(value: object) -> bool:
    """Tell whether a value may stand in a distribution's record: text, a number, several, or numbers by probability."""
    if isinstance(value, (list, tuple)):
        return all(map(is_number, value))
    return is_text(value) or is_number(value) or mapping_of(lambda v: is_number(v) or mapping_of(is_number)(v))(value)


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
        all are positive and normal otherwise unless ``"family"`` says; ``{"normal": [1, 10]}``, ``"lognormal"``,
        ``"uniform"``, ``"loguniform"`` or ``{"triangular": [low, mode, high]}``; with ``"width"`` for what share an
        interval holds (0.9 of a normal or lognormal, all of a uniform or loguniform) and ``"truncate": [low, high]``.
        See `forecast.base.distributions`.
    source : str
        Where the number and its width come from.
    title : str
        One line for people.
    qualifiers : mapping of str to str
        What its unit cannot say: ``{"sparsity": "dense"}`` (see `forecast.units.qualifiers`).
    lower : float, optional
        What nobody may set it below: 1 for a number of devices. Without it, 0 where the distribution is lognormal or
        loguniform, and nothing otherwise.
    published : str
        The date (ISO) of its source: as of an earlier one nobody knew it.
    earlier : mapping
        The distribution that stood before `published`; where there is none, what reads the number is left out as of
        an earlier date.
    """

    name: str = text_field()
    unit: str = text_field()
    distribution: Mapping[str, Any] = checked_field(
        mapping_of(_is_distribution_value), "a mapping of text to numbers or text"
    )
    source: str = text_field()
    title: str = text_field(default="")
    qualifiers: Mapping[str, str] = mapping_field(is_text, "of attribute to value")
    lower: float | None = optional_field(is_number, "a number or None")
    published: str = checked_field(lambda v: v == "" or date(v), "a date YYYY-MM-DD, or nothing", default="")
    earlier: Mapping[str, Any] = checked_field(
        mapping_of(_is_distribution_value), "a mapping of text to numbers or text", default_factory=dict
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (low := below(self.distribution, self.lower)) is not None:
            self._refuse("lower", f"its distribution holds {low:g}, below {self.lower:g}")

    def as_line(self) -> str:
        """Return its name, unit, distribution and source as one line."""
        stated = distribution(self.distribution, where=self.name)
        return f"{self.name} [{self.unit or 'dimensionless'}]: {stated} ({self.source})"
