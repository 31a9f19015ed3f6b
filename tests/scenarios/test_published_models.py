"""Published forecasting models, written in the language of scenarios alone, print what their authors' code prints."""

from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast.base.dates import decimal_year


def number(value):
    return {"value": value, "unit": ""}


def years(run, question):
    """Return the dates of a question, (draw,); infinite where it never comes."""
    dates = decimal_year(run["questions"][f"{question}_date"].values)
    return np.where(np.isnan(dates), np.inf, dates)


#: Kwa 2026, "A model of AI R&D automation in eight parameters": factors a year of compute and of labour.
COMPUTE = [[2026, 2.6], [2029, 2.0], *[[2025 + n, 2 - 0.75 * (n - 5) / 28] for n in range(5, 33)], [2058, 1.25]]
KWA = {
    "start": 2026, "until": 2045, "step": "1/48",
    "quantities": {
        "inverse_v": number(2.85), "f0": number(0.375), "compute_share": number(0.235), "returns": number(0.9),
        "b": number(0.65),
        "C": {"schedule": COMPUTE, "as": "rate"},
        "L": {"schedule": [[2026, 2.0], [2029, 1.1]], "as": "rate"},
        "alpha": {"expression": "compute_share*returns"}, "zeta": {"expression": "returns - alpha"},
        "log_E": {"expression": "-log(f0/(1 - f0))*inverse_v"},
        "f": {"expression": "min(logistic((log(C*S) - log_E)/inverse_v), 0.999999)"},
    },
    "stocks": {"S": {"initial": 1, "log_rate": "k*(L/(1 - f))**alpha*C**zeta*S**(-b)", "method": "rk4"}},
    "solve": {"k": {"so": "log_rate(S) == log(5)", "at": "start"}},
    "questions": {"automation": {"when": "f >= 0.99"}},
}  # fmt: skip
UNCERTAIN = {
    "inverse_v": {"triangular": [1.5, 2.85, 4.2]}, "f0": {"triangular": [0.25, 0.375, 0.5]},
    "compute_share": {"triangular": [0.12, 0.235, 0.35]}, "returns": {"triangular": [0.8, 0.9, 1.0]},
    "b": {"triangular": [0.3, 0.65, 1.0]},
}  # fmt: skip


def test_kwa_2026_at_its_midpoints():
    run = forecast.project(KWA, draws=1)
    assert years(run, "automation")[0] == pytest.approx(2033.06453, abs=1e-4)
    data = run["projection"].to_dataset()
    assert np.log10(data["S"].sel(time="2035-01-01").values.ravel()[0]) == pytest.approx(4.65726, abs=1e-4)


@pytest.mark.slow
def test_kwa_2026_with_its_uncertainty():
    quantities = {**KWA["quantities"], **{n: {**v, "unit": ""} for n, v in UNCERTAIN.items()}}
    run = forecast.project({**KWA, "until": 2070, "step": "1/12", "quantities": quantities}, draws=4096)
    found = np.quantile(years(run, "automation"), [0.1, 0.25, 0.5, 0.75, 0.9])
    np.testing.assert_allclose(found, [2030.31, 2031.40, 2032.87, 2034.59, 2036.19], rtol=0, atol=0.1)


def months(low, high):
    return {"lognormal": [low, high], "width": 0.8, "unit": ""}


#: A Gaussian copula of .7, as a rank correlation.
RANK = 6 / np.pi * np.arcsin(0.7 / 2)
#: Lifland and Jurkovic 2025, the timelines forecast of AI 2027, horizon extension, April (Eli), in months of work.
AI_2027_A = {
    "start": 2024.25, "until": 2050, "step": "1/24",
    "quantities": {
        "goal": months(1, 14400), "doubling": months(2.5, 9), "extra": months(0.5, 30),
        "kind": {"draw": {"super": 0.45, "sub": 0.10, "exponential": 0.45}},
        "faster_now": months(0.03, 0.3), "faster_then": months(1.5, 40), "delay": months(0.25, 6),
        "n": {"expression": "log2(goal/(15/10020))"},
        "extension": {"expression": "where(kind == 'super', (1 - 0.9**n)/0.1,"
                                    " where(kind == 'sub', (1.1**n - 1)/0.1, n))*doubling"},
        "base": {"expression": "max(extension + extra, 0.01)"},
        "v": {"expression": "(1 + faster_now)*((1 + faster_then)/(1 + faster_now))**(progress/base)"},
        "speed": {"expression": "where(t >= 2029, sqrt(0.5*v*(v - 0.5)), v)"},
        "compute": {"expression": "where(t >= 2029, 0.5, 1)"},
    },
    "stocks": {"progress": {
        "initial": 0, "rate": "where(t >= 2025.25 - delay/12, 12*(speed + compute)/2, 0)", "ceiling": "1.5*base"}},
    "correlations": [
        {"of": ["doubling", "extra", "kind"], "rho": RANK}, {"of": ["faster_now", "faster_then"], "rho": RANK},
    ],
    "questions": {"superhuman_coder": {"when": "progress >= base", "dates": [2028]}},
}  # fmt: skip


@pytest.mark.slow
def test_ai_2027_horizon_extension():
    run = forecast.project(AI_2027_A, draws=5000)
    dates = years(run, "superhuman_coder")
    early, middle, late = np.quantile(dates, [0.1, 0.5, 0.9], method="inverted_cdf")
    assert early == pytest.approx(2025.83, abs=0.05)
    assert middle == pytest.approx(2027.68, abs=0.15)
    assert late == pytest.approx(2039.5, abs=0.8)
    assert np.mean(dates < 2028) == pytest.approx(0.535, abs=0.015)
