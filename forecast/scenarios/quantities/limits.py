"""Limits on quantities: what a path may not exceed or fall below, and what it keeps.

::

    [quantities.spend]
    expression = "60e6*(1 + g)**(t - start + 1)"
    limit = "0.01*gdp"
    how = "saturating"            # or "hard", the default, or "softmin", with its sharpness
    at_least = "1e6 USD"
    [quantities.peak]
    model = "hardware/hpcg"
    keeps = "frontier"            # or "positive"
    scale = "level"               # or "share", "percent", "linear", "signed", "count"
    ceiling = 1e21                # with floor: what it never reaches
    at_most = 1e40                # more is an error, and nothing is cut off

A quantity also keeps what the models behind it do, unless its scenario says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from forecast import units
from forecast.contract.fields import KEEPS, SCALES, is_number
from forecast.errors import ScenarioError, printable
from forecast.formula import Condition
from forecast.models.scales import UNBOUNDED, Bounds

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.scenarios.parse import ScenarioReader
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


#: The keys of a quantity that are read here, whatever kind it is.
LIMIT_KEYS = ("limit", "how", "sharpness", "at_least", "keeps", "scale", "floor", "ceiling", "at_most")

#: Says that a quantity need not keep what its model declares.
NO_CONSTRAINT = "nothing"
_HOW = ("hard", "saturating", "softmin")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What bounds a quantity.

    Parameters
    ----------
    limit : Condition, optional
        ``quantity <= limit``: as a condition, a bare number has the unit of the quantity, and any may end in a unit.
    how : {"hard", "saturating", "softmin"}
        The smaller of value and limit; ``L*(1 - exp(-v/L))``; or ``(v**-s + L**-s)**(-1/s)``.
    sharpness : float
        s of ``softmin``.
    at_least : Condition, optional
        ``quantity >= at_least``: the larger of both is taken, after the limit.
    keeps : {"", "frontier", "positive", "nothing"}
        A frontier never falls, and starts at the last observed record. What should be positive and is not is an error.
        ``"nothing"`` sets aside what its model declares.
    bounds : Bounds
        Its scale: a trend is drawn on it. What else leaves its ends is an error.
    at_most : float
        More, in the quantity's unit, is an error.
    """

    limit: Condition | None = None
    how: Literal["hard", "saturating", "softmin"] = "hard"
    sharpness: float = 8.0
    at_least: Condition | None = None
    keeps: Literal["", "frontier", "positive", "nothing"] = ""
    bounds: Bounds = UNBOUNDED
    at_most: float = math.inf

    @property
    def set(self) -> Limits | None:
        """What also holds of a number to which the quantity is set: what it keeps."""
        kept = Limits(keeps=self.keeps, bounds=self.bounds, at_most=self.at_most)
        return kept if kept.plain else None

    @property
    def conditions(self) -> dict[str, Condition]:
        """What is stated as a condition, by key."""
        stated = {"limit": self.limit, "at_least": self.at_least}
        return {key: condition for key, condition in stated.items() if condition is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """The names on which the bounds depend."""
        return tuple(dict.fromkeys(n for condition in self.conditions.values() for n in condition.right.names))

    def mapped(self, change: Callable[[Condition, str], Condition], where: str) -> Limits:
        """Return the limits with each condition changed by a function of it and its key below `where`."""
        changed = {part: change(condition, f"{where}.{part}") for part, condition in self.conditions.items()}
        return replace(self, **changed)  # type: ignore[arg-type]

    @property
    def plain(self) -> dict[str, Any]:
        """What is stated, as plain data."""
        out: dict[str, Any] = {key: condition.right.text for key, condition in self.conditions.items()}
        if self.limit is not None:
            out["how"] = self.how
        if self.how == "softmin":
            out["sharpness"] = self.sharpness
        if self.keeps:
            out["keeps"] = self.keeps
        out |= self.bounds.plain
        if self.at_most < math.inf:
            out["at_most"] = self.at_most
        return out


def read_limits(reader: ScenarioReader, record: Mapping[str, Any], name: str) -> Limits | None:
    """Read what bounds a quantity; None where nothing does."""
    stated = {key: record[key] for key in LIMIT_KEYS if key in record}
    if not stated:
        return None
    key = f"quantities.{name}"
    how = reader.word(record, "how", key, _HOW, what="kind of limit", default="hard")
    if "limit" not in stated and "how" in stated:
        raise reader.fail(f"{key}.how", "says how a limit holds, and there is no limit")
    if "sharpness" in stated and how != "softmin":
        raise reader.fail(f"{key}.sharpness", 'belongs to how = "softmin"')
    sharpness = record.get("sharpness", 8.0)
    if not is_number(sharpness) or not 0 < sharpness <= 1e6:
        raise reader.fail(f"{key}.sharpness", f"expected a number above 0, got '{printable(sharpness, 40)}'")
    if (keeps := record.get("keeps")) in SCALES:
        raise reader.fail(f"{key}.keeps", f"'{keeps}' is a scale: scale = \"{keeps}\"")

    ends = {end: _read_end(reader, record, end, key) for end in ("floor", "ceiling") if end in record}
    scale = reader.text(record, "scale", key) if "scale" in record else ""
    bounds = Bounds(scale=scale, **ends).check(f"{reader.where}: {key}.scale")
    at_most = _read_end(reader, record, "at_most", key) if "at_most" in record else math.inf
    return Limits(
        limit=read_comparison(reader, name, "<=", record["limit"], f"{key}.limit") if "limit" in record else None,
        how=how,
        sharpness=float(sharpness),
        at_least=read_comparison(reader, name, ">=", record["at_least"], f"{key}.at_least")
        if "at_least" in record
        else None,
        keeps=reader.word(record, "keeps", key, (*KEEPS, NO_CONSTRAINT), what="word") if keeps is not None else "",
        bounds=bounds,
        at_most=at_most,
    )


def _read_end(reader: ScenarioReader, record: Mapping[str, Any], name: str, key: str) -> float:
    """Read a number in the quantity's unit."""
    end = record[name]
    if not (is_number(end) and math.isfinite(end)):
        raise reader.fail(f"{key}.{name}", f"expected a number in the quantity's unit, got {printable(end, 40)}")
    return float(end)


def read_comparison(reader: ScenarioReader, name: str, op: str, stated: object, key: str) -> Condition:
    """Read what a quantity is compared with, as the condition that it is: numbers have units as in every comparison."""
    if is_number(stated) and math.isfinite(stated):
        stated = repr(stated)
    if not isinstance(stated, str):
        what = "expected an expression, or a number in the quantity's unit"
        raise reader.fail(key, f"{what}, got {printable(stated, 40)}")
    return reader.condition(f"{name} {op} {stated}", key)
