"""Laws: formulas with free parameters, their values, derivatives and LaTeX."""

from forecast.laws.definition import Law
from forecast.laws.lookup import law

__all__ = ["Law", "law"]
