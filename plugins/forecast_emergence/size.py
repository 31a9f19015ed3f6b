"""Laws of emergent features in parameters: a power, a logistic, a phase shift, a break, a magnitude that saturates."""

from __future__ import annotations

from forecast import LawSpec
from forecast_emergence.sources import ESSAY, INT8

__all__ = ["LAWS"]

_DOMAIN = {"N": (1e8, 1e12)}

POWER = LawSpec(
    name="power-in-parameters",
    title="A feature that grows as a power of the parameters",
    expression="a*N**c",
    variables={"N": "param"},
    output="feature",
    positive=("a",),
    objective="least_squares_log",
    example={"a": 0.0015, "c": 0.364},
    domain=_DOMAIN,
    reference=f"{INT8}, figure 3a (against parameters, without a formula); the power is the smooth law that it is "
    "compared with here",
)

LOGISTIC = LawSpec(
    name="logistic-in-parameters",
    title="One regime: a share that rises from none to all with the logarithm of the parameters",
    expression="100/(1 + exp(-(log10(N) - m)/s))",
    variables={"N": "param"},
    output="share",
    unit="percent",
    positive=("s",),
    example={"m": 9.08, "s": 0.6},
    domain=_DOMAIN,
    reference=f"{INT8}, figure 3a, data of table 4; the form is ours: a sigmoid in log size, as Owen 2024, "
    "arXiv:2401.04757, uses for scores",
)

PHASE_SHIFT = LawSpec(
    name="phase-shift",
    title="Two regimes: a line in log parameters, and a jump by c over a width w at 10**m parameters",
    expression="a + b*log10(N) + c/(1 + exp(-(log10(N) - m)/w))",
    variables={"N": "param"},
    output="feature",
    positive=("w",),
    example={"a": -120.0, "b": 18.0, "c": 40.0, "m": 9.8, "w": 0.08},
    domain=_DOMAIN,
    reference=f"{INT8}, section 4: between 6B and 6.7B parameters the share of layers goes from 65 to 100 %; the "
    "form is ours",
)

BROKEN_LINE = LawSpec(
    name="broken-line",
    title="Two regimes: a line in log parameters whose slope changes by c at 10**m parameters",
    expression="a + b*log10(N) + c*max(0, log10(N) - m)",
    variables={"N": "param"},
    output="feature",
    example={"a": -20.0, "b": 3.0, "c": 25.0, "m": 9.7},
    domain=_DOMAIN,
    reference="Muggeo 2003, Estimating regression models with unknown break-points, Statistics in Medicine 22(19); "
    f"for what {INT8} calls a phase shift, where the slope breaks and nothing jumps",
)

SATURATING = LawSpec(
    name="saturating-magnitude",
    title="Magnitude of an outlier feature that saturates with the parameters",
    expression="top/(1 + (middle/N)**k)",
    variables={"N": "param"},
    output="magnitude",
    positive=("top", "middle", "k"),
    objective="least_squares_log",
    example={"top": 95.5, "middle": 1.08e10, "k": 2.85},
    domain={"N": (1e9, 1e12)},
    reference=f"{ESSAY}: magnitude about 15 at 6B, 60 at 13B and 95 for OPT-66B, so that growth saturates; the form "
    "(Hill) is ours, and three figures for three parameters leave nothing to judge it by",
)

PERPLEXITY = LawSpec(
    name="perplexity-in-parameters",
    title="Perplexity from parameters: a loss that falls as a power towards what cannot be removed",
    expression="exp(E + A*N**-c)",
    variables={"N": "param"},
    output="perplexity",
    positive=("E", "A", "c"),
    objective="least_squares_log",
    example={"E": 2.27, "A": 205.0, "c": 0.287},
    domain=_DOMAIN,
    reference="The loss of Kaplan et al. 2020, arXiv:2001.08361, and Henighan et al. 2020, arXiv:2010.14701, whose "
    "exponential is the perplexity",
)

SPEED = LawSpec(
    name="saturating-speed",
    title="Speed of 8-bit matrix multiplication against 16 bits: what quantising costs is hidden by width",
    expression="top/(1 + (middle/width)**k)",
    variables={"width": ""},
    output="speed",
    positive=("top", "middle", "k"),
    objective="least_squares_log",
    example={"top": 2.5, "middle": 5e3, "k": 1.1},
    domain={"width": (768.0, 2e4)},
    reference=f"{INT8}, table 5 (speed-ups by model dimension); the form is ours",
)

LAWS = (POWER, LOGISTIC, PHASE_SHIFT, BROKEN_LINE, SATURATING, PERPLEXITY, SPEED)
