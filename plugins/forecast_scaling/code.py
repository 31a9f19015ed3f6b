"""Laws that no formula can write, as code; imported at their first use."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from forecast.base.arrays import Array

__all__ = ["filtering"]


#: A pass of this weight or less adds nothing that a float shows.
NOTHING = 1e-20


def filtering(parameters: Mapping[str, ArrayLike], *, n: ArrayLike, U: ArrayLike) -> Array:
    """Compute a*n1**b1*(n2/n1)**b2*... + d, where each further pass over the U samples has a smaller exponent.

    Pass k (from 1) has the exponent b*2**(-(k - 1)/tau) and ends after k*U samples, or at n.
    """
    a, b, tau, d = (np.asarray(parameters[p], float) for p in ("a", "b", "tau", "d"))
    n, pool = np.asarray(n, float), np.asarray(U, float)
    with np.errstate(all="ignore"):
        worth = np.log(np.minimum(n, pool))
        passes = n / pool
        last = int(np.ceil(np.max(passes[np.isfinite(passes)], initial=1.0)))
        for k in range(2, last + 1):
            weight = 2.0 ** ((1 - k) / tau)
            if np.max(weight, initial=0.0) < NOTHING:
                break
            worth = worth + weight * np.log(np.clip(passes / (k - 1), 1.0, k / (k - 1)))
        return np.asarray(a * np.exp(b * worth) + d)
