"""Growth towards a ceiling."""

from __future__ import annotations

from forecast import LawSpec

__all__ = ["LAWS"]

_STANDARD = "Standard; for instance Meade, Islam 1998, Technological Forecasting, Management Science 44(8)"

LOGISTIC = LawSpec(
    name="logistic",
    title="Logistic growth",
    expression="K/(1 + exp(-r*(t - t0)))",
    variables={"t": ""},
    positive=("K",),
    objective="least_squares",
    example={"K": 100.0, "r": 0.5, "t0": 12.0},
    domain={"t": (0.0, 30.0)},
    reference=f"Verhulst 1838; {_STANDARD}",
)

GOMPERTZ = LawSpec(
    name="gompertz",
    title="Gompertz growth: its fastest early on",
    expression="K*exp(-b*exp(-r*t))",
    variables={"t": ""},
    positive=("K", "b", "r"),
    objective="least_squares",
    example={"K": 100.0, "b": 6.0, "r": 0.25},
    domain={"t": (0.0, 30.0)},
    reference=f"Gompertz 1825; {_STANDARD}",
)

RICHARDS = LawSpec(
    name="richards",
    title="Richards growth: a logistic whose inflection may lie anywhere",
    expression="K*(1 + nu*exp(-r*(t - t0)))**(-1/nu)",
    variables={"t": ""},
    positive=("K", "nu", "r"),
    objective="least_squares",
    example={"K": 100.0, "nu": 2.0, "r": 0.6, "t0": 14.0},
    domain={"t": (0.0, 30.0)},
    reference="Richards 1959, A Flexible Growth Function for Empirical Use, J. Exp. Bot. 10(29)",
)

BASS = LawSpec(
    name="bass",
    title="Bass diffusion: adopters by themselves and by imitation",
    expression="m*(1 - exp(-(p + q)*t))/(1 + q/p*exp(-(p + q)*t))",
    variables={"t": "year"},
    output="adopters",
    positive=("m", "p", "q"),
    objective="least_squares",
    example={"m": 100.0, "p": 0.02, "q": 0.4},
    domain={"t": (0.5, 25.0)},
    reference="Bass 1969, A New Product Growth for Model Consumer Durables, Management Science 15(5); cumulative",
)

HILL = LawSpec(
    name="hill",
    title="Hill curve: from a floor to a ceiling, symmetric in log x",
    expression="E0 + (K - E0)*x**n/(h**n + x**n)",
    variables={"x": ""},
    # the curve with floor and ceiling exchanged and -n is the same one
    positive=("n", "h"),
    objective="least_squares",
    example={"E0": 0.1, "K": 0.9, "n": 1.5, "h": 50.0},
    domain={"x": (1e0, 1e4)},
    reference="Hill 1910, J. Physiol. 40",
)

WEIBULL = LawSpec(
    name="weibull",
    title="Weibull growth",
    expression="K - (K - b)*exp(-(k*x)**d)",
    variables={"x": ""},
    positive=("k", "d"),
    objective="least_squares",
    example={"K": 1.0, "b": 0.2, "k": 0.02, "d": 1.3},
    domain={"x": (1.0, 300.0)},
    reference="Weibull 1951, A Statistical Distribution Function of Wide Applicability, J. Appl. Mech. 18",
)

MMF = LawSpec(
    name="mmf",
    title="Morgan-Mercer-Flodin growth: the Hill curve in the parameters of nutrition",
    expression="(a*b + c*x**d)/(b + x**d)",
    variables={"x": ""},
    positive=("b", "d"),
    objective="least_squares",
    example={"a": 0.1, "b": 300.0, "c": 0.9, "d": 1.5},
    domain={"x": (1e0, 1e4)},
    reference="Morgan, Mercer, Flodin 1975, General model for nutritional responses of higher organisms, PNAS 72(11)",
)

LAWS = (LOGISTIC, GOMPERTZ, RICHARDS, BASS, HILL, WEIBULL, MMF)
