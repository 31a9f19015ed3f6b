"""What the verdict finds is in the warnings: in Python, on the screen and in JSON."""

import json

import numpy as np
import pytest

from forecast import Law

LINE = Law("a + b*x", variables=["x"])
LOGISTIC = Law("K/(1 + exp(-r*(t - t0)))", variables=["t"], positive=["K", "r"])


@pytest.fixture
def outlier():
    x = np.geomspace(10, 1e4, 24)
    y = 1 + 2 * x / 1e3 + 0.1 * np.random.default_rng(0).standard_normal(24)
    y[5] *= 1e6
    return {"x": x, "y": y}


def half_seen():
    t = np.linspace(0, 10, 20)
    noise = 1 + 0.03 * np.random.default_rng(1).standard_normal(20)
    return {"t": t, "y": 100 / (1 + np.exp(-0.6 * (t - 12))) * noise}


def test_one_gross_error_is_warned_of(outlier):
    fit = LINE.fit(outlier)
    assert "row 6 decides" in fit.verdict
    assert any("row 6 decides" in line for line in fit.warnings)


def test_a_half_seen_logistic_is_warned_of():
    fit = LOGISTIC.fit(half_seen())
    assert "t0: may lie above the data" in fit.verdict
    assert any("parameter 't0' may lie above the data" in line for line in fit.warnings)


def test_a_good_fit_has_no_warnings():
    x = np.linspace(1, 9, 30)
    fit = LINE.fit({"x": x, "y": 1 + x + 0.1 * np.random.default_rng(2).standard_normal(30)})
    assert fit.warnings == ()


def test_a_fit_waits_with_its_judgement_until_it_is_asked(outlier):
    fit = LINE.fit(outlier)
    assert "diagnostics" not in vars(fit)
    assert fit.warnings
    assert "diagnostics" in vars(fit)


def test_few_agreeing_starts_are_a_warning():
    from forecast.fit.solve.multistart import MIN_AGREEING_SHARE

    x = np.linspace(0.1, 30, 60)
    y = np.sin(2.2 * x) + 0.5 * np.cos(7.1 * x) + 0.1 * np.random.default_rng(3).standard_normal(60)
    fit = Law("a*sin(b*x + c) + d*cos(e*x + f)", variables=["x"]).fit({"x": x, "y": y})
    agree, total = fit.starts
    assert any("starts led to the best objective" in line for line in fit.warnings) == (
        agree < MIN_AGREEING_SHARE * total
    )


@pytest.mark.parametrize("extra", [[], pytest.param(["--json"], marks=pytest.mark.slow)])
def test_the_command_prints_them(command_line, tmp_path, outlier, extra):
    table = tmp_path / "rows.csv"
    rows = zip(outlier["x"].tolist(), outlier["y"].tolist(), strict=True)
    table.write_text("x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in rows))
    done = command_line("fit", "a + b*x", "--variables", "x", "--data", str(table), *extra)
    told = " ".join(json.loads(done.stdout)["warnings"]) if extra else done.stderr
    assert "row 6 decides" in told
