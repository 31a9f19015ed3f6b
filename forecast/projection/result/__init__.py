"""What a projection holds, typed: settings, choices, quantities and one list of answers."""

from forecast.projection.result.projected_answers import (
    AnswerDistribution,
    DateAnswer,
    FirstAnswer,
    ProjectedAnswer,
    RankingAnswer,
    ValueAnswer,
)
from forecast.projection.result.projected_quantities import ProjectedLimit, ProjectedQuantity
from forecast.projection.result.projection import Choice, Projection, Settings

__all__ = [
    "AnswerDistribution",
    "Choice",
    "DateAnswer",
    "FirstAnswer",
    "ProjectedAnswer",
    "ProjectedLimit",
    "ProjectedQuantity",
    "Projection",
    "RankingAnswer",
    "Settings",
    "ValueAnswer",
]
