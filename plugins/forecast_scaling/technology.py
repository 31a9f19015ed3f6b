"""Technology curves: cost from experience, from time, from scale.

The random walk with drift says how a series goes on from its own past: it is a shape of trends, not a law over columns,
and is not here.
"""

from __future__ import annotations

from forecast import LawSpec

__all__ = ["LAWS"]

NAGY = "Nagy, Farmer, Bui, Trancik 2013, Statistical Basis for Predicting Technological Progress, PLoS ONE 8(2)"

WRIGHT = LawSpec(
    name="wright",
    title="Cost falls with cumulative production",
    expression="c*Q**-w",
    variables={"Q": ""},
    output="cost",
    positive=("c",),
    objective="least_squares_log",
    example={"c": 100.0, "w": 0.3},
    domain={"Q": (1.0, 1e6)},
    reference=f"Wright 1936, Factors Affecting the Cost of Airplanes; {NAGY}",
)

LAGGED_WRIGHT = LawSpec(
    name="lagged-wright",
    title="Cost falls with what had been produced before this year",
    expression="c*(Q - q)**-w",
    variables={"Q": "", "q": ""},
    output="cost",
    positive=("c",),
    objective="least_squares_log",
    example={"c": 100.0, "w": 0.3},
    domain={"Q": (2e5, 1e8), "q": (1.0, 1e5)},
    reference=f"{NAGY} (form from memory, unverified). Q is cumulative, q is production in one year",
)

MOORE = LawSpec(
    name="moore",
    title="Cost falls exponentially with time",
    expression="c*exp(-m*t)",
    variables={"t": "year"},
    output="cost",
    positive=("c",),
    objective="least_squares_log",
    example={"c": 100.0, "m": 0.15},
    domain={"t": (0.0, 40.0)},
    reference=f"Moore 1965, Cramming More Components onto Integrated Circuits; {NAGY}",
)

GODDARD = LawSpec(
    name="goddard",
    title="Cost falls with the scale of a year's production",
    expression="c*q**-s",
    variables={"q": ""},
    output="cost",
    positive=("c",),
    objective="least_squares_log",
    example={"c": 100.0, "s": 0.2},
    domain={"q": (1.0, 1e5)},
    reference=f"Goddard 1982, Debunking the Learning Curve; {NAGY}",
)

SKC = LawSpec(
    name="skc",
    title="Cost falls with experience and with scale",
    expression="c*Q**-a*q**-b",
    variables={"Q": "", "q": ""},
    output="cost",
    positive=("c",),
    objective="least_squares_log",
    example={"c": 100.0, "a": 0.25, "b": 0.1},
    domain={"Q": (1.0, 1e6), "q": (1.0, 1e5)},
    reference=f"Sinclair, Klepper, Cohen 2000, What's Experience Got to Do With It?; {NAGY}. Q is cumulative, q is "
    "production in one year",
)

NORDHAUS = LawSpec(
    name="nordhaus",
    title="Cost falls with experience and with time",
    expression="c*Q**-w*exp(-m*t)",
    variables={"Q": "", "t": "year"},
    output="cost",
    positive=("c",),
    objective="least_squares_log",
    example={"c": 100.0, "w": 0.25, "m": 0.05},
    domain={"Q": (1.0, 1e6), "t": (0.0, 40.0)},
    reference=f"Nordhaus 2009, The Perils of the Learning Model for Modeling Endogenous Technological Change; {NAGY}",
)

SEMI_ENDOGENOUS = LawSpec(
    name="semi-endogenous",
    title="Growth of ideas from research effort and from how many were found",
    expression="theta*S**lambda_*A**-beta",
    variables={"S": "", "A": ""},
    output="growth",
    unit="1/year",
    positive=("theta",),
    objective="least_squares_log",
    example={"theta": 0.05, "lambda_": 0.7, "beta": 1.5},
    domain={"S": (1.0, 1e3), "A": (1.0, 1e2)},
    requires={"S": "researchers", "A": "ideas found so far"},
    reference="Jones 1995, R&D-Based Models of Economic Growth; Bloom, Jones, Van Reenen, Webb 2020, Are Ideas Getting "
    "Harder to Find? growth is (dA/dt)/A",
)

ALGORITHMIC_PROGRESS = LawSpec(
    name="algorithmic-progress",
    title="Loss from parameters and tokens that are worth more each year",
    expression="E + A*(N*exp(g_N*t))**-alpha + B*(D*exp(g_D*t))**-beta",
    variables={"N": "param", "D": "token", "t": "year"},
    output="loss",
    unit="nat/token",
    positive=("E", "A", "alpha", "B", "beta"),
    objective="huber_log",
    example={"E": 1.8, "A": 480.0, "g_N": 0.4, "alpha": 0.35, "B": 2100.0, "g_D": 0.5, "beta": 0.37},
    domain={"N": (5e7, 1e10), "D": (1e9, 3e11), "t": (0.0, 10.0)},
    reference="Ho et al. 2024, Algorithmic progress in language models, arXiv:2403.05812; t is years since a "
    "reference year",
)

LAWS = (WRIGHT, LAGGED_WRIGHT, MOORE, GODDARD, SKC, NORDHAUS, SEMI_ENDOGENOUS, ALGORITHMIC_PROGRESS)
