"""Several models of one quantity with weights = mixture: each draw takes one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from forecast import units
from forecast.base.arrays import Array
from forecast.contract.specs import Input, MixtureSpec
from forecast.errors import UsageError
from forecast.models.protocol import Description, Model, Need, OtherModel, Unfitted
from forecast.models.scales import Bounds

if TYPE_CHECKING:
    from forecast.base.streams import Streams

#: The input that picks the member: a node like any other, so that the choice of author can be fixed and blamed.
MEMBER_INPUT = "member"


def from_spec(name: str, spec: MixtureSpec, members: Mapping[str, Model]) -> Model:
    """Build the mixture a `MixtureSpec` describes from its members."""
    return mixture(
        name,
        members,
        weights=spec.weights,
        published=spec.members_published,
        unit=spec.unit,
        qualifiers=spec.qualifiers,
        note=spec.note,
        sources=(spec.reference,),
    )


def mixture(
    name: str,
    members: Mapping[str, Model],
    *,
    weights: Mapping[str, float],
    unit: str,
    note: str,
    sources: tuple[str, ...],
    qualifiers: Mapping[str, str] | None = None,
    published: Mapping[str, str] | None = None,
    of: str = "estimates",
) -> Model:
    """Mix models of one quantity by weights; `of` is their kind, in the plural, `published` the dates of members.

    Raises
    ------
    UnitError
        If a member is of another dimension.
    """
    from forecast.units import qualifiers as bases

    sides: dict[str, Mapping[str, str]] = {name: bases.check(qualifiers or {}, where=f"model '{name}'")}
    for member, model in members.items():
        units.check(model.unit, unit, where=f"model '{name}': member '{member}'")
        for other, basis in sides.items():
            bases.meet(basis, model.qualifiers, left=other, right=member, where=f"model '{name}'")
        sides[member] = model.qualifiers
    pick = Input(
        name=MEMBER_INPUT,
        unit="",
        distribution={"low": 0.0, "high": 1.0},
        source="the weights of the mixture",
        title="which member a draw takes, in the order of the weights",
    )
    inputs: dict[str, Need] = {MEMBER_INPUT: pick}
    inputs.update({weight.name: weight for weight in _weight_inputs(weights, published or {})})
    inputs.update({member: OtherModel(model=made) for member, made in members.items()})
    return _Mixture(
        name=name,
        unit=unit,
        weights=weights,
        inputs=inputs,
        note=note,
        sources=sources,
        qualifiers={attribute: value for stated in sides.values() for attribute, value in stated.items()},
        of=of,
    )


def _weight_inputs(weights: Mapping[str, float], published: Mapping[str, str]) -> list[Input]:
    """Make an input of every weight, so that a user can set it: ``weight_kurzweil_2005``."""
    return [
        Input(
            name=name,
            unit="",
            distribution={"value": float(weights[member])},
            source="the weights of the mixture",
            title=f"weight of {member}",
            published=published.get(member, ""),
            earlier={"value": 0.0},
        )
        for member, name in _weight_names(weights).items()
    ]


def _weight_names(members: Iterable[str]) -> dict[str, str]:
    """Name the weights after their members: by the bare name, or the shape, where no two members share it."""
    plain = {member: re.sub(r"\W", "_", member, flags=re.ASCII) for member in members}
    bare = {member: re.sub(r"\W", "_", _short_label(member), flags=re.ASCII) for member in members}
    bare_names = list(bare.values())
    chosen = {member: plain[member] if bare_names.count(bare[member]) > 1 else bare[member] for member in members}
    return {member: f"weight_{name}"[:64] for member, name in chosen.items()}


def _short_label(member: str) -> str:
    """Return what tells a member apart: the shape beside a series, or the name without its plugin."""
    return re.split("[/@]", member)[-1]


@dataclass(frozen=True, kw_only=True)
class _Mixture(Unfitted):
    weights: Mapping[str, float]
    of: str = "estimates"

    def rests_on(self) -> Model:
        """Return the first trend of a pool: all have one series."""
        first = self.inputs[next(iter(self.weights))]
        return first.model if self.of == "shapes" and isinstance(first, OtherModel) else self

    def keeping(self, keeps: str) -> Model:
        """Return the mixture of members that keep this: each path is that of one member."""
        return replace(self, inputs=self._with_members(lambda member: member.keeping(keeps)), keeps=keeps)

    def on_scale(self, bounds: Bounds) -> Model:
        """Return the mixture of members on this scale."""
        return replace(self, inputs=self._with_members(lambda member: member.on_scale(bounds)), bounds=bounds)

    def _with_members(self, change: Callable[[Model], Model]) -> dict[str, Need]:
        """Return the inputs with every member changed."""
        return {
            name: OtherModel(model=change(need.model)) if isinstance(need, OtherModel) else need
            for name, need in self.inputs.items()
        }

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        names = list(self.weights)
        weights = np.stack([inputs[key] for key in _weight_names(names).values()])
        if not (weights >= 0).all() or not (weights.sum(axis=0) > 0).all():
            lowest = ", ".join(f"{n} {w:g}" for n, w in zip(names, weights.min(axis=1), strict=True))
            raise UsageError(f"{self.name}: weights must be 0 or more, and not all 0; got {lowest}")
        edges = np.cumsum(weights, axis=0)
        # a weight of zero is never taken, not even by a pick of exactly 0 or 1
        last = len(weights) - 1 - np.argmax(weights[::-1] > 0, axis=0)
        taken = np.minimum((edges <= inputs[MEMBER_INPUT] * edges[-1]).sum(axis=0), last)
        out = np.empty((len(time), streams.draws))
        for index, name in enumerate(names):
            mine = taken == index
            member = self.inputs[name]
            assert isinstance(member, OtherModel)
            out[:, mine] = units.convert(inputs[name][:, mine], member.model.unit, self.unit, where=self.name)
        return out

    def describe(self) -> Description:
        from forecast.base.distributions import distribution

        weights = {}
        for member, key in _weight_names(self.weights).items():
            weight_input = self.inputs[key]
            assert isinstance(weight_input, Input)
            weights[member] = distribution(weight_input.distribution, where=f"{self.name}.{key}").median()
        total = sum(weights.values()) or 1.0
        pool = self.of == "shapes"
        shares = ", ".join(f"{_short_label(n) if pool else n} {w / total:.0%}" for n, w in weights.items())
        summary = f"a {'pool' if pool else 'mixture'} of {len(self.weights)} {self.of}: {shares}"
        first = next(iter(_weight_names(self.weights).values()))
        return Description(
            summary=summary + (f"; {self.note}" if self.note else ""),
            assumptions=(
                "each draw takes one member; the weights are ours, not measured",
                f"every weight is an input: --set {self.name}.{first}=2",
            ),
            sources=self.sources,
        )
