"""The error of an attribute that an object lacks: it says what is meant, by the words of other libraries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from forecast.errors import did_you_mean

#: Words of scipy, statsmodels, pandas and xarray, each with what is meant.
_MEANT = {
    "conf_int confint ci": "fit.interval(NAME)",
    "bse std_err perr": "fit.stderr",
    "popt coef coefficients": "fit.values, or fit.params as a Dataset",
    "pcov cov cov_params": "fit.covariance",
    "aic aicc bic rsquared": "forecast.compare([LAW, …], data)",
    "resid residuals": "data['y'] - fit.predict(data)['median']",
    "nobs": "fit.n",
    "evaluate eval": "law.value({NAME: 1.0}, x=…), or fit(x=…)",
    "samples draws mean std": "np.asarray(answer), every world",
    "to_dataframe to_frame to_csv df": "answer.to_pandas(), a series",
    "save to_netcdf": "forecast.save(ANSWER, FILE)",
    "plot median quantile interval probability to_pandas to_xarray value unit":
        "forecast.ask(QUANTITY, dates=[2030]) or CONDITION.when(until=2040): the answer has it",
    "log exp sqrt": "np.log(QUANTITY), np.exp or np.sqrt",
    "sel isel loc": "QUANTITY.at(2030)",
    "fit curve_fit": "forecast.law(NAME).fit(data)",
    "run simulate": "forecast.scenario(NAME).ask(), or forecast.project(NAME)",
    "search": "forecast.find(WORDS)",
    "read_csv": "forecast.read(FILE)",
}  # fmt: skip
_EXPRESSIONS = {word: meant for words, meant in _MEANT.items() for word in words.split()}


def absent(owner: str, name: str, names: Iterable[str]) -> AttributeError:
    """Return the error of an attribute: it says what is meant, or the nearest name."""
    near = did_you_mean(name, [each for each in names if not each.startswith("_")])
    meant = f": write {_EXPRESSIONS[name]}" if name in _EXPRESSIONS else "" if name.startswith("_") else near
    return AttributeError(f"{owner} has no attribute '{name}'{meant}")


class OtherWords:
    """An object whose error of an attribute that it lacks says what to write instead."""

    if not TYPE_CHECKING:  # a type checker would take any attribute to be there

        def __getattr__(self, name: str) -> object:
            if hasattr(type(self), name):  # a property whose own code lacks an attribute
                return object.__getattribute__(self, name)
            raise absent(f"'{type(self).__name__}' object", name, dir(type(self)))
