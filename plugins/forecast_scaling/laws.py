"""The laws, spelt as in the literature, and their published parameters, unrounded where the source has them so."""

from __future__ import annotations

from math import exp

from forecast import LawSpec, PublishedFit

__all__ = ["LAWS"]

BESIROGLU = "Besiroglu, Erdil, Barnett, You 2024, Chinchilla Scaling: A replication attempt, arXiv:2404.10102"
HOFFMANN = "Hoffmann et al. 2022, Training Compute-Optimal Large Language Models, arXiv:2203.15556"

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
    "M1 of Alabdulmohsin, Neyshabur, Zhai 2022, arXiv:2209.06640",
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
    "M2 of Alabdulmohsin, Neyshabur, Zhai 2022, arXiv:2209.06640",
)

CHINCHILLA = LawSpec(
    name="chinchilla",
    title="Loss from parameters and tokens",
    expression="E + A*N**-alpha + B*D**-beta",
    variables={"N": "param", "D": "token"},
    output="loss",
    unit="nat/token",
    positive=("E", "A", "alpha", "B", "beta"),
    objective="huber_log",
    example={"E": 1.8, "A": 480.0, "alpha": 0.35, "B": 2100.0, "beta": 0.37},
    domain={"N": (5e7, 1e10), "D": (1e9, 3e11)},
    reference=f"{HOFFMANN}, eq. 2",
    published=(
        PublishedFit(
            name="besiroglu2024",
            parameters={"E": 1.81724, "A": 477.84, "alpha": 0.347313, "B": 2143.86, "beta": 0.367183},
            reference=BESIROGLU,
            note="The minimum of the sum of Huber losses (delta 1e-3) of log residuals over 240 points read from a "
            "figure of Hoffmann et al., as their code finds it: 0.00101827403. The true optimum, 0.0010182740178, is "
            "at E 1.81722, A 477.826, alpha .347311, B 2143.417, beta .367172. Their 95 % bootstrap intervals of "
            "single parameters: A 285-744, B 1042-5810, E 1.769-1.871, alpha .317-.373, beta .331-.415; how the "
            "parameters vary together is not stated. Their standard errors belong to besiroglu2024-mle.",
        ),
        PublishedFit(
            name="besiroglu2024-mle",
            parameters={"E": 1.8169, "A": 482.01, "alpha": 0.3478, "B": 2085.43, "beta": 0.3658},
            stderr={"E": 0.0257, "A": 124.52, "alpha": 0.0154, "B": 1293.28, "beta": 0.0206},
            rounded=True,
            reference=BESIROGLU,
            note="Their maximum-likelihood variant, with its standard errors, as printed.",
        ),
        PublishedFit(
            name="hoffmann2022",
            parameters={"E": 1.69, "A": 406.4, "alpha": 0.34, "B": 410.7, "beta": 0.28},
            rounded=True,
            reference=f"{HOFFMANN}, eq. 10",
            note="Approach 3 as printed. A refit of the same points rejects it (likelihood ratio 84.0, 5 degrees of "
            "freedom; arXiv:2404.10102); hoffmann2022-a3 has the constants unrounded.",
        ),
        PublishedFit(
            name="hoffmann2022-a3",
            parameters={
                "E": exp(0.5267228),
                "A": exp(6.0073404),
                "alpha": 0.33917084,
                "B": exp(6.0179186),
                "beta": 0.2849083,
            },
            reference=f"{HOFFMANN}, approach 3",
            note="Unrounded: log A, log B, log E = 6.0073404, 6.0179186, .5267228. A refit of the same points rejects "
            "it (arXiv:2404.10102).",
        ),
    ),
)

LAWS = (POWER, SATURATING_POWER, CHINCHILLA)
