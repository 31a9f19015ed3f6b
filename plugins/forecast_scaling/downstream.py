"""From loss, compute or attempts to what a model can do."""

from __future__ import annotations

from forecast import LawSpec, ProtocolSpec, PublishedFit
from forecast_scaling.sources import RUAN

__all__ = ["LAWS"]

OVER_TRAINING_ERROR = LawSpec(
    name="over-training-error",
    title="Downstream error from loss",
    expression="epsilon - k*exp(-gamma*L)",
    variables={"L": "nat/token"},
    output="error",
    positive=("epsilon", "k", "gamma"),
    objective="least_squares",
    example={"epsilon": 0.86, "k": 2.2, "gamma": 0.75},
    domain={"L": (2.0, 6.0)},
    reference="Gadre et al. 2024, Language models scale reliably with over-training and on downstream tasks, "
    "arXiv:2403.08540",
)

TWO_STEP = LawSpec(
    name="two-step",
    title="Accuracy from loss: a sigmoid between chance and a ceiling",
    expression="a/(1 + exp(-k*(L - L0))) + b",
    variables={"L": ""},
    output="accuracy",
    # (a, k, b) and (-a, -k, a + b) are one curve: a negative a falls with k*L
    bounds={"k": (0.0, float("inf"))},
    objective="least_squares",
    example={"a": -0.7, "k": 6.0, "L0": 1.0, "b": 0.95},
    domain={"L": (0.2, 2.0)},
    reference="Bhagia et al. 2024, Establishing Task Scaling Laws via Compute-Efficient Model Ladders, "
    "arXiv:2412.04403; the second step of Llama 3, arXiv:2407.21783. The first step is scaling/chinchilla on the loss "
    "of the task",
)

COMPUTE_SIGMOID = LawSpec(
    name="compute-sigmoid",
    title="Reward from compute in reinforcement learning: a sigmoid in log compute",
    expression="R0 + (A - R0)/(1 + (C_mid/C)**B)",
    variables={"C": ""},
    output="reward",
    # the curve with R0 and A exchanged and -B is the same one
    positive=("C_mid", "B"),
    objective="least_squares",
    example={"R0": 0.2, "A": 0.61, "C_mid": 2e3, "B": 1.9},
    domain={"C": (1e1, 1e5)},
    reference="Khatri et al. 2025, The Art of Scaling Reinforcement Learning Compute for LLMs, arXiv:2510.13786; "
    "C in GPU-hours",
)

_FLOP = {"C": "FLOPs (1E21)", "S": "log(C)"}
_TRAIN = ("C <= 84",)
_RUAN_NOTE = "S is the natural logarithm of FLOP/1e21, which the source's figure writes as a base-10 axis. "

OBSERVATIONAL = LawSpec(
    name="observational",
    title="Score from a capability: a sigmoid in one factor",
    expression="1/(1 + exp(-(beta*S + alpha)))",
    variables={"S": ""},
    output="score",
    objective="least_squares",
    example={"beta": 1.0, "alpha": -4.0},
    domain={"S": (-2.0, 9.0)},
    reference=f"{RUAN}, eq. 3 with one factor and a ceiling of 1; with S the log of compute their baseline",
    published=(
        PublishedFit(
            name="ruan2024-word-unscramble",
            parameters={"beta": 1.04, "alpha": -7.03},
            rounded=True,
            reference=f"{RUAN}, figure 4",
            note=f"{_RUAN_NOTE}Refitted: 1.044 and -7.027.",
        ),
        PublishedFit(
            name="ruan2024-persian-qa",
            parameters={"beta": 0.57, "alpha": -6.40},
            rounded=True,
            reference=f"{RUAN}, figure 4",
            note=f"{_RUAN_NOTE}The score is (accuracy - .25)/.75, not clipped at 0. Refitted: .570 and -6.403.",
        ),
    ),
    protocols=(
        ProtocolSpec(
            name="ruan2024",
            title="Least squares of word unscrambling on training compute, up to 8.4e22 FLOP",
            columns=_FLOP,
            keep=("present C", "present word_unscrambling_2_exact_match"),
            train=_TRAIN,
            y="word_unscrambling_2_exact_match",
            objective="least_squares",
            reference=f"{RUAN}, figure 4",
            note=_RUAN_NOTE + "The rows are the models of their two tables of base models, joined by name.",
        ),
        ProtocolSpec(
            name="ruan2024-persian-qa",
            title="Least squares of Persian question answering above chance on training compute, up to 8.4e22 FLOP",
            columns=_FLOP,
            keep=("present C", "present parsinlu_qa_2_acc"),
            train=_TRAIN,
            y="(parsinlu_qa_2_acc - 0.25)/0.75",
            objective="least_squares",
            reference=f"{RUAN}, figure 4",
            note=_RUAN_NOTE + "The rows are the models of their two tables of base models, joined by name.",
        ),
    ),
)

PASSUNTIL = LawSpec(
    name="passuntil",
    title="Chance of passing a task in one try, from parameters",
    expression="exp(-c*N**-alpha)",
    variables={"N": "param"},
    output="pass_rate",
    positive=("c", "alpha"),
    objective="least_squares",
    example={"c": 1e3, "alpha": 0.3},
    domain={"N": (3e7, 1e11)},
    reference="Hu et al. 2023, Predicting Emergent Abilities with Infinite Resolution Evaluation, arXiv:2310.03262; "
    "the noise of counted passes is binomial",
)

REPEATED_SAMPLING = LawSpec(
    name="repeated-sampling",
    title="Share of problems solved by any of k attempts",
    expression="exp(a*k**b)",
    variables={"k": ""},
    output="coverage",
    bounds={"a": (float("-inf"), 0.0), "b": (float("-inf"), 0.0)},
    objective="least_squares_log",
    example={"a": -1.8, "b": -0.35},
    domain={"k": (1.0, 1e4)},
    reference="Brown et al. 2024, Large Language Monkeys, arXiv:2407.21787",
)

LOSS_THRESHOLD = LawSpec(
    name="loss-threshold",
    title="Score at chance until the loss falls below a threshold, and rising from there",
    expression="chance + a*max(0, eta - L)",
    variables={"L": "nat/token"},
    output="score",
    positive=("a", "eta"),
    objective="least_squares",
    example={"chance": 0.25, "a": 0.5, "eta": 2.2},
    domain={"L": (1.5, 3.5)},
    reference="Du, Zeng, Dong, Tang 2024, Understanding Emergent Abilities from the Loss Perspective, "
    "arXiv:2403.15796, eq. 3, which leaves the rise open; the straight line is that of Snell et al. 2024, "
    "arXiv:2411.16035",
)

LAWS = (
    OVER_TRAINING_ERROR,
    TWO_STEP,
    COMPUTE_SIGMOID,
    OBSERVATIONAL,
    PASSUNTIL,
    REPEATED_SAMPLING,
    LOSS_THRESHOLD,
)
