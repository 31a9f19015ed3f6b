"""Not every parameter works on every token: experts, sparse weights, vocabularies."""

from __future__ import annotations

from forecast import LawSpec

__all__ = ["LAWS"]

MOE_CLARK = LawSpec(
    name="moe-clark",
    title="Loss of a routed model from its dense size and its (saturated) number of experts",
    expression="exp(a*log(N) + b*log(E_hat) + c*log(N)*log(E_hat) + d)",
    variables={"N": "param", "E_hat": ""},
    output="loss",
    unit="nat/token",
    objective="least_squares_log",
    example={"a": -0.082, "b": -0.108, "c": 0.009, "d": 2.4},
    domain={"N": (1e7, 1e10), "E_hat": (1.0, 512.0)},
    reference="Clark et al. 2022, Unified Scaling Laws for Routed Language Models, arXiv:2202.01169, eq. 1; logarithms "
    "are natural here. E_hat is their saturating transform of the number of experts",
)

MOE_GRANULARITY = LawSpec(
    name="moe-granularity",
    title="Loss of a mixture of experts from active size, tokens and the granularity of its experts",
    expression="c + (g_0*G**-gamma + a)*N**-alpha + b*D**-beta",
    variables={"N": "param", "D": "token", "G": ""},
    output="loss",
    unit="nat/token",
    positive=("c", "g_0", "gamma", "a", "alpha", "b", "beta"),
    objective="huber_log",
    example={"c": 0.47, "g_0": 2.1, "gamma": 0.58, "a": 18.1, "alpha": 0.115, "b": 30.8, "beta": 0.147},
    domain={"N": (1e6, 1e12), "D": (1e8, 1e14), "G": (1.0, 64.0)},
    reference="Krajewski et al. 2024, Scaling Laws for Fine-Grained Mixture of Experts, arXiv:2402.07871; the "
    "example parameters are remembered, not compared with the paper. g_0 is their g",
)

SPARSITY = LawSpec(
    name="sparsity",
    title="Loss from parameters that are not zero, tokens and the share that is",
    expression="(a_S*(1 - S)**b_S + c_S)*N**-b_N + (a_D/D)**b_D + c",
    variables={"N": "param", "D": "token", "S": ""},
    output="loss",
    positive=("a_S", "b_S", "c_S", "b_N", "a_D", "b_D", "c"),
    objective="huber_log",
    example={"a_S": 1.7e1, "b_S": 0.72, "c_S": 4.5e1, "b_N": 0.25, "a_D": 7e8, "b_D": 0.35, "c": 0.65},
    domain={"N": (5e5, 1e9), "D": (1e8, 1e12), "S": (0.0, 0.875)},
    reference="Frantar, Riquelme, Houlsby, Alistarh, Evci 2023, Scaling Laws for Sparsely-Connected Foundation "
    "Models, arXiv:2309.08520",
)

VOCABULARY = LawSpec(
    name="vocabulary",
    title="Loss against that of a unigram model, from parameters outside and inside the vocabulary, and characters",
    expression="-E + A1*N_nv**-alpha1 + A2*N_v**-alpha2 + B*H**-beta",
    variables={"N_nv": "param", "N_v": "param", "H": ""},
    output="loss",
    positive=("E", "A1", "alpha1", "A2", "alpha2", "B", "beta"),
    objective="least_squares",
    example={"E": 5.5, "A1": 150.0, "alpha1": 0.3, "A2": 25.0, "alpha2": 0.25, "B": 5000.0, "beta": 0.4},
    domain={"N_nv": (1e7, 1e11), "N_v": (1e5, 1e9), "H": (1e8, 1e13)},
    reference="Tao et al. 2024, Scaling Laws with Vocabulary, arXiv:2407.13623",
)

LAWS = (MOE_CLARK, MOE_GRANULARITY, SPARSITY, VOCABULARY)
