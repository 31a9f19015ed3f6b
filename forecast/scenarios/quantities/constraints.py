"""What a quantity keeps because the models behind it do, and where its scenario says otherwise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from forecast import units
from forecast.errors import ScenarioError
from forecast.scenarios.quantities.limits import NOTHING, Limits

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.scenarios.quantities.node import Node
    from forecast.scenarios.scenario import Scenario

__all__ = ["of_models"]


def of_models(node: Node, scenario: Scenario) -> Node:
    """Return a node with what bounds it: what its scenario states, and what its models declare beside.

    Models of different choices that declare different things keep each its own where they do so by construction; the
    quantity then promises what all of them do.

    Raises
    ------
    ScenarioError
        Where the scenario contradicts a model without saying so.
    """
    stated = scenario.limits.get(node.name)
    bounds, key = stated or Limits(), f"{scenario.where}: quantities.{node.name}"
    if not node.models:
        if bounds.keeps == NOTHING:
            raise ScenarioError(f'{key}.keeps: "{NOTHING}" sets aside what a model declares, and there is no model')
        return replace(node, limits=stated)
    if bounds.keeps != NOTHING:
        most = [_most(made, node.unit, key) for made in node.models.values()]
        for made, highest in zip(node.models.values(), most, strict=True):
            _check(made, bounds, highest, key)
        words = {made.keeps for made in node.models.values()}
        common = next(iter(words)) if len(words) == 1 else ""
        bounds = replace(bounds, keeps=bounds.keeps or common, at_most=min(bounds.at_most, max(most)))  # type: ignore[arg-type]
    made_to_keep = node.models
    if bounds.keeps in ("frontier", NOTHING):
        word = bounds.keeps.removeprefix(NOTHING)
        made_to_keep = {at: made if made.keeps == word else made.keeping(word) for at, made in node.models.items()}
    return replace(node, models=made_to_keep, limits=None if bounds == Limits() else bounds)


def _most(made: Model, unit: str, key: str) -> float:
    """Return what a model never exceeds, in the quantity's unit."""
    return math.inf if made.at_most is None else float(units.convert(made.at_most, made.unit, unit, where=key))


def _check(made: Model, stated: Limits, most: float, key: str) -> None:
    """Refuse a statement that takes back what a model declares; a frontier or a share of what is positive does not."""
    way = f'keeps = "{NOTHING}" sets aside what the model declares'
    if stated.keeps and made.keeps not in ("", "positive", stated.keeps):
        raise ScenarioError(
            f"{key}.keeps: '{stated.keeps}' contradicts the model '{made.name}', which keeps '{made.keeps}'; {way}"
        )
    if most < stated.at_most < math.inf:
        raise ScenarioError(
            f"{key}.at_most: {stated.at_most:g} contradicts the model '{made.name}', never above {most:g}; {way}"
        )
