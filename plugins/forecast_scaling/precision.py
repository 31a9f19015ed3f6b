"""Bits: training in low precision, quantising afterwards, and the size of a model in bits."""

from __future__ import annotations

from math import exp

from forecast import LawSpec, PublishedFit
from forecast_scaling.sources import KUMAR

__all__ = ["LAWS"]


def _kept(part: str) -> str:
    """Return the share of the parameters that a precision of P bits in one of the tensors keeps."""
    return f"(1 - exp(-P_{part}/gamma_{part} + n_{part}))"


_KUMAR = {
    "E": 2.7648,
    "A": 4.299e3,
    "gamma_w": 2.6745,
    "n_w": 0.3037,
    "gamma_a": 2.2102,
    "n_a": 1.4072,
    "gamma_kv": 0.9578,
    "n_kv": 2.4185,
    "alpha": 0.4965,
    "B": 1.806e4,
    "beta": 0.4965,
}

PRECISION = LawSpec(
    name="precision",
    title="Loss from parameters, tokens and the bits of weights, activations and attention cache in training",
    expression=f"E + A*(N*{_kept('w')}*{_kept('a')}*{_kept('kv')})**-alpha + B*D**-beta",
    variables={"N": "param", "D": "token", "P_w": "bit", "P_a": "bit", "P_kv": "bit"},
    output="loss",
    unit="nat/token",
    positive=("E", "A", "gamma_w", "gamma_a", "gamma_kv", "alpha", "B", "beta"),
    objective="huber_log",
    example=_KUMAR,
    domain={"N": (1e6, 1e9), "D": (1e8, 1e12), "P_w": (3.0, 12.0), "P_a": (4.0, 12.0), "P_kv": (4.0, 12.0)},
    requires={
        f"1 - exp(-P_{part}/gamma_{part} + n_{part})": f"share of the parameters that {what} in P_{part} bits keep "
        "(N_eff <= 0 where it is not positive)"
        for part, what in {"w": "weights", "a": "activations", "kv": "keys and values"}.items()
    },
    reference=f"{KUMAR}, eq. 3 and 4, with the offsets n of appendix K",
    published=(
        PublishedFit(
            name="kumar2024",
            parameters=_KUMAR,
            rounded=True,
            reference=f"{KUMAR}, table 2 (appendix K)",
            note="Equation 4 prints no offset; the fits have one, of a sign the source does not state for a negative "
            "exponent. With exp(-P/gamma + n) the best precision is 7.00 bits, as the source says (7 to 8); without n "
            "it would be 3.47. The law has no value where a precision keeps nothing (P_a at or below 3.1 bits, where "
            "the source saw runs diverge). alpha = beta is tied. The authors: 'our numerical constants are unlikely "
            "to be useful'.",
        ),
    ),
)

PRECISION_PTQ = LawSpec(
    name="precision-ptq",
    title="Loss that quantising after training adds",
    expression="C_T*D**gamma_D*N**-gamma_N*exp(-P/gamma_post)",
    variables={"N": "param", "D": "token", "P": "bit"},
    output="degradation",
    unit="nat/token",
    positive=("C_T", "gamma_D", "gamma_N", "gamma_post"),
    objective="least_squares_log",
    example={"C_T": 0.18, "gamma_D": 0.5068, "gamma_N": 0.3439, "gamma_post": 0.5907},
    domain={"N": (3e7, 2.2e8), "D": (1.5e9, 2.6e10), "P": (3.0, 6.0)},
    reference=f"{KUMAR}, eq. 2",
    published=(
        PublishedFit(
            name="kumar2024",
            parameters={
                "C_T": 0.0598 * exp(1.1277),
                "gamma_D": 0.5068,
                "gamma_N": 0.3439,
                "gamma_post": 0.5907,
            },
            rounded=True,
            reference=f"{KUMAR}, table 2 (appendix K)",
            note="The source fits exp(-P/gamma_post + b) with b = 1.1277 and C_T = .0598, which no data can tell "
            "apart: C_T here is the product C_T*exp(b).",
        ),
    ),
)

_OFFSETS = " + ".join(f"o{k}*max(0, 1 - abs(k - {k}))" for k in range(3, 9))

BITS_PER_MODEL = LawSpec(
    name="bits-per-model",
    title="Accuracy from the total bits of a model, with an offset for each precision",
    expression=f"a + b*log(bits) + {_OFFSETS}",
    variables={"bits": "bit", "k": ""},
    output="accuracy",
    objective="least_squares",
    example={
        "a": -0.2,
        "b": 0.035,
        "o3": -0.08,
        "o4": 0.02,
        "o5": 0.015,
        "o6": 0.01,
        "o7": 0.006,
        "o8": 0.004,
    },
    domain={"bits": (1e9, 1e12), "k": (3.0, 16.0)},
    reference="Dettmers, Zettlemoyer 2022, The case for 4-bit precision: k-bit Inference Scaling Laws, "
    "arXiv:2212.09720: curves of the precisions run in parallel. The source prints no equation (it interpolates); the "
    "straight line in log bits is ours. k is bits a parameter; offsets o3 to o8 are against 9 bits and more (16)",
)

LAWS = (PRECISION, PRECISION_PTQ, BITS_PER_MODEL)
