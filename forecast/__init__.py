"""Scaling laws and forecasts from plugins: fits, projections and questions, each with an interval and a source.

The names below are the front door. They are imported at first use (PEP 562), so that ``import forecast`` and the
command line's listings stay cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from forecast.api.answer import Answer
    from forecast.api.build_answer import ask
    from forecast.api.changed_scenario import scenario
    from forecast.api.open_result import load
    from forecast.api.quantity import Quantity, QuantityCondition, quantity
    from forecast.api.sources import draws, function, path, uncertain, value
    from forecast.base.access import allow
    from forecast.base.budgets import budget
    from forecast.contract.hookspecs import hookimpl
    from forecast.contract.specs import (
        ClaimSpec,
        CommandSpec,
        DatedForecast,
        EstimateSpec,
        FunctionSpec,
        Input,
        LawSpec,
        MixtureSpec,
        ModelSpec,
        ProtocolSpec,
        PublishedFit,
        ReaderSpec,
        RelationSpec,
        ScenarioSpec,
        ScoreSpec,
        SeriesShape,
        ShapeSpec,
        TableSpec,
        TrendSpec,
        UnitSpec,
    )
    from forecast.contract.toml_records import records_from
    from forecast.evaluation.extrapolate import Extrapolation, extrapolate
    from forecast.evaluation.rolling_origin import backtest
    from forecast.fit.fit import Fit
    from forecast.fit.protocols import Protocol, protocol
    from forecast.laws import Law, law
    from forecast.models import estimate, model, trend
    from forecast.projection.engine import project
    from forecast.scenarios.scenario import Scenario
    from forecast.tables import table

__all__ = [
    "Answer",
    "ClaimSpec",
    "CommandSpec",
    "DatedForecast",
    "EstimateSpec",
    "Extrapolation",
    "Fit",
    "FunctionSpec",
    "Input",
    "Law",
    "LawSpec",
    "MixtureSpec",
    "ModelSpec",
    "Protocol",
    "ProtocolSpec",
    "PublishedFit",
    "Quantity",
    "QuantityCondition",
    "ReaderSpec",
    "RelationSpec",
    "Scenario",
    "ScenarioSpec",
    "ScoreSpec",
    "SeriesShape",
    "ShapeSpec",
    "TableSpec",
    "TrendSpec",
    "UnitSpec",
    "__version__",
    "allow",
    "ask",
    "backtest",
    "budget",
    "catalogue",
    "draws",
    "estimate",
    "extrapolate",
    "function",
    "hookimpl",
    "law",
    "load",
    "model",
    "path",
    "project",
    "protocol",
    "quantity",
    "records_from",
    "scenario",
    "table",
    "trend",
    "uncertain",
    "value",
]

_HOME = {
    "Answer": "forecast.api.answer",
    "QuantityCondition": "forecast.api.quantity",
    "Extrapolation": "forecast.evaluation.extrapolate",
    "Fit": "forecast.fit.fit",
    "Law": "forecast.laws",
    "Protocol": "forecast.fit.protocols",
    "Quantity": "forecast.api.quantity",
    "Scenario": "forecast.scenarios.scenario",
    "allow": "forecast.base.access",
    "ask": "forecast.api.build_answer",
    "backtest": "forecast.evaluation.rolling_origin",
    "budget": "forecast.base.budgets",
    "draws": "forecast.api.sources",
    "estimate": "forecast.models",
    "extrapolate": "forecast.evaluation.extrapolate",
    "function": "forecast.api.sources",
    "hookimpl": "forecast.contract.hookspecs",
    "law": "forecast.laws",
    "load": "forecast.api.open_result",
    "model": "forecast.models",
    "path": "forecast.api.sources",
    "project": "forecast.projection.engine",
    "protocol": "forecast.fit.protocols",
    "quantity": "forecast.api.quantity",
    "records_from": "forecast.contract.toml_records",
    "scenario": "forecast.api.changed_scenario",
    "table": "forecast.tables",
    "trend": "forecast.models",
    "uncertain": "forecast.api.sources",
    "value": "forecast.api.sources",
}


def catalogue(kind: str = "law") -> list[str]:
    """List the full names of what plugins bring.

    Parameters
    ----------
    kind : {"law", "shape", "table", "model", "scenario", "claim", "score", "reader", "unit", "command"}

    Returns
    -------
    list of str

    Examples
    --------
    >>> import forecast
    >>> "scaling/chinchilla" in forecast.catalogue("law")
    True
    """
    from forecast.contract.registry import HOOKS, get_registry
    from forecast.errors import UnknownNameError

    kinds = [spec.kind for spec in HOOKS.values()]
    if kind not in kinds:
        raise UnknownNameError("kind", kind, kinds)
    return get_registry().names(kind)


def __getattr__(name: str) -> Any:
    if name in __all__:
        value = getattr(import_module(_HOME.get(name, "forecast.contract.specs")), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'forecast' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
