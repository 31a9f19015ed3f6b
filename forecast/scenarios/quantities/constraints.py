"""What a quantity keeps because the models behind it do, and where its scenario says otherwise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from forecast import units
from forecast.errors import ScenarioError
from forecast.models.scales import Bounds
from forecast.scenarios.quantities.limits import NO_CONSTRAINT, Limits

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.scenarios.quantities.node import Node
    from forecast.scenarios.scenario import Scenario


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
        if bounds.keeps == NO_CONSTRAINT:
            raise ScenarioError(
                f'{key}.keeps: "{NO_CONSTRAINT}" sets aside what a model declares, and there is no model'
            )
        return replace(node, limits=stated)
    if bounds.keeps != NO_CONSTRAINT:
        most = [_upper_bound(made, node.unit, key) for made in node.models.values()]
        for made, highest in zip(node.models.values(), most, strict=True):
            _check_statement(made, bounds, highest, key)
        words = {made.keeps for made in node.models.values()}
        common = next(iter(words)) if len(words) == 1 else ""
        ends = {made.bounds.converted(made.unit, node.unit, where=key) for made in node.models.values()}
        alike = next(iter(ends)) if len(ends) == 1 else Bounds()
        bounds = replace(
            bounds,
            keeps=bounds.keeps or common,  # type: ignore[arg-type]
            bounds=bounds.bounds or alike,
            at_most=min(bounds.at_most, max(most)),
        )
    made_to_keep = node.models
    if bounds.keeps in ("frontier", NO_CONSTRAINT):
        word = bounds.keeps.removeprefix(NO_CONSTRAINT)
        made_to_keep = {at: made if made.keeps == word else made.keeping(word) for at, made in node.models.items()}
    if stated is not None and stated.bounds:
        made_to_keep = {
            at: made.on_scale(stated.bounds.converted(node.unit, made.unit, where=key))
            for at, made in made_to_keep.items()
        }
    return replace(node, models=made_to_keep, limits=None if bounds == Limits() else bounds)


def _upper_bound(model: Model, unit: str, key: str) -> float:
    """Return what a model never exceeds, in the quantity's unit."""
    return math.inf if model.at_most is None else float(units.convert(model.at_most, model.unit, unit, where=key))


def _check_statement(model: Model, limits: Limits, most: float, key: str) -> None:
    """Refuse a statement that takes back what a model declares; a frontier or a share of what is positive does not."""
    way = f'keeps = "{NO_CONSTRAINT}" sets aside what the model declares'
    if limits.keeps and model.keeps not in ("", "positive", limits.keeps):
        raise ScenarioError(
            f"{key}.keeps: '{limits.keeps}' contradicts the model '{model.name}', which keeps '{model.keeps}'; {way}"
        )
    scale = limits.bounds.scale
    if scale and model.bounds.scale not in ("", scale):
        raise ScenarioError(
            f"{key}.scale: '{scale}' contradicts the model '{model.name}', a {model.bounds.scale}; {way}"
        )
    if most < limits.at_most < math.inf:
        raise ScenarioError(
            f"{key}.at_most: {limits.at_most:g} contradicts the model '{model.name}', never above {most:g}; {way}"
        )
