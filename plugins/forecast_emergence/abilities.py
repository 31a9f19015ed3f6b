"""Laws of abilities: sigmoids above chance, thresholds of the loss, and jumps that the metric makes.

What other plugins have is not written again: ``scaling/two-step`` (loss to score), ``scaling/loss-threshold``,
``scaling/observational`` (a sigmoid in log compute or in a capability), ``scaling/passuntil`` and
``scaling/repeated-sampling``. The size from which a loss lies below a threshold is ``scaling/saturating-power`` turned
round: ``fit.invert(y=2.2, solve_for="x")``, with the probability that no size does.
"""

from __future__ import annotations

from forecast import LawSpec
from forecast_emergence.sources import MEMORY, RUAN, SCHAEFFER, SNELL

__all__ = ["LAWS"]

ABOVE_CHANCE = LawSpec(
    name="compute-sigmoid",
    title="Score from compute: a sigmoid in log compute from chance to a ceiling",
    expression="chance + (top - chance)/(1 + exp(-(beta*log(C) + alpha)))",
    variables={"C": ""},
    output="score",
    bounds={"chance": (0.0, 1.0), "top": (0.0, 1.0), "beta": (0.0, float("inf"))},
    example={"chance": 0.25, "top": 0.9, "beta": 1.0, "alpha": -4.0},
    domain={"C": (1e-2, 1e5)},
    reference=f"{RUAN}, eq. 6 (a ceiling h of .8 to 1), with a floor for guessing; C in units of 1e21 FLOP. Fitted "
    "to counts with objective='binomial' and options chance and trials the floor is the likelihood's: then take "
    "scaling/observational",
)

EXACT_MATCH = LawSpec(
    name="exact-match",
    title="All of n tokens right, where each is right with a chance that grows smoothly with the parameters",
    expression="exp(-n*(scale/N)**alpha)",
    variables={"N": "param", "n": ""},
    output="accuracy",
    positive=("scale", "alpha"),
    example={"scale": 1e6, "alpha": 0.5},
    domain={"N": (1e7, 1e12), "n": (1.0, 8.0)},
    reference=f"{SCHAEFFER}: accuracy is about p(N)**n; p = exp(-(N/c)**-alpha) {MEMORY}",
)

TOKEN_EDITS = LawSpec(
    name="token-edits",
    title="Tokens that are wrong among n: the same chance without a jump",
    expression="n*(1 - exp(-(scale/N)**alpha))",
    variables={"N": "param", "n": ""},
    output="edits",
    positive=("scale", "alpha"),
    objective="least_squares_log",
    example={"scale": 1e6, "alpha": 0.5},
    domain={"N": (1e7, 1e12), "n": (1.0, 8.0)},
    reference=f"{SCHAEFFER}: token edit distance is about n*(1 - p); {MEMORY}",
)

FINETUNED_ELBOW = LawSpec(
    name="finetuned-elbow",
    title="Score from loss with an elbow that moves with the data of fine-tuning",
    expression="base + A*max(0, k*log(D)**a + C - L)",
    variables={"L": "nat/token", "D": ""},
    output="score",
    positive=("A", "k", "a"),
    example={"base": 0.25, "A": 0.6, "k": 0.05, "a": 1.2, "C": 2.0},
    domain={"L": (1.6, 3.2), "D": (10.0, 1e5)},
    reference=f"{SNELL}: a rectifier of the loss whose elbow grows as a power of log data; the exact form is {MEMORY}",
)

LAWS = (ABOVE_CHANCE, EXACT_MATCH, TOKEN_EDITS, FINETUNED_ELBOW)
