"""The best learning rate and batch as training grows."""

from __future__ import annotations

from forecast import LawSpec, PublishedFit

__all__ = ["LAWS"]

DEEPSEEK = "DeepSeek-AI 2024, DeepSeek LLM, arXiv:2401.02954"
STEP_LAW = "Li et al. 2025, Predictable Scale: Part I, Step Law, arXiv:2503.04715"
_REMEMBERED = "Figures as remembered, not compared with the paper."

HYPERPARAMETER = LawSpec(
    name="hyperparameter",
    title="The best learning rate, or batch, from parameters and tokens",
    expression="c*N**a*D**b",
    variables={"N": "param", "D": "token"},
    output="optimum",
    positive=("c",),
    objective="least_squares_log",
    example={"c": 1.79, "a": -0.713, "b": 0.307},
    domain={"N": (6e7, 1e9), "D": (2e9, 1e11)},
    reference=STEP_LAW,
    published=(
        PublishedFit(
            name="step-law2025-learning-rate",
            parameters={"c": 1.79, "a": -0.713, "b": 0.307},
            rounded=True,
            reference=STEP_LAW,
            note=_REMEMBERED,
        ),
        PublishedFit(
            name="step-law2025-batch",
            parameters={"c": 0.58, "a": 0.0, "b": 0.571},
            rounded=True,
            reference=STEP_LAW,
            note=f"The batch in tokens, which does not depend on N. {_REMEMBERED}",
        ),
    ),
)

HYPERPARAMETER_COMPUTE = LawSpec(
    name="hyperparameter-compute",
    title="The best learning rate, or batch, from compute",
    expression="k*C**a",
    variables={"C": "FLOP"},
    output="optimum",
    positive=("k",),
    objective="least_squares_log",
    example={"k": 0.3118, "a": -0.125},
    domain={"C": (1e17, 2e20)},
    reference=f"{DEEPSEEK}; k is their constant",
    published=(
        PublishedFit(
            name="deepseek2024-learning-rate",
            parameters={"k": 0.3118, "a": -0.1250},
            rounded=True,
            reference=DEEPSEEK,
            note=_REMEMBERED,
        ),
        PublishedFit(
            name="deepseek2024-batch",
            parameters={"k": 0.2920, "a": 0.3271},
            rounded=True,
            reference=DEEPSEEK,
            note=f"The batch in tokens. {_REMEMBERED}",
        ),
    ),
)

LAWS = (HYPERPARAMETER, HYPERPARAMETER_COMPUTE)
