"""What a setting makes of a node of the graph, or of an input of a model: ``--set``, `with_` and `sweep` end here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from forecast.base.distributions import distribution, numbers_in
from forecast.contract.inputs import Input
from forecast.errors import UsageError, printable
from forecast.scenarios.kinds.prior import Prior
from forecast.scenarios.kinds.regime import Regime
from forecast.scenarios.quantities.node import Node
from forecast.scenarios.settings import setting_targets, setting_values


def to_node(node: Node, key: str, value: object, *, lower: float | None, unit: Callable[[], str]) -> Node:
    """Return the node of a quantity that is set: a fixed number or a label, or one drawn from what was set.

    Parameters
    ----------
    node : Node
    key : str
        What was set, for messages.
    value : object
        As it was given: a number, a text, or the record of a distribution.
    lower : float or None
        What the scenario says that it may not be below.
    unit : callable
        Returns the unit of the quantity; asked only where it is needed, since an expression may have to be built.

    Raises
    ------
    UsageError, UnitError
    """
    # an expression keeps its needs: they give it its unit
    needs = node.needs if node.quantity.UNIT_OF_NEEDS else ()
    record: Mapping[str, Any]
    if isinstance(node.quantity, Regime):
        regime = node.quantity.set_to(value, where=f"set {key}")
        if regime.sure is None:
            return replace(node, quantity=regime)
        record = {"value": regime.sure}
    else:
        setting_targets.check_no_model(key, value)
        stated = node.quantity.distribution if isinstance(node.quantity, Prior) else None
        record = setting_values.parse_setting(key, value, unit, lower=setting_values.floor(stated, lower))
        most = math.inf if node.limits is None else node.limits.at_most
        if (high := max(numbers_in(record), default=0.0)) > most:
            expected = f"expected at most {f'{most:,.12g} {unit()}'.rstrip()}"
            raise UsageError(f"set {printable(key, 80)}: {expected}, got {high:g}")
    bare = replace(
        node, own=(), models={}, figures={}, variants={}, past=(), limits=node.limits and node.limits.set,
    )  # fmt: skip
    if set(record) == {"value"}:
        return replace(bare, fixed=record["value"], needs=needs)
    qualifiers = node.quantity.qualifiers if isinstance(node.quantity, Prior) else {}
    prior = Prior(distribution=distribution(record, where=f"set {key}"), unit=unit(), qualifiers=qualifiers)
    return replace(bare, unit=prior.unit, quantity=prior, needs=(), own_draws=None)


def to_input(uncertain: Input, key: str, match: str, value: object) -> dict[str, Any]:
    """Return what an input of a model is set to, as the record of a distribution in its unit."""
    lower = setting_values.floor(distribution(uncertain.distribution, where=match), uncertain.lower)
    return setting_values.parse_setting(key, value, partial(str, uncertain.unit), lower=lower)
