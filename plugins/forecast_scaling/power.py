"""Power laws in one variable: plain, saturating, shifted, between two limits, and broken."""

from __future__ import annotations

from forecast import LawSpec, ProtocolSpec, PublishedFit
from forecast_scaling.sources import ALABDULMOHSIN, CABALLERO, KAPLAN

__all__ = ["LAWS", "broken_power"]

_KAPLAN = (
    "The source gives the law as (x_c/x)**c, so beta = x_c**c; both figures are printed to two digits. x is counted in"
)

POWER = LawSpec(
    name="power",
    title="Power law",
    expression="beta*x**-c",
    variables={"x": ""},
    positive=("beta", "c"),
    objective="least_squares_log",
    example={"beta": 5.0, "c": 0.3},
    domain={"x": (1e2, 1e6)},
    reference="Hestness et al. 2017, Deep Learning Scaling is Predictable, Empirically, arXiv:1712.00409; "
    f"M1 of {ALABDULMOHSIN}",
    published=(
        PublishedFit(
            name="kaplan2020-parameters",
            parameters={"beta": 8.8e13**0.076, "c": 0.076},
            rounded=True,
            reference=f"{KAPLAN}, eq. 1.1: alpha_N .076, N_c 8.8e13",
            note=f"{_KAPLAN} parameters without embeddings; the loss in nats per token.",
        ),
        PublishedFit(
            name="kaplan2020-data",
            parameters={"beta": 5.4e13**0.095, "c": 0.095},
            rounded=True,
            reference=f"{KAPLAN}, eq. 1.2: alpha_D .095, D_c 5.4e13",
            note=f"{_KAPLAN} tokens; the loss in nats per token.",
        ),
        PublishedFit(
            name="kaplan2020-compute",
            parameters={"beta": 3.1e8**0.05, "c": 0.05},
            rounded=True,
            reference=f"{KAPLAN}, eq. 1.3: alpha_C .050, C_c 3.1e8 PF-days",
            note=f"{_KAPLAN} petaFLOP/s-days (8.64e19 FLOP) spent at the best batch size; the loss in nats per token.",
        ),
    ),
)

SATURATING_POWER = LawSpec(
    name="saturating-power",
    title="Power law above an irreducible loss",
    expression="E + beta*x**-c",
    variables={"x": ""},
    positive=("E", "beta", "c"),
    objective="least_squares_log",
    example={"E": 1.7, "beta": 8.0, "c": 0.35},
    domain={"x": (1e1, 1e5)},
    reference="Henighan et al. 2020, Scaling Laws for Autoregressive Generative Modeling, arXiv:2010.14701; "
    f"M2 of {ALABDULMOHSIN}",
)

M3 = LawSpec(
    name="m3",
    title="Power law that levels off in x",
    expression="beta*(1/x + gamma)**c",
    variables={"x": ""},
    positive=("beta", "gamma", "c"),
    objective="least_squares_log",
    example={"beta": 6.0, "gamma": 1e-3, "c": 0.4},
    domain={"x": (1e1, 1e5)},
    reference="Bansal et al. 2022, Data Scaling Laws in NMT, arXiv:2202.01994; "
    f"M3 of {ALABDULMOHSIN}; equally (1/x**1 + gamma) is loss from noise gamma in the labels",
)

M4 = LawSpec(
    name="m4",
    title="Power law between the loss of a guess and an irreducible loss",
    expression="(y - einf)/(e0 - y)**alpha",
    equals="beta*x**-c",
    between=("einf", "e0"),
    variables={"x": ""},
    positive=("einf", "e0", "alpha", "beta", "c"),
    objective="least_squares_log",
    example={"einf": 0.3, "e0": 2.3, "alpha": 0.8, "beta": 4.0, "c": 0.4},
    domain={"x": (1e-1, 1e5)},
    reference=f"M4 of {ALABDULMOHSIN}; implicit in y",
)

SHIFTED_POWER = LawSpec(
    name="shifted-power",
    title="Saturating power law with a shift in x",
    expression="a*(x + d)**-b + c",
    variables={"x": ""},
    positive=("a", "b", "c", "d"),
    objective="least_squares_log",
    example={"a": 3.0, "b": 0.4, "c": 0.2, "d": 50.0},
    domain={"x": (1e0, 1e5)},
    reference="Zhai, Kolesnikov, Houlsby, Beyer 2022, Scaling Vision Transformers, arXiv:2106.04560",
)


def broken_power(breaks: int, **record: object) -> LawSpec:
    """Return the record of a smoothly broken power law.

    Parameters
    ----------
    breaks : int
        How many; each has a place d, a sharpness f and the exponent c that it adds.
    **record
        Fields of the record to set: ``example``, ``domain``, ``published``.

    Examples
    --------
    >>> broken_power(1).expression
    'a + b*x**-c0*(1 + (x/d1)**(1/f1))**(-c1*f1)'
    """
    bends = "".join(f"*(1 + (x/d{i})**(1/f{i}))**(-c{i}*f{i})" for i in range(1, breaks + 1))
    fields: dict[str, object] = {
        "name": "broken-power" if breaks == 1 else f"broken-power-{breaks}",
        "title": f"Smoothly broken power law, {breaks} break{'s' if breaks > 1 else ''}",
        "expression": f"a + b*x**-c0{bends}",
        "variables": {"x": ""},
        "positive": ("a", "b", *(f"{p}{i}" for i in range(1, breaks + 1) for p in "df")),
        "objective": "least_squares_log",
        "ridge": "" if breaks == 1 else "the breaks may change places",
        "reference": f"{CABALLERO}, eq. 1",
    }
    return LawSpec(**{**fields, **record})  # type: ignore[arg-type]


ADDITION = f"{CABALLERO}, 4-digit addition (their code)"

BROKEN_POWER = broken_power(
    1,
    example={"a": 0.2, "b": 5.0, "c0": 0.1, "d1": 1e3, "f1": 0.3, "c1": 0.4},
    domain={"x": (1e0, 1e6)},
    published=(
        PublishedFit(
            name="bnsl-addition",
            parameters={
                "a": 0.4138845,
                "b": 2.2772723,
                "c0": 0.0550773,
                "d1": 612.58362,
                "f1": 0.0591930,
                "c1": 5.6629034,
            },
            reference=ADDITION,
            note="Error of 4-digit addition against the number of training examples, as their code prints it; the "
            "minimum of the RMSE of log(y + 1) over the 14 training points: .000402444, and .004178990 on the 3 held "
            "out. On log y the same parameters give .00059849 and .0109157.",
        ),
    ),
    protocols=(
        ProtocolSpec(
            name="bnsl-addition",
            title="Least squares of log(y + 1), 14 points fitted and 3 held out",
            train=("split is train",),
            y="y + 1",
            objective="least_squares_log",
            reference=ADDITION,
            note="The law is fitted to y + 1, which is the same law with a greater by one: subtract 1 from a for the "
            "law of y.",
        ),
    ),
)

BROKEN_POWER_2 = broken_power(
    2,
    example={
        "a": 0.2,
        "b": 5.0,
        "c0": 0.1,
        "d1": 1e2,
        "f1": 0.3,
        "c1": 0.5,
        "d2": 1e5,
        "f2": 0.3,
        "c2": -0.4,
    },
    domain={"x": (1e0, 1e8)},
)

LAWS = (POWER, SATURATING_POWER, M3, M4, SHIFTED_POWER, BROKEN_POWER, BROKEN_POWER_2)
