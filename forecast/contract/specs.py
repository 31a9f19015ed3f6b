"""The records plugins hand in: frozen, keyword-only, standard library only.

A record *names* things. Heavy code is given as ``target="module:attribute"`` and imported at its first use, so that
listing fifty plugins stays cheap. Every record carries a `reference`: where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from forecast.base.number_checks import is_integer
from forecast.contract.fields import (
    KEEPS,
    SCALES,
    Checked,
    checked_field,
    date,
    flag_field,
    is_number,
    is_text,
    mapping_field,
    mapping_of,
    maybe_text,
    optional_field,
    pair,
    record_tuple_field,
    text_field,
    text_tuple_field,
)
from forecast.contract.inputs import Input
from forecast.contract.published import DatedForecast, ProtocolSpec, PublishedFit
from forecast.errors import printable

__all__ = [
    "ClaimSpec", "CommandSpec", "DatedForecast", "EstimateSpec", "FunctionSpec", "Input", "LawSpec",
    "MixtureSpec", "ModelSpec", "ObjectiveSpec", "ProtocolSpec", "PublishedFit", "QuantitySpec", "ReaderSpec",
    "RelationSpec", "RivalForecast", "ScenarioSpec", "ScoreSpec", "SeriesShape", "ShapeSpec", "Spec", "TableSpec",
    "TrendSpec", "UnitSpec",
]  # fmt: skip


RECORD_NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)
TARGET_PATTERN = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Spec(Checked):
    """What every record has.

    Parameters
    ----------
    name : str
        Lower case letters, digits and hyphens. The registry puts the plugin's name before it: ``plugin/name``.
    reference : str
        Where it comes from: paper and equation, data set, page. Never empty.
    title : str
        One line for people.
    kind : str
        The kind of record, as `forecast.catalogue` takes it; of the class.

    Raises
    ------
    PluginContractError
        If a field has the wrong type or the name breaks the rule; the message names the record and the field.
    """

    kind: ClassVar[str] = "record"

    name: str = text_field()
    reference: str = text_field()
    title: str = text_field(default="")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not RECORD_NAME_PATTERN.fullmatch(self.name):
            self._refuse("name", "expected lower case letters, digits and hyphens")
        if not self.reference.strip():
            self._refuse("reference", "is empty: say where this comes from")
        target = getattr(self, "target", None)
        if target is not None and not TARGET_PATTERN.fullmatch(target):
            self._refuse("target", f"expected 'module:attribute', got '{printable(target, 60)}'")
        self._check()

    def _check(self) -> None:
        """Refuse combinations of fields that cannot be; for subclasses."""


@dataclass(frozen=True, kw_only=True)
class LawSpec(Spec):
    """A formula over variables and parameters; no numbers in it.

    Parameters
    ----------
    variables : mapping of str to str
        Variable name to unit. Inside the formula a variable is the plain number in that unit.
    expression : str, optional
        The formula in the safe grammar. Names that are not variables are parameters, in order of appearance.
    equals : str, optional
        Makes the law implicit: `expression`, which holds the output, equals this formula, which does not.
    between : pair of str or float, optional
        What the output of an implicit law lies between: names of parameters, or numbers.
    target : str, optional
        ``"module:attribute"`` of a callable ``f(parameters, **variables)``, where no formula can be written.
    output : str
        Name of what the formula gives.
    unit : str
        Unit of the output; ``""`` is dimensionless.
    bounds : mapping of str to (float, float)
        Bounds of parameters.
    positive : tuple of str
        Shorthand for the bounds ``(0, inf)``.
    objective : str
        The objective this law is usually fitted with.
    published : tuple of PublishedFit
        Published parameters.
    example : mapping of str to float
        Plausible parameters, from which the conformance kit simulates and recovers.
    domain : mapping of str to (float, float)
        A plausible range for each variable, used in the same way.
    protocols : tuple of ProtocolSpec
        Published ways of fitting it.
    costs : mapping of str to str
        Named costs, formulas over its variables and further names: ``{"training": "6*N*D"}``.
    ridge : str
        Why no data can tell its parameters apart, where that is so: a scale that two of them share. What is simulated
        from the example is then recovered in its values, and not in its parameters.
    requires : mapping of str to str
        Formulas over its names that are above 0 where the law has a meaning, and what each of them is. Elsewhere its
        values are nan, and a fit refuses to predict.
    record : str
        Path of a CSV file that says how forecasts with it have done; see `forecast.contract.track_record`.
    """

    kind: ClassVar[str] = "law"

    variables: Mapping[str, str] = checked_field(mapping_of(is_text), "a mapping of variable to unit")
    expression: str | None = maybe_text()
    equals: str | None = maybe_text()
    between: tuple[str | float, str | float] | None = optional_field(
        lambda v: isinstance(v, tuple) and len(v) == 2 and all(is_text(e) or is_number(e) for e in v),
        "a pair of parameter names or numbers",
    )
    target: str | None = maybe_text()
    output: str = text_field(default="y")
    unit: str = text_field(default="")
    bounds: Mapping[str, tuple[float, float]] = mapping_field(pair, "to (low, high)")
    positive: tuple[str, ...] = text_tuple_field("parameter names")
    objective: str = text_field(default="least_squares")
    published: tuple[PublishedFit, ...] = record_tuple_field(PublishedFit, default=())
    example: Mapping[str, float] = mapping_field(is_number, "of parameter to number")
    domain: Mapping[str, tuple[float, float]] = mapping_field(pair, "to (low, high)")
    protocols: tuple[ProtocolSpec, ...] = record_tuple_field(ProtocolSpec, default=())
    costs: Mapping[str, str] = mapping_field(is_text, "of name to formula")
    ridge: str = text_field(default="")
    requires: Mapping[str, str] = mapping_field(is_text, "of formula to what it is")
    record: str = text_field(default="")

    def _check(self) -> None:
        if (self.expression is None) == (self.target is None):
            self._refuse("expression", "give an expression or a target, one of the two")
        if (self.equals is None) != (self.between is None) or (self.equals is not None and self.target is not None):
            self._refuse("equals", "an implicit law has an expression, equals and between")


@dataclass(frozen=True, kw_only=True)
class ObjectiveSpec(Spec):
    """What a fit may minimise: ``target`` names a subclass of `forecast.fit.objectives.Objective`.

    With `log` its loss sees logarithms of law and observations.
    """

    kind: ClassVar[str] = "objective"

    target: str = text_field()
    log: bool = flag_field(False)


def _is_constraint_name(value: object) -> bool:
    return isinstance(value, str) and value in ("", *KEEPS)


@dataclass(frozen=True, kw_only=True)
class ShapeSpec(Spec):
    """A law in time with a noise law; ``target`` names a class that follows `forecast.models.Shape`.

    Parameters
    ----------
    keeps : {"", "frontier", "positive"}
        What every trend of this shape keeps, whatever its series says.
    target : str
    members : tuple of str
        The shapes that it pools, by full name: those that stand beside it where a question shows what it is made of.
    record_members : tuple of str
        Further ones that it pools in rows that keep their best so far.
    record : str
        Path of a CSV file that says how forecasts with it have done; see `forecast.contract.track_record`.
    crossings : str
        Path of a CSV file that says how often levels were reached by a date, as it stated; see the same module.
    """

    kind: ClassVar[str] = "shape"

    target: str = text_field()
    keeps: str = checked_field(_is_constraint_name, f"one of {', '.join(KEEPS)}, or nothing", default="")
    members: tuple[str, ...] = text_tuple_field("shapes", names="shape")
    record_members: tuple[str, ...] = text_tuple_field("shapes", names="shape")
    record: str = text_field(default="")
    crossings: str = text_field(default="")


@dataclass(frozen=True, kw_only=True)
class RivalForecast(Checked):
    """Another forecast of a quantity, and why it may differ from the house's.

    Parameters
    ----------
    name : str
        What its row is called.
    forecast : str
        A question of ``forecast ask``: a model, a quantity of a scenario, or a formula over these.
    differs : str
        A phrase: ``"trend alone, no limits"``.
    settings : mapping of str to str
    also : tuple of str
        As of `QuantitySpec`.
    """

    name: str = text_field()
    forecast: str = text_field()
    differs: str = text_field()
    settings: Mapping[str, str] = mapping_field(is_text, "of choice to value")
    also: tuple[str, ...] = text_tuple_field("names")

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, text in (("forecast", self.forecast), ("differs", self.differs)):
            if not text.strip():
                self._refuse(key, "is empty: a rival says what it is and why it differs")


@dataclass(frozen=True, kw_only=True)
class QuantitySpec(Spec):
    """A quantity of the world: what exactly is measured, what bounds it, and which forecast of it is the house's.

    Parameters
    ----------
    definition : str
        One sentence: of whom, in which format, basis and dollars.
    unit : str
        In which it is told, and its bounds are.
    scale : {"level", "share", "linear", "count"}
        On which it is straight.
    keeps : {"", "frontier"}
        A frontier is a best so far, which never falls.
    falls : bool
        Less is better: a best so far never rises, and its record is the ceiling and not the floor.
    floor, ceiling : float, optional
        What it never falls below, and never exceeds.
    floor_source, ceiling_source : str
        Where a bound comes from, or that none is known.
    at_most : mapping of str to str
        Quantities that it never exceeds in one world, by definition, and why: ``{"largest-run": "a mean is no more than
        its largest"}``. The two are compared, so that their units and qualifiers must agree.
    observed : str
        What observes it: the table, column and rows; or that nothing does.
    forecast : str
        The house's forecast: a question of ``forecast ask``. Empty where there is none.
    settings : mapping of str to str
        Choices of the scenario that is asked, by name, and the value that is this quantity:
        ``{"precision": "fp8"}``.
    rivals : tuple of RivalForecast
    also : tuple of str
        Names of models that are asked for it: their bare names are read as this quantity's.
    synonyms, related : tuple of str
        Words that people use, and quantities that they confuse with it or ask next.
    """

    kind: ClassVar[str] = "quantity"

    definition: str = text_field()
    unit: str = text_field()
    scale: str = checked_field(lambda v: v in SCALES, f"one of {', '.join(SCALES)}", default="level")
    keeps: str = checked_field(lambda v: v in ("", "frontier"), "frontier, or nothing", default="")
    falls: bool = flag_field(False)
    floor: float | None = optional_field(is_number, "a number")
    floor_source: str = text_field(default="none known")
    ceiling: float | None = optional_field(is_number, "a number")
    ceiling_source: str = text_field(default="none known")
    at_most: Mapping[str, str] = mapping_field(is_text, "of quantity to why")
    observed: str = text_field(default="nothing observes it")
    forecast: str = text_field(default="")
    settings: Mapping[str, str] = mapping_field(is_text, "of choice to value")
    rivals: tuple[RivalForecast, ...] = record_tuple_field(RivalForecast, default=())
    also: tuple[str, ...] = text_tuple_field("names")
    synonyms: tuple[str, ...] = text_tuple_field("text")
    related: tuple[str, ...] = text_tuple_field("names")

    def _check(self) -> None:
        if not self.definition.strip():
            self._refuse("definition", "is empty: say what exactly is measured")
        if self.floor is not None and self.ceiling is not None and self.floor > self.ceiling:
            self._refuse("floor", f"{self.floor:g} lies above the ceiling of {self.ceiling:g}")
        bounds = (("floor", self.floor, self.floor_source), ("ceiling", self.ceiling, self.ceiling_source))
        for side, bound, source in bounds:
            if bound is not None and source == "none known":
                self._refuse(f"{side}_source", "is missing: say where the bound comes from, or that it is a judgement")
        if wrong := [other for other, why in self.at_most.items() if other == self.name or not why.strip()]:
            self._refuse("at_most", f"'{wrong[0]}': expected another quantity, and why it is never less")

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The lowest and the highest value that a forecast of it may have: a rising record begins at its last row."""
        return None if self.keeps and not self.falls else self.floor, self.ceiling


@dataclass(frozen=True, kw_only=True)
class TableSpec(Spec):
    """Observations, described by the ``datapackage.json`` at the path `descriptor`."""

    kind: ClassVar[str] = "table"

    descriptor: str = text_field()


@dataclass(frozen=True, kw_only=True)
class ModelSpec(Spec):
    """Anything that produces a quantity.

    ``target`` names a callable ``f(name, spec)``: it is given the full name and this record, and returns a
    `forecast.models.Model`.

    Parameters
    ----------
    unit : str
        Unit of what it produces.
    quantity : str
        What it produces: ``hardware.hpcg_maximum``.
    note : str
        What a reader of its numbers must know (a lower bound, mixed qualifiers).
    qualifiers : mapping of str to str
        What its unit cannot say: ``{"precision": "fp16", "sparsity": "dense"}`` (see `forecast.units.qualifiers`).
    keeps : {"", "frontier", "positive"}
        What it keeps: a frontier never falls and starts at the last record. A quantity that is made of it keeps it too,
        unless its scenario says ``keeps = "nothing"``.
    scale : {"", "level", "share", "percent", "linear", "signed", "count"}
        On which it is straight; a share lies in 0 to 1 (0 to 100 in percent). What a series leaves open its table, its
        unit or its name decides.
    floor, ceiling : float, optional
        What it never reaches, in `unit`: a trend is drawn between them.
    at_most : float, optional
        What it never exceeds, in `unit`: a limit that a source states. It holds for a quantity that is made of it too.
    at_least : float, optional
        What it never falls below, in `unit`: 0 for a bandwidth. The conformance kit checks it; a
        series whose observations are all positive has 0 by default.
    table : str
        The table that its observations are rows of, if it has any: what is known of it, and where rows may be added.
    column : str
        The column of that table that it reads, where each row of it is read by itself: rows that a user adds without it
        are said to have no effect.
    target : str, optional
        ``module:attribute`` of what makes the model, imported at first use.
    each : str
        What stands behind ``@`` in its name, ``device``: `target` is given the full name and models that one.
    """

    kind: ClassVar[str] = "model"
    target: str | None = maybe_text()

    unit: str = text_field()
    quantity: str = text_field(default="")
    note: str = text_field(default="")
    qualifiers: Mapping[str, str] = mapping_field(is_text, "of attribute to value")
    keeps: str = checked_field(_is_constraint_name, f"one of {', '.join(KEEPS)}, or nothing", default="")
    scale: str = checked_field(lambda v: v in ("", *SCALES), f"one of {', '.join(SCALES)}, or nothing", default="")
    floor: float | None = optional_field(is_number, "a number, or None")
    ceiling: float | None = optional_field(is_number, "a number, or None")
    at_most: float | None = optional_field(is_number, "a number, or None")
    at_least: float | None = optional_field(is_number, "a number, or None")
    table: str = text_field(default="", names="table")
    column: str = text_field(default="")
    each: str = text_field(default="")

    def _check(self) -> None:
        if type(self) is ModelSpec and self.target is None:
            self._refuse("target", "a plain ModelSpec needs one")


def _is_date_text(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"(\d{4}-\d\d-\d\d)?", value, re.ASCII) is not None


@dataclass(frozen=True, kw_only=True)
class SeriesShape(Checked):
    """What a series says of one shape that may stand beside it.

    Parameters
    ----------
    name : str
        The shape: ``trends/logistic``.
    weight : float
        Its weight in the pool of shapes; 0 leaves it out.
    options : mapping of str to anything
        Of the shape: ``{"cap": 1e15}``. One that the shape takes as uncertain may be a distribution,
        ``{"cap": {"p05": 1e14, "p95": 1e16}}`` with an optional ``source``: it becomes an input of the trend.
    needs : tuple of str
        The options that whoever asks for this shape must give.
    yearly : bool, optional
        Instead of what the series says.
    note, reference : str
        Beside those of the series.
    refused : str
        Why it makes no sense beside this series: whoever asks for it is told so.
    """

    name: str = text_field(names="shape")
    weight: float = checked_field(lambda v: is_number(v) and 0 <= v < float("inf"), "a weight >= 0", default=0.0)
    options: Mapping[str, object] = mapping_field(lambda v: True, "of option to value")
    needs: tuple[str, ...] = text_tuple_field("options")
    yearly: bool | None = optional_field(lambda v: isinstance(v, bool), "True, False or None")
    note: str = text_field(default="")
    reference: str = text_field(default="")
    refused: str = text_field(default="")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.refused and self.weight:
            self._refuse("refused", "a shape that makes no sense has no weight")


@dataclass(frozen=True, kw_only=True)
class TrendSpec(ModelSpec):
    """A series, a column over time: with a shape beside it, it is a trend.

    Any registered shape may stand beside it, as in ``hardware/hpcg@changepoint``; `shapes` holds what differs on some.

    Parameters
    ----------
    table : str
        The name of a table.
    x, y : str
        The columns for time and value; y may be a formula over columns: ``peak/launch_price``.
    shape : str
        The shape where nobody names another. Without it, the pool of those in `shapes` that have a weight, of which
        each world draws one.
    options : mapping of str to anything
        Of `shape`, as in `SeriesShape`.
    shapes : tuple of SeriesShape
        What differs where a shape stands beside the series.
    frontier : bool
        The column is a running maximum: only its distinct values are evidence.
    records : bool
        Keep the rows that set a record and the last date, and take them for such a running maximum.
    yearly : bool
        Keep the largest value of each calendar year, with its date.
    since : str
        Leave out the rows before this date (YYYY-MM-DD).
    where : mapping of str to str
        Keep the rows whose column has this value.
    """

    table: str = text_field(names="table")
    x: str = text_field()
    y: str = text_field()
    shape: str = text_field(default="", names="shape")
    options: Mapping[str, object] = mapping_field(lambda v: True, "of option to value")
    shapes: tuple[SeriesShape, ...] = record_tuple_field(SeriesShape, default=())
    frontier: bool = flag_field(False)
    records: bool = flag_field(False)
    yearly: bool = flag_field(False)
    since: str = checked_field(_is_date_text, "a date YYYY-MM-DD, or nothing", default="")
    where: Mapping[str, str] = mapping_field(is_text, "of column to value")

    def _check(self) -> None:
        names = [beside.name for beside in self.shapes]
        if twice := [name for name in names if names.count(name) > 1]:
            self._refuse("shapes", f"'{printable(twice[0], 60)}' stands there twice")
        if not self.shape and not any(beside.weight for beside in self.shapes):
            self._refuse("shape", "is missing, and no shape of shapes has a weight")
        if not self.shape and self.options:
            self._refuse("options", "of which shape? A pool has none of its own: they stand in shapes")
        if any(beside.refused for beside in self.shapes if beside.name == self.shape):
            self._refuse("shape", f"'{printable(self.shape, 60)}' is refused in shapes")


@dataclass(frozen=True, kw_only=True)
class EstimateSpec(ModelSpec):
    """Formula + inputs = estimate. Units are checked: the formula over the inputs' units must give `unit`.

    Parameters
    ----------
    expression : str
        The formula.
    inputs : tuple of Input
    """

    expression: str = text_field()
    inputs: tuple[Input, ...] = record_tuple_field(Input)


@dataclass(frozen=True, kw_only=True)
class MixtureSpec(ModelSpec):
    """Several models of one quantity with weights: each draw takes one of them.

    Parameters
    ----------
    weights : mapping of str to float
    members_published : mapping of str to str
        The date (ISO) of a member's source: as of an earlier one it is not taken.
    """

    weights: Mapping[str, float] = checked_field(
        mapping_of(lambda v: is_number(v) and v >= 0), "a mapping of model name to a weight >= 0", names="model"
    )
    members_published: Mapping[str, str] = mapping_field(date, "of member to a date YYYY-MM-DD")

    def _check(self) -> None:
        if not self.weights or sum(self.weights.values()) <= 0:
            self._refuse("weights", "all are zero")


@dataclass(frozen=True, kw_only=True)
class RelationSpec(ModelSpec):
    """Law + fit = relation: the law's variables come from other quantities.

    Parameters
    ----------
    law : str
        Name of the law.
    table : str
        The table it is fitted to.
    let : mapping of str to str
        For each variable of the law, a formula over the table's columns (``{"N": "params"}``).
    y : str
        The column, or formula over columns, that the law explains.
    where : mapping of str to str
        Keep the rows whose column has this value.
    objective : str, optional
        Instead of the law's own.
    """

    law: str = text_field(names="law")
    table: str = text_field(names="table")
    let: Mapping[str, str] = checked_field(mapping_of(is_text), "a mapping of variable to formula")
    y: str = text_field()
    where: Mapping[str, str] = mapping_field(is_text, "of column to value")
    objective: str | None = maybe_text()


@dataclass(frozen=True, kw_only=True)
class FunctionSpec(ModelSpec):
    """A function of other quantities, as code.

    Parameters
    ----------
    target : str
        ``"module:attribute"`` of a callable ``f(**inputs)``: given an array for each input by its name, all of one
        shape and read-only, it returns an array of that shape. Each element depends on the elements at its place
        alone, and the same inputs give the same numbers. An argument ``t`` is given the dates, as decimal years.
    along : {"", "time"}
        ``"time"``: it is given arrays (time, draw), and each element depends on those of its world up to its date.
    inputs : mapping of str to str
        Name to unit.
    domain : mapping of str to (float, float)
        A plausible range for each input, in which the conformance kit tries it; 1 to 2 where none is stated.
    """

    along: str = checked_field(lambda v: v in ("", "time"), "'time', or nothing", default="")
    inputs: Mapping[str, str] = mapping_field(is_text, "of input to unit")
    domain: Mapping[str, tuple[float, float]] = mapping_field(pair, "to (low, high)")

    def _check(self) -> None:
        if self.target is None:
            self._refuse("target", "a function is code: name it as 'module:attribute'")
        if not self.inputs:
            self._refuse("inputs", "is empty: say which quantities it takes, and in which units")
        for name in self.inputs:
            if not name.isidentifier() or name in ("function", "unit", "inputs", "along"):
                self._refuse("inputs", f"'{printable(name, 60)}' cannot be an argument and a key of a scenario")
        for name in self.domain:
            if name not in self.inputs:
                self._refuse("domain", f"'{printable(name, 60)}' is none of its inputs")


@dataclass(frozen=True, kw_only=True)
class ScenarioSpec(Spec):
    """A scenario in the TOML file at `path`.

    Parameters
    ----------
    path : str
    ledger : str
        Path of a ledger of what it said, and others beside it, which ``forecast scorecard`` shows; empty for none.
    record : str
        Path of a CSV file that says how it would have done as of dates in the past; see
        `forecast.evaluation.whole.scenario_scores`.
    part : bool
        Other scenarios use it, and it answers nothing of its own: it is neither listed nor run, and its quantities are
        asked for.
    plans : bool
        `forecast.plan` plans runs with it: see there for the names of its quantities.
    synonyms : tuple of str
        Words in which people ask for it, beside its title.
    amounts : mapping of str to str
        Which quantity an amount in such words sets, by its unit: ``{"USD": "budget"}``.
    """

    kind: ClassVar[str] = "scenario"

    path: str = text_field()
    part: bool = False
    plans: bool = False
    synonyms: tuple[str, ...] = text_tuple_field("text")
    amounts: Mapping[str, str] = mapping_field(is_text, "of unit to name")
    ledger: str = text_field(default="")
    record: str = text_field(default="")


@dataclass(frozen=True, kw_only=True)
class ClaimSpec(Spec):
    """A published figure with the formula to recompute it, or a dated forecast with its outcome.

    Parameters
    ----------
    group : str
        Groups that belong together: ``parity``.
    also : tuple of str
        Further groups that it is listed under.
    statement : str
        What the source says, in our words.
    stated : str
        The figure as the source prints it (its digits count): ``"2053"``. Empty where the source states none.
    formula : str
        Recomputes it, over the names in `values`. Empty only with a declared verdict, or of a forecast.
    values : mapping of str to float
        The figures that go in.
    facts : mapping of str to str
        Figures that go in and are read from fitted models, as ``"plugin/model.fact"``.
    scenario : str
        The scenario that `answers` are read from.
    settings : mapping of str to str
        What is set in it, as ``--set`` does.
    draws : int
        How many worlds are drawn.
    answers : mapping of str to str
        Figures that go in and are read from the scenario: ``"tai p50"``, ``"tai by 2030"``, ``"tai never"`` of a
        question, ``"spend p90 2030"``, ``"spend mean 2030"`` of a quantity.
    unit : str
        The unit; ``"date"`` is a decimal year, judged to 0.1 y.
    hedge : str
        The word of `statement` that hedges the figure, one of ``about``, ``almost``, ``approximately``, ``around``,
        ``nearly``, ``roughly``: within 6 % it is right.
    estimate : bool
        Whether the figure is an estimate itself, as of a fit: it is compatible with what is computed where it lies in
        the 90 % interval of that. The interval is the formula's at the ends of the one fact or answer that goes in.
    alias : str
        A name for all claims of one statement, where it states several figures: ``vision-steps``. No claim and no group
        of the plugin has it.
    tolerance : float, optional
        What the computed figure may be off, in `unit`, instead of the general rule: where worlds are drawn, and where
        the source gives one.
    declared : str, optional
        One of ``not derivable``, ``constant``, ``scenario``, ``ours``; every other verdict is computed.
    solve_for : str, optional
        A name in `values`: say which value of it would make the statement true.
    note : str
        A remark: a typo, mixed precisions.
    forecast : DatedForecast, optional
        What was foretold and what happened, instead of a figure and a formula.
    DECLARED : tuple of str
        What `declared` may be; of the class.
    """

    kind: ClassVar[str] = "claim"
    DECLARED: ClassVar[tuple[str, ...]] = ("not derivable", "constant", "scenario", "ours")
    _HEDGES: ClassVar[tuple[str, ...]] = ("about", "almost", "approximately", "around", "nearly", "roughly")

    group: str = text_field()
    also: tuple[str, ...] = text_tuple_field("groups")
    statement: str = text_field()
    stated: str = text_field(default="")
    formula: str = text_field(default="")
    values: Mapping[str, float] = mapping_field(is_number, "of name to number")
    facts: Mapping[str, str] = mapping_field(is_text, "of name to 'model.fact'", names="fact")
    scenario: str = text_field(default="", names="scenario")
    settings: Mapping[str, str] = mapping_field(is_text, "of what is set to text")
    draws: int = checked_field(lambda v: is_integer(v) and v >= 1, "an integer of at least 1", default=2048)
    answers: Mapping[str, str] = mapping_field(is_text, "of name to 'question p50'")
    unit: str = text_field(default="")
    hedge: str = text_field(default="")
    estimate: bool = flag_field(False, "true or false")
    alias: str = text_field(default="")
    tolerance: float | None = optional_field(lambda v: is_number(v) and v >= 0, "a number >= 0")
    declared: str | None = maybe_text()
    solve_for: str | None = maybe_text()
    note: str = text_field(default="")
    forecast: DatedForecast | None = optional_field(  # noqa: RUF009 - it declares a field
        lambda v: isinstance(v, DatedForecast), "a DatedForecast"
    )

    def _check(self) -> None:
        if self.alias and (
            not RECORD_NAME_PATTERN.fullmatch(self.alias) or self.alias in (self.name, self.group, *self.also)
        ):
            self._refuse("alias", "expected lower case letters, digits and hyphens, and not the name or a group of it")
        for mark in ("hedge", "estimate"):
            if getattr(self, mark) and (self.declared or self.forecast or self.tolerance is not None):
                self._refuse(
                    mark, "is part of the general rule: a declared verdict, a forecast or a tolerance has none"
                )
        if self.forecast is not None:
            if self.stated or self.formula or self.declared or self.solve_for:
                self._refuse("forecast", "is judged by its outcome: it has no stated figure, formula or verdict beside")
            return
        if self.declared is not None and self.declared not in self.DECLARED:
            self._refuse("declared", f"expected one of {', '.join(self.DECLARED)}; other verdicts are computed")
        if self.declared is None and not (self.formula and self.stated):
            self._refuse("formula", "a computed verdict needs a formula and a stated figure")
        if bool(self.answers) != bool(self.scenario):
            self._refuse("answers", "a scenario, and what is read from its answers, go together")
        if self.hedge:
            self._check_hedge()
        if self.estimate and len(self.facts) + len(self.answers) != 1:
            self._refuse("estimate", "expected one fact or answer, whose 90 % interval says what is compatible")
        if self.solve_for is not None and self.solve_for not in self.values:
            self._refuse("solve_for", f"'{printable(self.solve_for, 60)}' is not in values")

    def _check_hedge(self) -> None:
        said = printable(self.hedge, 60)
        if self.hedge not in self._HEDGES:
            self._refuse("hedge", f"expected one of {', '.join(self._HEDGES)}, got '{said}'")
        if not re.search(rf"\b{self.hedge}\b", self.statement, re.IGNORECASE):
            self._refuse("hedge", f"'{said}' does not stand in the statement: only what the source hedges is hedged")
        if self.unit == "date":
            self._refuse("hedge", "a share of a calendar year says nothing: state a tolerance in years")


@dataclass(frozen=True, kw_only=True)
class ScoreSpec(Spec):
    """A measure of a forecast against what happened.

    ``target`` names ``f(forecast, observed, *, reduce_dims, preserve_dims, weights)`` over DataArrays: the forecast has
    a dimension ``draw``, or ``quantile`` with the levels.
    """

    kind: ClassVar[str] = "score"

    target: str = text_field()


@dataclass(frozen=True, kw_only=True)
class ReaderSpec(Spec):
    """A reader of a format of files, for every verb that takes a file, and for ``parser`` in a ``datapackage.json``.

    ``target`` names ``f(path)``. It is given the path of an ordinary file of at most 256 MiB and returns either a
    mapping of column to cells, or a list of records (mappings; nested ones become columns ``a.b``). A cell is text, a
    number, a date, a truth value, or None if it is missing. Text is then understood as that of a CSV file is
    (``"$1,200"``, ``"2024Q1"``); under a descriptor it passes the schema.

    A file is given to the reader whose `matches` fits its name and whose `columns` are all there. A reader with neither
    is reached only by its name. Two readers that fit one file are an error that names both.

    Parameters
    ----------
    target : str
    matches : tuple of str
        Patterns of file names, such as ``"trainer_state.json"`` or ``"*.eval"``, compared without regard to case and
        without ``.gz``. Empty: any name.
    columns : tuple of str
        Patterns of columns, or of the top-level keys of JSON and YAML, each of which must be there: ``"*__MIN"``. For
        formats that are told by their content. Empty: any.
    title : str
        The format as the line about what was read calls it: ``"a W&B export"``.
    example : str
        Path of a small file that it reads, for the conformance kit, which else tries a tiny CSV file.
    """

    kind: ClassVar[str] = "reader"

    target: str = text_field()
    matches: tuple[str, ...] = text_tuple_field("file name patterns")
    columns: tuple[str, ...] = text_tuple_field("column name patterns")
    example: str = text_field(default="")


@dataclass(frozen=True, kw_only=True)
class UnitSpec(Spec):
    """A unit of its own: ``definition`` is a line of pint's grammar, ``"wafer = [wafer]"``."""

    kind: ClassVar[str] = "unit"

    definition: str = text_field()


@dataclass(frozen=True, kw_only=True)
class CommandSpec(Spec):
    """A command of the command line: ``target`` names a click command."""

    kind: ClassVar[str] = "command"

    target: str = text_field()
