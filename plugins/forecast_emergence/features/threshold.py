"""Scaling laws of emergence: from small models to the size at which a feature is everywhere, and whether there is one.

Three rival routes from the same measurements up to 1.5e9 parameters, never pooled in silence:

``smooth``
    A power of the parameters, extrapolated until it reaches the requested share.
``logistic``
    A share that rises from none to all with the log of the size, carried on likewise.
``hazard``
    A jump that may come anywhere and has not come yet. Its hazard is constant in the log of the size, with Jeffreys'
    prior; what the small models say is only that so many decades passed without it. This route alone knows *none*
    before it is fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast.models import Array, Description, FittedModel, ModelRecord
from forecast_emergence.abilities.censored import bracket
from forecast_emergence.features.feature_specs import ROUTES, TABLE

if TYPE_CHECKING:
    from forecast.fit import Fit
    from forecast.streams import Streams


__all__ = ["MAX_PARAMETERS", "ROUTES", "UPTO", "Forecast", "predict_threshold", "threshold"]

#: The largest model the forecast may see, and where its horizon ends.
UPTO, MAX_PARAMETERS = 1.5e9, 1e13
#: All layers, but for what one of twenty could be by chance.
ALL_LAYERS_PERCENT = 95.0
#: Stands for *never*: beyond the horizon, and a number.
NEVER = 1e30


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """A predicted threshold size.

    Parameters
    ----------
    route : str
    n : int
        Models that were used.
    interval : tuple of float
        5 %, 50 % and 95 % of the size; inf inside the mass of none.
    none : float
        The probability that there is no threshold up to 1e13 parameters.
    observed : tuple of float
        The bracket that larger models gave: the largest size without, the smallest with.
    """

    route: str
    n: int
    interval: tuple[float, float, float]
    none: float
    observed: tuple[float, float]

    def __str__(self) -> str:
        low, middle, high = (f"{v:.2g}" if v < NEVER else "never" for v in self.interval)
        seen = f"{self.observed[0]:.2g} to {self.observed[1]:.2g}"
        return (
            f"{self.route}: from {self.n} models up to {UPTO:.2g} parameters, {ALL_LAYERS_PERCENT:g} % of the layers "
            f"at {middle} parameters (90 %: {low} to {high}), none by {MAX_PARAMETERS:g} with probability "
            f"{self.none:.0%}; observed: {seen}"
        )


def predict_threshold(route: str, *, upto: float = UPTO, draws: int = 4000, seed: int = 0) -> Forecast:
    """Predict the size from which nearly all layers are affected, from the models up to a size.

    Parameters
    ----------
    route : {"smooth", "logistic", "hazard"}
    upto : float
        Parameters of the largest model that is used: at least three sizes, and none that has reached it.
    draws, seed : int

    Examples
    --------
    >>> found = predict("hazard")
    >>> found.n, found.observed, 0.3 < found.none < 0.6
    (6, (6000000000.0, 6700000000.0), True)
    """
    from forecast.errors import UnknownNameError, UsageError

    if route not in ROUTES:
        raise UnknownNameError("route", route, ROUTES, where="threshold")
    size, share = _rows()
    seen = bracket(size, share >= ALL_LAYERS_PERCENT, what=f"{ALL_LAYERS_PERCENT:g} % of the layers")
    if upto >= seen[1]:
        raise UsageError(f"threshold: upto: {upto:g} includes the model of {seen[1]:g} parameters that has reached it")
    if np.unique(size[size <= upto]).size < 3:
        raise UsageError(
            f"threshold: upto: {upto:g} leaves fewer than three sizes; expected {np.sort(size)[2]:g} or more"
        )
    fitted = _fitted(route, upto)
    drawn = fitted.draw(1.0 - np.random.default_rng(seed).random((fitted.numbers, draws)))
    low, middle, high = np.quantile(drawn, [0.05, 0.5, 0.95], method="inverted_cdf")
    never = float(np.mean(drawn >= NEVER))
    ends = [float(v) if v < NEVER else float("inf") for v in (low, middle, high)]
    return Forecast(route=route, n=fitted.n, interval=(ends[0], ends[1], ends[2]), none=never, observed=seen)


def _rows() -> tuple[Array, Array]:
    from forecast import tables

    rows = tables.to_columns(TABLE)
    return rows.numeric("params"), rows.numeric("layers_affected")


@dataclass(frozen=True, kw_only=True)
class _Fitted(FittedModel):
    route: str
    n: int
    smallest: float
    largest: float
    fit: Fit | None
    sources: tuple[str, ...] = ()

    @property
    def numbers(self) -> int:
        """How many uniforms a draw takes."""
        return 2 if self.fit is None else len(self.fit.values) + 1

    def draw(self, uniforms: Array) -> Array:
        from scipy.special import gammaincinv

        if self.fit is None:
            # Jeffreys' prior of a rate, and that many decades without a jump
            rate = gammaincinv(0.5, uniforms[0]) / np.log10(self.largest / self.smallest)
            with np.errstate(divide="ignore", over="ignore"):
                decades = np.log10(self.largest) - np.log(uniforms[1]) / np.maximum(rate, 1e-300)
        else:
            p = self.fit.parameters_at(uniforms)
            with np.errstate(all="ignore"):
                if self.route == "smooth":
                    decades = (np.log10(ALL_LAYERS_PERCENT) - np.log10(p["a"])) / np.where(p["c"] > 0, p["c"], np.nan)
                else:
                    decades = p["m"] + p["s"] * np.log(ALL_LAYERS_PERCENT / (100.0 - ALL_LAYERS_PERCENT))
        decades = np.where(decades <= np.log10(MAX_PARAMETERS), decades, np.nan)
        # the models that were seen had not reached it: what lies below them is known to be wrong
        decades = np.maximum(decades, np.log10(self.largest))
        return np.where(np.isnan(decades), NEVER, 10.0 ** np.where(np.isnan(decades), 0.0, decades))

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        drawn = self.draw(streams.uniforms("parameters", self.numbers))
        return np.broadcast_to(drawn, (len(time), streams.draws)).copy()

    def describe(self) -> Description:
        said = predict_threshold(self.route, upto=UPTO)
        low, high = said.observed
        return Description(
            summary=f"{said}; never is written as {NEVER:g} parameters",
            assumptions=(
                ROUTES[self.route],
                f"a size above {MAX_PARAMETERS:g} counts as none and is written as {NEVER:g}",
            ),
            sources=self.sources,
            facts={
                "n": float(self.n),
                "low": said.interval[0],
                "median": said.interval[1],
                "high": said.interval[2],
                "none": said.none,
                "observed_above": low,
                "observed_by": high,
            },
        )


def _fitted(route: str, upto: float, sources: tuple[str, ...] = ()) -> _Fitted:
    from forecast import law

    size, share = _rows()
    seen = size <= upto
    fit = None
    if route != "hazard":
        name = "power-in-parameters" if route == "smooth" else "logistic-in-parameters"
        fit = law(f"emergence/{name}").fit({"N": size[seen], "y": share[seen]}, y="y")
    return _Fitted(
        route=route,
        n=int(seen.sum()),
        smallest=float(size[seen].min()),
        largest=float(size[seen].max()),
        fit=fit,
        sources=sources,
    )


@dataclass(frozen=True, kw_only=True)
class _Threshold(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        return _fitted(self.name.rpartition("threshold-")[2], UPTO, self.sources)


#: Builds the model ``threshold-ROUTE``.
threshold = _Threshold.from_spec
