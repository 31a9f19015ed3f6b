"""Bits a number: what a precision keeps of the parameters, what quantising adds to the loss, and the best precision.

The losses themselves are ``scaling/precision`` and ``scaling/precision-ptq``, the score against total bits is
``scaling/bits-per-model``; here are the quantities inside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from forecast.errors import UsageError

__all__ = ["CONSTANTS", "best_bits", "critical_tokens", "kept", "least_bits", "quantisation_loss"]

#: Table 2 of the paper's appendix K; the table datasets/precision-constants has them with their sources.
CONSTANTS: Mapping[str, float] = {
    "A": 4.299e3, "alpha": 0.4965, "beta": 0.4965, "B": 1.806e4, "E": 2.7648, "gamma_w": 2.6745, "n_w": 0.3037,
    "gamma_a": 2.2102, "n_a": 1.4072, "gamma_kv": 0.9578, "n_kv": 2.4185, "C_T": 0.0598, "gamma_D": 0.5068,
    "gamma_N": 0.3439, "gamma_post": 0.5907, "b_post": 1.1277,
}  # fmt: skip
TENSORS = {"w": "weights", "a": "activations", "kv": "keys and values"}

#: The offset is part of the constant here, as no data can tell C_T and exp(b) apart.
_SCALE = CONSTANTS["C_T"] * math.exp(CONSTANTS["b_post"])


def least_bits(tensor: str) -> float:
    """Return the bits at which nothing of the parameters is left: below them the law has no value.

    Examples
    --------
    >>> round(least_bits("a"), 2)
    3.11
    """
    return CONSTANTS[f"n_{tensor}"] * CONSTANTS[f"gamma_{tensor}"]


def kept(*, w: float | None = None, a: float | None = None, kv: float | None = None) -> float:
    """Return the share of the parameters that training in these bits keeps.

    Parameters
    ----------
    w, a, kv : float, optional
        Bits of weights, activations, and keys and values; None is full precision.

    Raises
    ------
    UsageError
        Where a precision keeps nothing: N_eff would not be positive. The message names the bits and the least ones.

    Examples
    --------
    >>> round(kept(w=16, a=16, kv=16), 4), round(kept(w=8, a=8, kv=8), 4), round(kept(w=4, a=4, kv=4), 4)
    (0.9937, 0.8278, 0.191)
    >>> kept(a=3)
    Traceback (most recent call last):
    ...
    forecast.errors.UsageError: activations in 3 bits keep 1 - exp(-3/2.2102 + 1.4072) = -0.0511 of the parameters, so \
N_eff <= 0: the law needs more than 3.11 bits for activations
    """
    share = 1.0
    for tensor, bits in {"w": w, "a": a, "kv": kv}.items():
        if bits is None:
            continue
        gamma, n = CONSTANTS[f"gamma_{tensor}"], CONSTANTS[f"n_{tensor}"]
        factor = 1.0 - math.exp(-bits / gamma + n)
        if not factor > 0:
            sign = f"-{bits:g}" if bits >= 0 else f"{-bits:g}"
            raise UsageError(
                f"{TENSORS[tensor]} in {bits:g} bits keep 1 - exp({sign}/{gamma:g} + {n:g}) = {factor:.4f} of the "
                f"parameters, so N_eff <= 0: the law needs more than {least_bits(tensor):.2f} bits for "
                f"{TENSORS[tensor]}"
            )
        share *= factor
    return share


def best_bits() -> float:
    """Return the bits of all three tensors that are best to train in, for a given cost N D P.

    At a cost in proportion to N*D*P and a fixed D, N_eff = N*f(P) is largest where f(P)/P is.

    Examples
    --------
    >>> round(best_bits(), 2)
    7.0
    """
    from scipy.optimize import minimize_scalar

    low = max(map(least_bits, TENSORS))
    found = minimize_scalar(
        lambda p: -kept(w=p, a=p, kv=p) / p, bounds=(low + 1e-6, 32.0), method="bounded", options={"xatol": 1e-10}
    )
    return float(found.x)


def quantisation_loss(params: float, tokens: float, bits: float) -> float:
    """Return the nats a token that quantising the weights after training adds.

    Examples
    --------
    >>> [round(quantisation_loss(30e6, 26e9, p), 4) for p in (3, 4, 5, 6)]
    [0.5858, 0.1078, 0.0198, 0.0036]
    """
    _sizes("quantisation_loss", params=params, tokens=tokens, bits=bits)
    c = CONSTANTS
    return float(_SCALE * tokens ** c["gamma_D"] / params ** c["gamma_N"] * math.exp(-bits / c["gamma_post"]))


def critical_tokens(params: float, bits: float) -> float:
    """Return the training tokens beyond which more of them make the quantised model worse.

    Examples
    --------
    >>> [f"{critical_tokens(30e6, p):.3g}" for p in (3, 4, 5)]
    ['5.32e+09', '2.88e+10', '1.56e+11']
    """
    _sizes("critical_tokens", params=params, bits=bits)
    c = CONSTANTS
    top = c["beta"] * c["B"] * params ** c["gamma_N"] * math.exp(bits / c["gamma_post"])
    return float((top / (c["gamma_D"] * _SCALE)) ** (1 / (c["gamma_D"] + c["beta"])))


def _sizes(what: str, **given: float) -> None:
    """Refuse sizes that are none, and bits that no machine has."""
    for name, value in given.items():
        most = 64.0 if name == "bits" else math.inf
        if not 0 < value < math.inf or value > most:
            upper = f" and at most {most:g}" if name == "bits" else ""
            raise UsageError(f"{what}: {name}: expected more than 0{upper}, got {value:g}")
