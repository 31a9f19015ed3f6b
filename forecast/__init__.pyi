"""The front door, as type checkers see it and as `lazy_loader` reads it: a name is imported at its first use."""

from . import language as language
from .api.answer import Answer as Answer
from .api.build_answer import ask as ask
from .api.catalogue_search import find as find, quantities as quantities
from .api.issue_warnings import project as project
from .api.past_forecasts import claims as claims, resolve as resolve
from .api.quantity import Quantity as Quantity, QuantityCondition as QuantityCondition, quantity as quantity
from .api.save_and_load import load as load, save as save
from .api.scenario import Scenario as Scenario, scenario as scenario
from .api.scenario_quantities import estimate as estimate, model as model, trend as trend
from .api.sources import draws as draws, function as function, path as path, uncertain as uncertain, value as value
from .api.table_refresh import refresh as refresh
from .api.training_plan import Plan as Plan, plan as plan
from .base.access import allow as allow
from .base.budgets import resource_limits as resource_limits
from .contract.catalogue import Catalogue as Catalogue
from .contract.hookspecs import hookimpl as hookimpl
from .contract.registry import register as register, unregister as unregister
from .contract.specs import (
    ClaimSpec as ClaimSpec,
    CommandSpec as CommandSpec,
    DatedForecast as DatedForecast,
    EstimateSpec as EstimateSpec,
    FunctionSpec as FunctionSpec,
    Input as Input,
    LawSpec as LawSpec,
    MixtureSpec as MixtureSpec,
    ModelSpec as ModelSpec,
    ObjectiveSpec as ObjectiveSpec,
    ProtocolSpec as ProtocolSpec,
    PublishedFit as PublishedFit,
    QuantitySpec as QuantitySpec,
    ReaderSpec as ReaderSpec,
    RelationSpec as RelationSpec,
    RivalForecast as RivalForecast,
    ScenarioSpec as ScenarioSpec,
    ScoreSpec as ScoreSpec,
    SeriesShape as SeriesShape,
    ShapeSpec as ShapeSpec,
    TableSpec as TableSpec,
    TrendSpec as TrendSpec,
    UnitSpec as UnitSpec,
)
from .contract.toml_records import records_from as records_from
from .errors import ForecastError as ForecastError, ForecastWarning as ForecastWarning
from .evaluation import scores as scores
from .evaluation.extrapolate import Extrapolation as Extrapolation, extrapolate as extrapolate
from .evaluation.rolling_origin import backtest as backtest
from .evaluation.whole.scenario_backtest import backtest_scenario as backtest_scenario
from .fit.compare import Comparison as Comparison, compare as compare
from .fit.fit import Fit as Fit
from .fit.protocols import Protocol as Protocol, protocol as protocol
from .laws import Law as Law, law as law
from .projection.result import Projection as Projection
from .tables import table as table
from .tables.intake import read as read

__version__: str

def catalogue(kind: str = "law") -> Catalogue: ...
