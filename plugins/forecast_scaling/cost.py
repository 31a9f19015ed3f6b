"""What training and running a model costs, as formulas for ``allocate(cost=...)``.

N parameters, D training tokens; everything is in FLOP.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["COSTS", "TRAINING_COSTS"]

#: Name to formula.
COSTS: Mapping[str, str] = {
    # 2 FLOP a parameter forward and 4 backward
    "training": "6*N*D",
    # a transformer of n layers of width d at a context of l tokens, forward and backward, for one token:
    # six times its 12*n*d**2 parameters, and attention
    "per-token": "72*n*d**2 + 12*n*d*l",
    # a mixture of experts computes with its active parameters only
    "active": "6*N_active*D",
    # training, and then D_inf tokens served
    "lifetime": "6*N*D + 2*N*D_inf",
}

#: The costs of a law in N and D.
TRAINING_COSTS: Mapping[str, str] = {name: COSTS[name] for name in ("training", "lifetime")}
