"""Whether what a scenario lets move together can: a fitted number of a model has to be there, and to be uncertain."""

from __future__ import annotations

import numpy as np

from forecast.errors import ForecastError, ScenarioError, UnknownNameError, first_names
from forecast.projection.evaluate import Block
from forecast.projection.model_fits import ModelFits
from forecast.projection.plan import Plan
from forecast.scenarios.graph import ScenarioGraph


def check_ordered(graph: ScenarioGraph, fits: ModelFits, seed: int) -> None:
    """Refuse a fitted number that is to move together with others, and that a model has not, or that is certain.

    Raises
    ------
    UnknownNameError, ScenarioError
        Listing what could be instead.
    """
    plan = Plan(graph, fits, np.empty(0), seed)
    for owner, (number, name) in graph.ordered.items():
        model = graph.models.get(owner)  # none where its quantity is set
        if model is None or isinstance(fits.outcome(model), ForecastError):
            continue
        if number in fits.settings(graph, model):
            continue
        try:
            drawn = Block(plan, range(1)).take(plan.posterior(model, is_ordered=False))
        except ForecastError:
            drawn = {}
        can = [f"{owner}.{each}" for each, values in drawn.items() if np.ptp(values) > 0]
        if f"{owner}.{number}" in can:
            continue
        place = next(i for i, group in enumerate(graph.scenario.correlations, 1) if name in group.of)
        where = f"{graph.scenario.where}: correlations[{place}].of"
        if number in drawn:
            told = f"what could be: {first_names(can)}" if can else "so are all numbers of this fit"
            raise ScenarioError(f"{where}: '{owner}.{number}' is certain: it moves with nothing; {told}")
        raise UnknownNameError("fitted number", f"{owner}.{number}", can, where=where)
