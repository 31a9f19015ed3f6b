"""Data that repeat, that are filtered, or that come from elsewhere."""

from __future__ import annotations

from math import exp

from forecast import LawSpec, ProtocolSpec, PublishedFit
from forecast_scaling.sources import MEMORY, MUENNIGHOFF

__all__ = ["LAWS"]

_BASE = {
    "E": exp(0.6254804),
    "A": exp(6.255414),
    "alpha": 0.3526596,
    "B": exp(7.3049974),
    "beta": 0.3526596,
}


def _repeated(amount: str, unique: str, halving: str) -> str:
    """Return what an amount is worth when its unique part is used again and again."""
    return f"{unique}*(1 + {halving}*(1 - exp((1 - {amount}/({unique}))/{halving})))"


#: The size that is best for as many tokens as there are unique ones: N = G*(G*U)**(beta/alpha); G**2*U where the
#: exponents are equal. G = (alpha*A/(beta*B))**(1/(alpha + beta)).
_BEST = "(alpha*A/(beta*B))**(1/alpha)*min(D, U)**(beta/alpha)"

DATA_CONSTRAINED = LawSpec(
    name="data-constrained",
    title="Loss from parameters, tokens and unique tokens",
    expression=f"E + A*({_repeated('N', f'min(N, {_BEST})', 'R_N')})**-alpha"
    f" + B*({_repeated('D', 'min(D, U)', 'R_D')})**-beta",
    variables={"N": "param", "D": "token", "U": "token"},
    output="loss",
    unit="nat/token",
    positive=("E", "A", "alpha", "B", "beta", "R_N", "R_D"),
    objective="huber_log",
    example={**_BASE, "R_N": 5.309743, "R_D": 15.387756},
    domain={"N": (1e7, 1e10), "D": (1e9, 1e12), "U": (1e8, 1e11)},
    reference=f"{MUENNIGHOFF}, whose exponents are equal; here they need not be",
    published=(
        PublishedFit(
            name="muennighoff2023",
            parameters={**_BASE, "R_N": 5.309743, "R_D": 15.387756},
            reference=f"{MUENNIGHOFF} (their code)",
            note="Unrounded. Not the optimum of its own objective but a point on a ridge: on its 182 runs R_D 46.99 "
            "and R_N 2.330 give .01580738, R_D 95.4 and R_N 1.706 give .01580466, this .01582594. So R_D is not "
            "identified by those runs.",
        ),
    ),
    protocols=(
        ProtocolSpec(
            name="muennighoff2023",
            title="Huber losses of log residuals over R_N and R_D alone, on the 182 runs without outliers",
            let={"N": "params", "D": "tokens", "U": "unique_tokens"},
            objective="huber_log",
            options={"delta": 1e-3},
            fix=_BASE,
            reference=f"{MUENNIGHOFF} (their code: utils/parametric_fit.ipynb)",
            note="The five Chinchilla constants come from an earlier fit to runs without repetition. The runs that "
            "the source drops as outliers are dropped from its table already: this protocol drops none.",
        ),
    ),
)

FILTERING = LawSpec(
    name="filtering",
    title="Error from samples seen, of a pool whose worth halves with repetition",
    target="forecast_scaling.code:filtering",
    variables={"n": "", "U": ""},
    output="error",
    positive=("a", "d"),
    bounds={"b": (-2.0, 0.0), "tau": (0.05, 100.0)},
    objective="least_squares_log",
    example={"a": 8.0, "b": -0.2, "tau": 2.0, "d": 0.1},
    domain={"n": (1e6, 1e8), "U": (5e6, 1e8)},
    reference="Goyal, Maini, Lipton, Raghunathan, Kolter 2024, Scaling Laws for Data Filtering, arXiv:2404.07177: "
    f"a*n1**b1*prod (n_j/n_(j-1))**b_j + d with b_k halving every tau passes; {MEMORY}",
)

TRANSFER = LawSpec(
    name="transfer",
    title="Tokens of fine-tuning data that pre-training is worth",
    expression="k*D_F**alpha*N**beta",
    variables={"D_F": "token", "N": "param"},
    output="D_T",
    unit="token",
    positive=("k", "alpha", "beta"),
    objective="least_squares_log",
    example={"k": 1.9e4, "alpha": 0.18, "beta": 0.38},
    domain={"D_F": (1e5, 1e10), "N": (1e6, 1e9)},
    reference="Hernandez, Kaplan, Henighan, McCandlish 2021, Scaling Laws for Transfer, arXiv:2102.01293",
)

DISTILLATION = LawSpec(
    name="distillation",
    title="Loss of a distilled student from its size, its tokens and its teacher's loss",
    expression="L_T + L_T**-c0*(1 + (L_T/(L_S*d1))**(1/f1))**(-c1*f1)*(A*N**-alpha + B*D**-beta)**gamma",
    variables={"N": "param", "D": "token", "L_T": "nat/token", "L_S": "nat/token"},
    output="loss",
    unit="nat/token",
    positive=("d1", "f1", "A", "alpha", "B", "beta", "gamma"),
    objective="huber_log",
    example={
        "c0": 2.5,
        "d1": 1.2,
        "f1": 0.2,
        "c1": 2.0,
        "A": 3000.0,
        "alpha": 0.4,
        "B": 20000.0,
        "beta": 0.43,
        "gamma": 0.5,
    },
    domain={"N": (1e7, 1e11), "D": (1e9, 1e13), "L_T": (1.4, 4.0), "L_S": (1.4, 4.0)},
    reference="Busbridge et al. 2025, Distillation Scaling Laws, arXiv:2502.08606, eq. 8, as transcribed in public "
    "notes and not compared with the paper. L_T is the teacher's loss, L_S the loss the student would reach by "
    "itself (a law of its own in N and D)",
)

LAWS = (DATA_CONSTRAINED, FILTERING, TRANSFER, DISTILLATION)
