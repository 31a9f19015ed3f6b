"""A link of a chain: a formula over other quantities and over uncertain inputs of its own.

As inside a law, every name is the plain number in its declared unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forecast import Input, ModelSpec

if TYPE_CHECKING:
    from forecast.base.arrays import Array


__all__ = ["Link", "specs"]


@dataclass(frozen=True, kw_only=True)
class Link:
    """A formula over other quantities and inputs.

    Parameters
    ----------
    title, unit, expression, reference, note : str
    quantity : str
        What it gives; its own name unless stated.
    takes : mapping of str to str
        Other quantities and their units; none may be negative.
    zero : tuple of str
        Those of them that may be 0: all others are sizes, times or rates.
    inputs : tuple of Input
    check : callable, optional
        Raises where the formula has no meaning; it is given the model's name, and every name's values.
    """

    title: str
    unit: str
    expression: str
    takes: Mapping[str, str]
    reference: str
    note: str = ""
    quantity: str = ""
    inputs: tuple[Input, ...] = ()
    zero: tuple[str, ...] = ()
    check: Callable[[str, Mapping[str, Array]], None] | None = None


def specs(links: Mapping[str, Link]) -> tuple[ModelSpec, ...]:
    """Return the records of links."""
    return tuple(
        ModelSpec(
            name=name,
            title=found.title,
            quantity=f"emergence.{found.quantity or name.replace('-', '_')}",
            unit=found.unit,
            target="forecast_emergence.link_model:link",
            note=found.note,
            reference=found.reference,
        )
        for name, found in links.items()
    )
