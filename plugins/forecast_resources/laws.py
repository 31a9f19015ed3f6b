"""Laws between a resource and what it buys: floors, ceilings, crowding, ideas that overlap.

The exponential need itself is the log-linear law (`forecast_resources.loglinear`); research effort against growth is
``scaling/semi-endogenous``.
"""

from __future__ import annotations

from forecast import LawSpec

__all__ = ["LAWS"]

ESSAY = "Dettmers 2025-12-10, Why AGI Will Not Happen"

POWER_CEILING = LawSpec(
    name="power-ceiling",
    title="Progress that nears a ceiling as a power of the resource",
    expression="top - b*x**-c",
    variables={"x": ""},
    output="y",
    positive=("b", "c"),
    example={"top": 90.0, "b": 400.0, "c": 0.4},
    domain={"x": (1e2, 1e6)},
    reference=f"{ESSAY} (physical and financial ceilings); the form is the saturating power law of Hestness et al. "
    "2017, arXiv:1712.00409, turned over",
)

POWER = LawSpec(
    name="power",
    title="Progress as a power of the resource",
    expression="b*x**c",
    variables={"x": ""},
    output="y",
    positive=("b",),
    objective="least_squares_log",
    example={"b": 0.5, "c": 0.3},
    domain={"x": (1e2, 1e6)},
    reference="Jones 1995, R&D-Based Models of Economic Growth, Journal of Political Economy 103(4): returns to effort "
    "as a power",
)

POWER_FLOOR = LawSpec(
    name="power-floor",
    title="Progress from a floor as a power of the resource",
    expression="bottom + b*x**c",
    variables={"x": ""},
    output="y",
    positive=("b", "c"),
    example={"bottom": 5.0, "b": 0.5, "c": 0.3},
    domain={"x": (1e2, 1e6)},
    reference="Jones 1995, R&D-Based Models of Economic Growth, Journal of Political Economy 103(4): returns to effort "
    "as a power; the floor is what is there without it",
)

SIGMOID = LawSpec(
    name="sigmoid",
    title="A score that rises from floor to ceiling with the logarithm of the resource",
    expression="low + (high - low)/(1 + (x/middle)**-steepness)",
    variables={"x": ""},
    output="y",
    positive=("middle", "steepness"),
    example={"low": 0.1, "high": 0.9, "middle": 1e4, "steepness": 1.2},
    domain={"x": (1e1, 1e7)},
    reference="Owen 2024, How predictable is language model benchmark performance?, arXiv:2401.04757 (a sigmoid in log "
    "compute)",
)

CONTENTION = LawSpec(
    name="contention",
    title="What n pooled workers deliver where everything moves over a distance",
    expression="rate*n/(1 + k*d**2*(n - 1))",
    variables={"n": "", "d": ""},
    output="throughput",
    positive=("rate", "k"),
    objective="least_squares_log",
    example={"rate": 3.0, "k": 0.002},
    domain={"n": (1.0, 200.0), "d": (0.5, 5.0)},
    reference=f"{ESSAY} (moving information costs the square of the distance; pooling in space and time slows); at one "
    "distance it is Amdahl's law, Gunther 1993, A simple capacity model of massively parallel transaction systems, "
    "CMG Conference",
)

OVERLAPPING_IDEAS = LawSpec(
    name="overlapping-ideas",
    title="What n ideas are worth together that correlate by rho",
    expression="gain*n/(1 + (n - 1)*rho)",
    variables={"n": ""},
    output="joint_gain",
    positive=("gain",),
    bounds={"rho": (0.0, 1.0)},
    objective="least_squares_log",
    example={"gain": 0.2, "rho": 0.1},
    domain={"n": (1.0, 100.0)},
    reference=f"{ESSAY} (independent ideas multiply, related ones have diminishing returns); derived in "
    "forecast_resources.ideas: n standard ideas that correlate pairwise by rho count as n/(1 + (n - 1) rho) "
    "independent ones, and never as more than 1/rho",
)

LAWS = (POWER, POWER_CEILING, POWER_FLOOR, SIGMOID, CONTENTION, OVERLAPPING_IDEAS)
