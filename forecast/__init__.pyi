"""The front door, as type checkers see it and as `lazy_loader` reads it: a name is imported at its first use."""

from .api.answer import Answer as Answer
from .api.build_answer import ask as ask
from .api.changed_scenario import scenario as scenario
from .api.open_result import load as load
from .api.quantity import (
    Quantity as Quantity,
)
from .api.quantity import (
    QuantityCondition as QuantityCondition,
)
from .api.quantity import (
    quantity as quantity,
)
from .api.sources import (
    draws as draws,
)
from .api.sources import (
    function as function,
)
from .api.sources import (
    path as path,
)
from .api.sources import (
    uncertain as uncertain,
)
from .api.sources import (
    value as value,
)
from .base.access import allow as allow
from .base.budgets import budget as budget
from .contract.hookspecs import hookimpl as hookimpl
from .contract.specs import (
    ClaimSpec as ClaimSpec,
)
from .contract.specs import (
    CommandSpec as CommandSpec,
)
from .contract.specs import (
    DatedForecast as DatedForecast,
)
from .contract.specs import (
    EstimateSpec as EstimateSpec,
)
from .contract.specs import (
    FunctionSpec as FunctionSpec,
)
from .contract.specs import (
    Input as Input,
)
from .contract.specs import (
    LawSpec as LawSpec,
)
from .contract.specs import (
    MixtureSpec as MixtureSpec,
)
from .contract.specs import (
    ModelSpec as ModelSpec,
)
from .contract.specs import (
    ProtocolSpec as ProtocolSpec,
)
from .contract.specs import (
    PublishedFit as PublishedFit,
)
from .contract.specs import (
    ReaderSpec as ReaderSpec,
)
from .contract.specs import (
    RelationSpec as RelationSpec,
)
from .contract.specs import (
    ScenarioSpec as ScenarioSpec,
)
from .contract.specs import (
    ScoreSpec as ScoreSpec,
)
from .contract.specs import (
    SeriesShape as SeriesShape,
)
from .contract.specs import (
    ShapeSpec as ShapeSpec,
)
from .contract.specs import (
    TableSpec as TableSpec,
)
from .contract.specs import (
    TrendSpec as TrendSpec,
)
from .contract.specs import (
    UnitSpec as UnitSpec,
)
from .contract.toml_records import records_from as records_from
from .evaluation.extrapolate import Extrapolation as Extrapolation
from .evaluation.extrapolate import extrapolate as extrapolate
from .evaluation.rolling_origin import backtest as backtest
from .fit.fit import Fit as Fit
from .fit.protocols import Protocol as Protocol
from .fit.protocols import protocol as protocol
from .laws import Law as Law
from .laws import law as law
from .models import (
    estimate as estimate,
)
from .models import (
    model as model,
)
from .models import (
    trend as trend,
)
from .projection.engine import project as project
from .scenarios.scenario import Scenario as Scenario
from .tables import table as table

__version__: str

def catalogue(kind: str = "law") -> list[str]: ...
