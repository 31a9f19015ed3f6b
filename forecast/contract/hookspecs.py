"""The questions we ask a plugin. Hooks take no arguments and return records.

A plugin is a module named by an entry point in the group ``forecast.plugins``. It answers as many of these as it
likes::

    from forecast import LawSpec, hookimpl

    @hookimpl
    def forecast_laws():
        yield LawSpec(name="square", variables={"x": ""}, expression="a*x**2", reference="Euclid, Elements II.4")
"""

from __future__ import annotations

from collections.abc import Iterable

from pluggy import HookimplMarker, HookspecMarker

from forecast.contract.specs import (
    ClaimSpec,
    CommandSpec,
    FunctionSpec,
    LawSpec,
    ModelSpec,
    ObjectiveSpec,
    QuantitySpec,
    ReaderSpec,
    ScenarioSpec,
    ScoreSpec,
    ShapeSpec,
    TableSpec,
    UnitSpec,
)

#: The interface of hooks and records that this version has. A plugin may state the one that it was written for, as
#: ``FORECAST_INTERFACE = 1`` in its module: a newer one than this is refused in a sentence.
INTERFACE = 1

hookspec = HookspecMarker("forecast")
hookimpl = HookimplMarker("forecast")


@hookspec
def forecast_laws() -> Iterable[LawSpec]:  # type: ignore[empty-body]
    """Which laws do you bring? Formulas over variables and parameters.

    Examples
    --------
    >>> from forecast import LawSpec, hookimpl
    >>> @hookimpl
    ... def forecast_laws():
    ...     yield LawSpec(name="power", variables={"x": ""}, expression="beta*x**-c", reference="Hestness 2017, eq. 1")
    >>> [law.name for law in forecast_laws()]
    ['power']
    """


@hookspec
def forecast_objectives() -> Iterable[ObjectiveSpec]:  # type: ignore[empty-body]
    """Which objectives do you bring? What a fit minimises: a loss of law and observation.

    Examples
    --------
    >>> from forecast import ObjectiveSpec, hookimpl
    >>> @hookimpl
    ... def forecast_objectives():
    ...     yield ObjectiveSpec(name="log-cosh", target="my_plugin.objectives:LogCosh", reference="Saleh & Saleh 2022")
    >>> [objective.target for objective in forecast_objectives()]
    ['my_plugin.objectives:LogCosh']
    """


@hookspec
def forecast_shapes() -> Iterable[ShapeSpec]:  # type: ignore[empty-body]
    """Which shapes of a trend do you bring? Laws in time, each with its noise law.

    Examples
    --------
    >>> from forecast import ShapeSpec, hookimpl
    >>> @hookimpl
    ... def forecast_shapes():
    ...     yield ShapeSpec(name="exponential", target="my_plugin.shapes:Exponential", reference="Moore 1965")
    >>> [shape.target for shape in forecast_shapes()]
    ['my_plugin.shapes:Exponential']
    """


@hookspec
def forecast_tables() -> Iterable[TableSpec]:  # type: ignore[empty-body]
    """Which tables do you bring? Observations with a unit per column and a source per row.

    Examples
    --------
    >>> from forecast import TableSpec, hookimpl
    >>> @hookimpl
    ... def forecast_tables():
    ...     yield TableSpec(name="runs", descriptor="/data/runs/datapackage.json", reference="our cluster's logs")
    >>> [table.name for table in forecast_tables()]
    ['runs']
    """


@hookspec
def forecast_models() -> Iterable[ModelSpec]:  # type: ignore[empty-body]
    """Which models do you bring? Anything that produces a quantity: trends, estimates, mixtures, relations.

    Examples
    --------
    >>> from forecast import EstimateSpec, Input, hookimpl
    >>> @hookimpl
    ... def forecast_models():
    ...     rate = Input(name="rate", unit="1/s", distribution={"p05": 0.1, "p95": 2}, source="Lennie 2003")
    ...     size = Input(name="size", unit="FLOP", distribution={"value": 1e15}, source="assumed")
    ...     yield EstimateSpec(name="x", unit="FLOP/s", expression="rate*size", inputs=(rate, size), reference="demo")
    >>> [model.unit for model in forecast_models()]
    ['FLOP/s']
    """


@hookspec
def forecast_functions() -> Iterable[FunctionSpec]:  # type: ignore[empty-body]
    """Which functions of other quantities do you bring? Code that takes plain arrays and returns one.

    Examples
    --------
    >>> from forecast import FunctionSpec, hookimpl
    >>> @hookimpl
    ... def forecast_functions():
    ...     yield FunctionSpec(name="power", target="my_plugin.chips:power", unit="W",
    ...                        inputs={"chips": "", "each": "W"}, reference="our cluster's manual")
    >>> [dict(function.inputs) for function in forecast_functions()]
    [{'chips': '', 'each': 'W'}]
    """


@hookspec
def forecast_scenarios() -> Iterable[ScenarioSpec]:  # type: ignore[empty-body]
    """Which scenarios do you bring? TOML files with choices, quantities and questions.

    Examples
    --------
    >>> from forecast import ScenarioSpec, hookimpl
    >>> @hookimpl
    ... def forecast_scenarios():
    ...     yield ScenarioSpec(name="parity", path="/plugin/parity.toml", reference="our question")
    >>> [scenario.name for scenario in forecast_scenarios()]
    ['parity']
    """


@hookspec
def forecast_claims() -> Iterable[ClaimSpec]:  # type: ignore[empty-body]
    """Which published figures do you recompute? Each with its formula; the verdict is computed.

    Examples
    --------
    >>> from forecast import ClaimSpec, hookimpl
    >>> @hookimpl
    ... def forecast_claims():
    ...     yield ClaimSpec(name="dozen", group="demo", statement="a dozen is 12", stated="12", formula="n*4",
    ...                     values={"n": 3}, reference="common knowledge")
    >>> [claim.stated for claim in forecast_claims()]
    ['12']
    """


@hookspec
def forecast_quantities() -> Iterable[QuantitySpec]:  # type: ignore[empty-body]
    """Which quantities of the world do you speak of? Each with its definition, its bounds, and its one forecast.

    Examples
    --------
    >>> from forecast import QuantitySpec, hookimpl
    >>> @hookimpl
    ... def forecast_quantities():
    ...     yield QuantitySpec(
    ...         name="brain-power", title="Power of a human brain", unit="W", definition="Watts that it draws, awake.",
    ...         forecast="brain/power", reference="Raichle & Gusnard 2002")
    >>> [quantity.name for quantity in forecast_quantities()]
    ['brain-power']
    """


@hookspec
def forecast_scores() -> Iterable[ScoreSpec]:  # type: ignore[empty-body]
    """Which scores do you bring? Measures of a forecast against what happened.

    Examples
    --------
    >>> from forecast import ScoreSpec, hookimpl
    >>> @hookimpl
    ... def forecast_scores():
    ...     yield ScoreSpec(name="crps", target="my_plugin.scores:crps", reference="Gneiting & Raftery 2007, eq. 21")
    >>> [score.name for score in forecast_scores()]
    ['crps']
    """


@hookspec
def forecast_readers() -> Iterable[ReaderSpec]:  # type: ignore[empty-body]
    """Which formats of files do you bring? Every verb that takes a file reads them; a described table names its parser.

    Examples
    --------
    >>> from forecast import ReaderSpec, hookimpl
    >>> @hookimpl
    ... def forecast_readers():
    ...     yield ReaderSpec(
    ...         name="site-log", target="my_plugin.readers:site_log", matches=("site-*.log",), title="a site's log",
    ...         reference="the site's manual, p. 3",
    ...     )
    >>> [reader.matches for reader in forecast_readers()]
    [('site-*.log',)]
    """


@hookspec
def forecast_units() -> Iterable[UnitSpec]:  # type: ignore[empty-body]
    """Which units do you bring? Lines of pint's grammar.

    Examples
    --------
    >>> from forecast import UnitSpec, hookimpl
    >>> @hookimpl
    ... def forecast_units():
    ...     yield UnitSpec(name="wafer", definition="wafer = [wafer]", reference="SEMI M1")
    >>> [unit.definition for unit in forecast_units()]
    ['wafer = [wafer]']
    """


@hookspec
def forecast_commands() -> Iterable[CommandSpec]:  # type: ignore[empty-body]
    """Which commands do you add to the command line? Click commands, imported when called.

    Examples
    --------
    >>> from forecast import CommandSpec, hookimpl
    >>> @hookimpl
    ... def forecast_commands():
    ...     yield CommandSpec(name="audit", target="my_plugin.cli:audit", title="Audit a cluster", reference="manual")
    >>> [command.title for command in forecast_commands()]
    ['Audit a cluster']
    """
