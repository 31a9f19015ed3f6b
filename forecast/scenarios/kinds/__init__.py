"""Every kind of quantity, in the order in which a record is asked which one it is.

A new kind is a file beside this one and a line here.
"""

from forecast.scenarios.kinds.choice_number import ChoiceNumber
from forecast.scenarios.kinds.expression import Expression
from forecast.scenarios.kinds.function_ref import FunctionRef
from forecast.scenarios.kinds.law_ref import LawRef
from forecast.scenarios.kinds.model_ref import ModelRef
from forecast.scenarios.kinds.moment_fit import MomentFit
from forecast.scenarios.kinds.own_draws import OwnDraws
from forecast.scenarios.kinds.prior import Prior
from forecast.scenarios.kinds.regime import Regime
from forecast.scenarios.kinds.schedule import Schedule
from forecast.scenarios.kinds.series_ref import SeriesRef
from forecast.scenarios.kinds.table_value import TableValue
from forecast.scenarios.quantities.node import QuantityKind

__all__ = ["KINDS"]

#: Those under ``[quantities]``; stocks, what is solved for, and what stands in formulas have no records there.
KINDS: tuple[type[QuantityKind], ...] = (
    ModelRef, FunctionRef, LawRef, Expression, TableValue, SeriesRef, ChoiceNumber, Regime, Schedule, OwnDraws,
    MomentFit, Prior,
)  # fmt: skip
