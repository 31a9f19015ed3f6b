"""Plans from a fit: the input that reaches a goal, the best split of a budget, the compute that a better law saves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from forecast.base.lazy import xr
from forecast.errors import UsageError

if TYPE_CHECKING:
    from forecast.fit.fit import Fit


class Plans:
    """The part of `forecast.Fit` and `forecast.Fits` that plans with a law, each fit by itself."""

    def _each(self, compute: Callable[[Fit], xr.Dataset]) -> xr.Dataset:
        """Return what the fit answers; of many, what each does, over their dimension."""
        return compute(cast("Fit", self))

    def invert(
        self,
        *,
        y: float,
        solve_for: str,
        level: float = 0.9,
        draws: int = 2048,
        seed: int = 0,
        cost: str = "6*N*D",
        **variables: float,
    ) -> xr.Dataset:
        """Return what one variable must be for the law to give `y`: "what compute for loss 2.0?".

        Parameters
        ----------
        y : float
            The output to reach.
        solve_for : str
            A variable of the law, or ``"compute"``: the least cost that reaches `y`, both variables free.
        level : float
            Of the interval, from joint draws of the parameters.
        draws, seed : int
        cost : str
            What compute is, for ``solve_for="compute"``.
        **variables : float
            The other variables.

        Returns
        -------
        xarray.Dataset
            ``N`` (what was solved for) at the fitted parameters, ``N_lower`` and ``N_upper`` (inf inside the *never*
            mass), and the probabilities ``never`` (`y` lies beyond the law's asymptote) and ``already`` (every value
            reaches it). Without joint uncertainty no interval, and the attribute ``no_interval`` says why.

        Examples
        --------
        >>> import forecast
        >>> fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
        >>> found = fit.invert(y=2.0, solve_for="N", D=1e12)
        >>> round(float(fit.predict(N=found["N"], D=1e12)["median"]), 9)
        2.0
        """
        from forecast.planning.invert import invert

        return self._each(
            lambda fit: invert(
                fit, y=y, solve_for=solve_for, level=level, draws=draws, seed=seed, cost=cost, variables=variables
            )
        )

    def allocate(
        self,
        compute: float,
        *,
        cost: str = "6*N*D",
        inference_tokens: float | None = None,
        level: float = 0.9,
        draws: int = 2048,
        seed: int = 0,
    ) -> xr.Dataset:
        """Return the split of a compute budget that gives the lowest output.

        Parameters
        ----------
        compute : float
            The budget, in the unit of `cost`.
        cost : str
            A formula over the law's two variables.
        inference_tokens : float, optional
            Tokens served over the model's life: adds ``2*N*inference_tokens`` to the cost.
        level : float
            Of the intervals, from joint draws of the parameters.
        draws, seed : int

        Returns
        -------
        xarray.Dataset
            The two variables, the output, and ``tokens_per_parameter`` where the variables are N and D; each with
            ``_lower`` and ``_upper``. Without joint uncertainty point values only, and the attribute ``no_interval``
            says why.

        Raises
        ------
        FitError
            If the output has no lowest point inside: the best is at an end, or nowhere.

        Examples
        --------
        >>> import forecast
        >>> fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
        >>> best = fit.allocate(compute=1e25, cost="6*N*D")
        >>> round(6e-25 * float(best.N * best.D), 9)
        1.0
        """
        from forecast.planning.allocate import allocate

        return self._each(
            lambda fit: allocate(
                fit, compute=compute, cost=cost, inference_tokens=inference_tokens, level=level, draws=draws, seed=seed
            ).dataset()
        )

    def isoflop(self, compute: Any, *, cost: str = "6*N*D", decades: float = 1.0, points: int = 9) -> xr.Dataset:
        """Apply iso-FLOP parabolas (Approach 2) to this law, free of noise, and say how far they miss.

        See `forecast.planning.isoflop.of_fit`; `forecast.planning.isoflop.isoflop` does it to data.
        """
        from forecast.planning.isoflop import of_fit

        return self._each(lambda fit: of_fit(fit, compute=compute, cost=cost, decades=decades, points=points))

    def speedup(
        self,
        baseline: Fit,
        *,
        compute: float,
        cost: str | None = None,
        level: float = 0.9,
        draws: int = 2048,
        seed: int = 0,
    ) -> xr.Dataset:
        """Return how much less compute this law needs than `baseline` for the same output.

        See `forecast.planning.speedup.speedup`.
        """
        from forecast.fit.fit import Fit
        from forecast.planning.speedup import speedup

        if not isinstance(baseline, Fit):
            raise UsageError(f"speedup: expected a fit to compare with, got {type(baseline).__name__}")
        return self._each(
            lambda fit: speedup(fit, baseline, compute=compute, cost=cost, level=level, draws=draws, seed=seed)
        )
