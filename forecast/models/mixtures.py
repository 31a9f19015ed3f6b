"""Several models of one quantity with weights = mixture: each draw takes one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forecast.models.protocol import Description, FittedModel, Model, Need, OtherModel
from forecast.specs import Input, MixtureSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.streams import Streams

    Array = NDArray[np.float64]

__all__ = ["from_spec"]

#: The input that picks the member: a node like any other, so that the choice of author can be fixed and blamed.
PICK = "member"


def from_spec(name: str, spec: MixtureSpec, members: Mapping[str, Model]) -> Model:
    """Build the mixture a `MixtureSpec` describes from its members.

    Raises
    ------
    UnitError
        If a member is of another dimension.
    """
    from forecast import basis, units

    sides: dict[str, Mapping[str, str]] = {name: basis.check(spec.basis, where=f"model '{name}'")}
    for member, made in members.items():
        units.check(made.unit, spec.unit, where=f"model '{name}': member '{member}'")
        for other, stated in sides.items():
            basis.meet(stated, made.basis, left=other, right=member, where=f"model '{name}'")
        sides[member] = made.basis
    pick = Input(
        name=PICK,
        unit="",
        distribution={"low": 0.0, "high": 1.0},
        source="the weights of the mixture",
        title="which member a draw takes, in the order of the weights",
    )
    inputs: dict[str, Need] = {PICK: pick}
    inputs.update({member: OtherModel(model=made) for member, made in members.items()})
    return _Mixture(
        name=name,
        unit=spec.unit,
        weights=spec.weights,
        inputs=inputs,
        note=spec.note,
        sources=(spec.reference,),
        basis={attribute: value for stated in sides.values() for attribute, value in stated.items()},
    )


@dataclass(frozen=True, kw_only=True)
class _Mixture(Model, FittedModel):
    name: str
    unit: str
    weights: Mapping[str, float]
    inputs: Mapping[str, Need]
    note: str
    sources: tuple[str, ...]
    basis: Mapping[str, str] = field(default_factory=dict)

    def fit(self, *, before: float | None = None, seed: int = 0) -> FittedModel:
        return self

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        import numpy as np

        from forecast import units

        names = list(self.weights)
        edges = np.cumsum([self.weights[n] for n in names])
        taken = np.searchsorted(edges / edges[-1], inputs[PICK], side="right").clip(max=len(names) - 1)
        out = np.empty((len(time), streams.draws))
        for index, name in enumerate(names):
            mine = taken == index
            member = self.inputs[name]
            assert isinstance(member, OtherModel)
            out[:, mine] = units.convert(inputs[name][:, mine], member.model.unit, self.unit, where=self.name)
        return out

    def describe(self) -> Description:
        total = sum(self.weights.values())
        shares = ", ".join(f"{n} {w / total:.0%}" for n, w in self.weights.items())
        return Description(
            summary=f"a mixture of {len(self.weights)} estimates: {shares}" + (f"; {self.note}" if self.note else ""),
            assumptions=("each draw takes one member; the weights are ours, not measured",),
            sources=self.sources,
        )
