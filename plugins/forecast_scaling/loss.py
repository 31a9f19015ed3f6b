"""Loss from parameters and data (or steps, or compute): the joint laws of language-model training."""

from __future__ import annotations

from math import exp

from forecast import LawSpec, ProtocolSpec, PublishedFit
from forecast_scaling.cost import TRAINING_COSTS
from forecast_scaling.sources import BESIROGLU, HOFFMANN, KAPLAN, LLAMA3, MEMORY

__all__ = ["CHINCHILLA_GRID", "LAWS", "N_D", "N_D_DOMAIN"]

#: Variables and plausible ranges of a law in parameters and tokens.
N_D = {"N": "param", "D": "token"}
N_D_DOMAIN = {"N": (5e7, 1e10), "D": (1e9, 3e11)}

#: The starts of Hoffmann et al. (appendix D.3), which the replication takes over.
CHINCHILLA_GRID = {
    "alpha": (0.0, 0.5, 1.0, 1.5, 2.0),
    "beta": (0.0, 0.5, 1.0, 1.5, 2.0),
    "E": (-1.0, -0.5, 0.0, 0.5, 1.0),
    "A": (0.0, 5.0, 10.0, 15.0, 20.0, 25.0),
    "B": (0.0, 5.0, 10.0, 15.0, 20.0, 25.0),
}
_LOGS = {"E": "log", "A": "log", "B": "log"}
#: Columns of the points that Besiroglu et al. read from figure 4 of Hoffmann et al.
_POINTS = {"N": "Model Size", "C": "Training FLOP", "D": "C/(6*N)"}

CHINCHILLA = LawSpec(
    name="chinchilla",
    title="Loss from parameters and tokens",
    expression="E + A*N**-alpha + B*D**-beta",
    variables=N_D,
    output="loss",
    unit="nat/token",
    positive=("E", "A", "alpha", "B", "beta"),
    objective="huber_log",
    example={"E": 1.8, "A": 480.0, "alpha": 0.35, "B": 2100.0, "beta": 0.37},
    domain=N_D_DOMAIN,
    costs=TRAINING_COSTS,
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
        PublishedFit(
            name="muennighoff2023-base",
            parameters={
                "E": exp(0.6254804),
                "A": exp(6.255414),
                "alpha": 0.3526596,
                "B": exp(7.3049974),
                "beta": 0.3526596,
            },
            reference="Muennighoff et al. 2023, arXiv:2305.16264, parametric fit with alpha = beta (their code)",
            note="Unrounded: log A, log B, log E = 6.255414, 7.3049974, .6254804; the exponents are tied.",
        ),
    ),
    protocols=(
        ProtocolSpec(
            name="besiroglu2024",
            title="Huber losses of log residuals, 240 of the 245 points of figure 4",
            columns=_POINTS,
            keep=("drop 5 largest loss",),
            objective="huber_log",
            options={"delta": 1e-3},
            coordinates=_LOGS,
            starts=CHINCHILLA_GRID,
            bootstrap=4000,
            reference=BESIROGLU,
            note="From every start of the grid the source runs BFGS; here the best point of the grid is solved to "
            "the optimum.",
        ),
        ProtocolSpec(
            name="hoffmann2022-a3",
            title="Huber losses of log residuals, all points",
            columns=_POINTS,
            objective="huber_log",
            options={"delta": 1e-3},
            coordinates=_LOGS,
            starts=CHINCHILLA_GRID,
            reference=f"{HOFFMANN}, appendix D.3",
            note="The runs themselves are not public. On the points read from their figure the protocol gives other "
            "parameters than the published ones, which are not its optimum there.",
        ),
    ),
)

_DEFICIT = "(a*n**-alpha + b*m**-beta + c)"

ROSENFELD = LawSpec(
    name="rosenfeld",
    title="Error from model and data size, between that of a guess and a floor",
    expression=f"e0*{_DEFICIT}/sqrt({_DEFICIT}**2 + eta**2)",
    variables={"n": "", "m": ""},
    output="error",
    positive=("e0", "a", "alpha", "b", "beta", "c", "eta"),
    objective="least_squares_log",
    example={"e0": 0.9, "a": 60.0, "alpha": 0.6, "b": 300.0, "beta": 0.7, "c": 0.05, "eta": 1.0},
    domain={"n": (1e2, 1e8), "m": (1e2, 1e7)},
    ridge="a, b, c and eta have a scale in common that cancels: fix one of them (eta = 1) to tell the others apart",
    reference="Rosenfeld, Rosenfeld, Belinkov, Shavit 2020, A Constructive Prediction of the Generalization Error "
    "Across Scales, arXiv:1909.12673: e0*|d/(d - i*eta)| with d = a*n**-alpha + b*m**-beta + c; n data, m size",
)

KAPLAN_N_D = LawSpec(
    name="kaplan",
    title="Loss from parameters and tokens, going to zero with both",
    expression="((N_c/N)**(alpha_N/alpha_D) + D_c/D)**alpha_D",
    variables=N_D,
    output="loss",
    unit="nat/token",
    positive=("N_c", "alpha_N", "alpha_D", "D_c"),
    objective="least_squares_log",
    example={"N_c": 8.8e13, "alpha_N": 0.076, "alpha_D": 0.095, "D_c": 5.4e13},
    domain={"N": (1e5, 1e10), "D": (1e7, 1e12)},
    costs=TRAINING_COSTS,
    reference=f"{KAPLAN}, eq. 1.5",
    published=(
        PublishedFit(
            name="kaplan2020",
            parameters={"N_c": 8.8e13, "alpha_N": 0.076, "alpha_D": 0.095, "D_c": 5.4e13},
            rounded=True,
            reference=f"{KAPLAN}, eq. 1.1 and 1.2",
            note="The constants of the two laws in one variable, put together as eq. 1.5 does; the joint fit of the "
            "paper has its own, not carried here. N counts no embeddings. No runs are public to refit it on.",
        ),
    ),
)

KAPLAN_STEPS = LawSpec(
    name="kaplan-steps",
    title="Loss from parameters and the least number of steps",
    expression="(N_c/N)**alpha_N + (S_c/S)**alpha_S",
    variables={"N": "param", "S": ""},
    output="loss",
    unit="nat/token",
    positive=("N_c", "alpha_N", "S_c", "alpha_S"),
    objective="least_squares_log",
    example={"N_c": 6.5e13, "alpha_N": 0.077, "S_c": 2100.0, "alpha_S": 0.76},
    domain={"N": (1e5, 1e10), "S": (1e2, 1e6)},
    reference=f"{KAPLAN}, eq. 1.6 (S steps at a batch far above the critical one)",
)

SKALING = LawSpec(
    name="skaling",
    title="Loss from parameters and tokens, exchanged at a rate and raised to a power",
    expression="E + A*(N**-alpha + R*D**-beta)**k",
    variables=N_D,
    output="loss",
    unit="nat/token",
    positive=("E", "A", "alpha", "R", "beta", "k"),
    objective="huber_log",
    example={"E": 1.8, "A": 200.0, "alpha": 0.5, "R": 30.0, "beta": 0.55, "k": 0.6},
    domain={"N": (1e6, 1e11), "D": (1e8, 1e13)},
    costs=TRAINING_COSTS,
    reference=f"Videau et al., skaling laws; {MEMORY}. The nested law in other parameters",
)

NESTED = LawSpec(
    name="nested",
    title="Loss from parameters and tokens whose deficits add in a power mean",
    expression="E + ((A*N**-alpha)**(1/q) + (B*D**-beta)**(1/q))**q",
    variables=N_D,
    output="loss",
    unit="nat/token",
    positive=("E", "A", "alpha", "q", "B", "beta"),
    objective="huber_log",
    example={"E": 1.8, "A": 200.0, "alpha": 0.3, "q": 0.6, "B": 1500.0, "beta": 0.33},
    domain={"N": (1e6, 1e11), "D": (1e8, 1e13)},
    costs=TRAINING_COSTS,
    reference=f"Videau et al., nested scaling laws; {MEMORY}. q = 1 is Chinchilla; E = 0 and q = beta is Kaplan",
)

FARSEER = LawSpec(
    name="farseer",
    title="Loss from parameters and tokens, with a data exponent that depends on parameters",
    expression="exp(a3*N**gamma + b3) + exp(a2*N**beta + b2)*D**-exp(a1*N**alpha + b1)",
    variables=N_D,
    output="loss",
    unit="nat/token",
    # the floor, the height and the exponent of the data term, all falling with N; wide about what runs have given
    bounds={
        "a3": (-1.0, 0.0),
        "gamma": (0.0, 0.5),
        "b3": (-2.0, 2.0),
        "a2": (0.0, 500.0),
        "beta": (-0.5, 0.0),
        "b2": (-20.0, 10.0),
        "a1": (-2.0, 0.0),
        "alpha": (0.0, 0.5),
        "b1": (-1.0, 3.0),
    },
    objective="huber_log",
    example={
        "a3": -0.021,
        "gamma": 0.169,
        "b3": 0.091,
        "a2": 88.01,
        "beta": -0.1,
        "b2": -5.287,
        "a1": -0.124,
        "alpha": 0.123,
        "b1": 0.424,
    },
    domain={"N": (1e7, 1e11), "D": (1e9, 1e13)},
    costs=TRAINING_COSTS,
    reference="Li et al. 2025, Predictable Scale: Part II, Farseer, arXiv:2506.10972; the example parameters are "
    "remembered, not compared with the paper",
)

OVER_TRAINING = LawSpec(
    name="over-training",
    title="Loss from compute and tokens per parameter",
    expression="E + (a*M**eta + b*M**-eta)*C**-eta",
    variables={"M": "token/param", "C": "FLOP"},
    output="loss",
    unit="nat/token",
    positive=("E", "a", "eta", "b"),
    objective="least_squares_log",
    example={"E": 1.8, "a": 140.0, "eta": 0.12, "b": 190.0},
    domain={"M": (5.0, 640.0), "C": (1e17, 1e22)},
    reference="Gadre et al. 2024, Language models scale reliably with over-training and on downstream tasks, "
    "arXiv:2403.08540",
)

COMPUTE_OPTIMAL = LawSpec(
    name="compute-optimal",
    title="The best size, or number of tokens, for a compute budget",
    expression="A*C**a",
    variables={"C": "FLOP"},
    output="optimum",
    positive=("A", "a"),
    objective="least_squares_log",
    example={"A": 0.3, "a": 0.54},
    domain={"C": (1e18, 1e22)},
    reference=f"{HOFFMANN}, approaches 1 and 2; {LLAMA3}, section 3.2.1",
    published=(
        PublishedFit(
            name="llama3",
            parameters={"A": 0.29, "a": 0.53},
            rounded=True,
            reference=f"{LLAMA3}, section 3.2.1: D = A*C**alpha, (alpha, A) = (0.53, 0.29)",
            note="The best number of tokens. At 3.8e25 FLOP these two digits give 10.5e12 tokens and not the 16.55e12 "
            "that the source states; llama3-figure is nearer.",
        ),
        PublishedFit(
            name="llama3-figure",
            parameters={"A": 0.299, "a": 0.537},
            rounded=True,
            reference=f"{LLAMA3}, figure 3, as transcribed in github.com/Tim-Chen11/Pretrainning-Process (README)",
            note="The best number of tokens, to three digits: 16.3e12 at 3.8e25 FLOP, where the text states 16.55e12.",
        ),
    ),
)

LAWS = (
    ROSENFELD,
    CHINCHILLA,
    KAPLAN_N_D,
    KAPLAN_STEPS,
    SKALING,
    NESTED,
    FARSEER,
    OVER_TRAINING,
    COMPUTE_OPTIMAL,
)
