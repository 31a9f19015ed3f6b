"""One of several regimes a world.

::

    [quantities.kind]
    draw = { exponential = 0.45, super = 0.45, sub = 0.10 }
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array
from forecast.errors import UnknownNameError, printable
from forecast.scenarios.quantities.node import Combination, Node, Plan, QuantityKind
from forecast.scenarios.settings import setting_values

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables

#: What a label may be made of: what the CF conventions allow in ``flag_meanings``.
_LABEL = re.compile(r"[A-Za-z0-9_.+@-]{1,64}", re.ASCII)
#: Probabilities may differ from 1 in all by what writing them in decimals leaves.
PROBABILITY_ATOL = 1e-9


@dataclass(frozen=True, kw_only=True)
class Regime(QuantityKind):
    """One of several regimes a world, each with its probability; its value is the number of its label, from 0."""

    KIND, IDENTIFYING_KEYS, FORM = "regime", ("draw",), "a draw"
    CONSTANT = True

    labels: tuple[str, ...] = ()
    probabilities: tuple[float, ...]
    #: When what the probabilities rest on was published, and the probabilities before.
    published: str = ""
    earlier: tuple[float, ...] | None = None

    def codes(self, u: Array) -> Array:
        """Turn uniforms in (0, 1) into the numbers of labels.

        Examples
        --------
        >>> import numpy as np
        >>> Regime(labels=("low", "high"), probabilities=(0.25, 0.75)).codes(np.array([0.1, 0.3, 0.9])).tolist()
        [0.0, 1.0, 1.0]
        """
        ends = np.cumsum(self.probabilities)[:-1]
        codes: Array = np.searchsorted(ends, u, side="right").astype(np.float64)
        return codes

    def shares(self, plan: Plan, name: str) -> tuple[float, ...]:
        """Return the probabilities as of the date of a run."""
        return plan.known(name, self.published, self.probabilities, self.earlier)

    def restricted_to(self, labels: tuple[str, ...]) -> Regime:
        """Return the regime that holds some of its labels alone, with their probabilities in proportion.

        Examples
        --------
        >>> Regime(labels=("a", "b", "c"), probabilities=(0.2, 0.3, 0.5)).restricted_to(("a", "b")).probabilities
        (0.4, 0.6, 0.0)
        """

        def restricted(shares: tuple[float, ...]) -> tuple[float, ...]:
            kept = [share if label in labels else 0.0 for label, share in zip(self.labels, shares, strict=True)]
            return tuple(share / sum(kept) for share in kept) if any(kept) else shares

        earlier = None if self.earlier is None else restricted(self.earlier)
        return replace(self, probabilities=restricted(self.probabilities), earlier=earlier)

    def code(self, label: object, *, where: str) -> float:
        """Return the number of a label.

        Raises
        ------
        UnknownNameError
        """
        if label not in self.labels:
            raise UnknownNameError("label", label, self.labels, where=where)
        return float(self.labels.index(str(label)))

    def set_to(self, given: object, *, where: str) -> Regime:
        """Return the regime that is set: one label for sure, or the same labels with other probabilities.

        Parameters
        ----------
        given : str or mapping
            A label; or ``{fast = 0.2, slow = 0.8}``, as a text or a mapping, which may stand under ``draw`` as in a
            file. A label that it does not name has the probability 0.
        where : str
            For messages.

        Raises
        ------
        UnknownNameError, ScenarioError, UsageError

        Examples
        --------
        >>> Regime(labels=("low", "mid", "high"), probabilities=(0.2, 0.3, 0.5)).set_to(
        ...     "{draw = {high = 0.9, low = 0.1}}", where="set level").probabilities
        (0.1, 0.0, 0.9)
        """
        from forecast.scenarios.parse import ScenarioReader

        if (
            table := setting_values.parse_table(given, where, expected="probabilities such as {fast = 0.2, slow = 0.8}")
        ) is None:
            sure = self.code(given, where=where)
            certain = tuple(float(code == sure) for code in range(len(self.labels)))
            return replace(self, probabilities=certain, published="")
        shares = table["draw"] if set(table) == {"draw"} and isinstance(table["draw"], Mapping) else table
        for label in shares:
            self.code(label, where=where)
        return self._of(ScenarioReader(where), {label: shares.get(label, 0.0) for label in self.labels}, "draw")

    @property
    def sure(self) -> float | None:
        """The number of the label that every world has; None where there are several."""
        return float(self.probabilities.index(1.0)) if 1.0 in self.probabilities else None

    @classmethod
    def read(cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]) -> Regime:
        """Return the labels and their probabilities."""
        reader.only(record, ("draw", "published", "earlier"), key)
        result = cls._of(reader, record["draw"], f"{key}.draw")
        published, earlier = reader.published(record, key), None
        if "earlier" in record:
            stated = cls._of(reader, record["earlier"], f"{key}.earlier")
            shares = dict(zip(stated.labels, stated.probabilities, strict=True))
            for label in shares:
                result.code(label, where=f"{reader.where}: {key}.earlier")
            earlier = tuple(shares.get(label, 0.0) for label in result.labels)
        return replace(result, published=published, earlier=earlier)

    @classmethod
    def _of(cls, reader: ScenarioReader, stated: object, at: str) -> Regime:
        if not isinstance(stated, Mapping) or len(stated) < 2:
            raise reader.fail(
                at, "expected two or more labels with their probabilities, such as {fast = 0.3, slow = 0.7}"
            )
        for label in stated:
            if not isinstance(label, str) or not _LABEL.fullmatch(label):
                raise reader.fail(
                    at, f"expected labels of letters, digits and any of _ . + @ -, got '{printable(label, 40)}'"
                )
        shares = tuple(reader.finite(value, f"{at}.{label}") for label, value in stated.items())
        for label, share in zip(stated, shares, strict=True):
            if share < 0:
                raise reader.fail(f"{at}.{label}", f"expected a probability, got {share:g}")
        if abs(math.fsum(shares) - 1) > PROBABILITY_ATOL:
            raise reader.fail(at, f"expected probabilities that sum to 1; their sum is {math.fsum(shares):.10g}")
        return cls(labels=tuple(stated), probabilities=shares)

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node, which needs nothing."""
        return Node(name=name, unit="", dims=(), quantity=self)

    @property
    def one_uniform(self) -> bool:
        """Whether it is drawn through one uniform: always."""
        return True

    def lower(self, plan: Plan, node: Node, combination: Combination) -> int:
        """Return the number of a label a world."""
        shares = self.shares(plan, node.name)
        drawn = replace(self, probabilities=shares)
        return plan.add("drawn", [plan.uniform(node.name)], drawn.codes, stated=shares, of=node.name)
