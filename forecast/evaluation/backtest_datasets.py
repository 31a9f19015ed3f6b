"""What backtests return: xarray's datasets below a sentence. Whoever imports this loads xarray."""

from __future__ import annotations

import html

import xarray as xr

from forecast.evaluation.rolling_origin import best_model_sentence, score_rows
from forecast.evaluation.whole.scenario_scores import coverage_sentence


class Backtest(xr.Dataset):  # type: ignore[no-untyped-call]  # xarray's __init_subclass__
    """Forecasts of the past with their scores, below a sentence about them. Made by `forecast.backtest`.

    What xarray makes of it, such as one model of several, is one too, and has a sentence if enough of it is left.
    """

    __slots__ = ()
    _needed = frozenset({"origin", "horizon", "model", "quantile", "forecast", "weighted-interval", "coverage"})

    @property
    def sentence(self) -> str:
        """How good its forecasts were, and the share of intervals that held; empty where not all of it is left."""
        return self._summary() if {*self.dims, *self.data_vars} >= self._needed else ""

    def _summary(self) -> str:
        return best_model_sentence(score_rows([self]), [self])

    def __repr__(self) -> str:
        return f"{self.sentence}\n{super().__repr__()}".lstrip()

    def _repr_html_(self) -> str:
        return f"<p><strong>{html.escape(self.sentence)}</strong></p>{super()._repr_html_()}"


class ScenarioBacktest(Backtest):  # type: ignore[no-untyped-call]  # xarray's __init_subclass__
    """What a scenario would have said, with its scores. Made by `forecast.backtest_scenario`."""

    __slots__ = ()
    _needed = frozenset({"quantity", "origin", "ahead", "model", "quantile", "coverage"})

    def _summary(self) -> str:
        return coverage_sentence(self)
