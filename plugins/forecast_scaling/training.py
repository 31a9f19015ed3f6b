"""What happens along a training run: the critical batch and the learning rate's decay."""

from __future__ import annotations

from forecast import LawSpec
from forecast_scaling.sources import KAPLAN

__all__ = ["LAWS"]

CRITICAL_BATCH = LawSpec(
    name="critical-batch",
    title="The batch beyond which more data at once buys little, from the loss",
    expression="B_star/L**(1/alpha_B)",
    variables={"L": "nat/token"},
    output="batch",
    unit="token",
    positive=("B_star", "alpha_B"),
    objective="least_squares_log",
    example={"B_star": 2e8, "alpha_B": 0.21},
    domain={"L": (2.0, 8.0)},
    reference=f"{KAPLAN}, eq. 1.4",
)

ANNEALING = LawSpec(
    name="annealing",
    title="Loss along a run, from the area under the learning rate and the area of its decay",
    expression="L0 + A*S1**-alpha - C*S2",
    variables={"S1": "", "S2": ""},
    output="loss",
    unit="nat/token",
    positive=("L0", "A", "alpha", "C"),
    objective="huber_log",
    example={"L0": 2.6, "A": 0.5, "alpha": 0.5, "C": 0.4},
    domain={"S1": (0.05, 20.0), "S2": (0.0, 0.5)},
    reference="Tissue, Wang, Wang 2024, Scaling Law with Learning Rate Annealing, arXiv:2408.11029, abstract",
)

LAWS = (CRITICAL_BATCH, ANNEALING)
