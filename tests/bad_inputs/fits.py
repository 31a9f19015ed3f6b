"""Bad inputs: what no fit may claim to know, and texts that no library may parse."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import forecast
from bad_inputs.table import Case, Row
from forecast.errors import TableError, UnitError
from forecast.laws import Law
from toolkit import noise, resource

LINE = "x,y\n" + "".join(f"{x},{2 * x + 1}\n" for x in range(1, 9))
#: NIST's BoxBOD, whose first start lies on a plateau.
BOXBOD = {"x": np.array([1.0, 2, 3, 5, 7, 10]), "y": np.array([109.0, 149, 149, 191, 213, 224])}


def no_parser(case: Case) -> None:
    """Fit, predict, print, differentiate and solve while the parsers of sympy and patsy raise."""
    import patsy
    import sympy.parsing.sympy_parser as parser

    patch = case.request.getfixturevalue("monkeypatch")
    for owner, name in ((parser, "parse_expr"), (parser, "eval_expr"), (patsy, "dmatrix"), (patsy, "dmatrices")):
        patch.setattr(owner, name, lambda *_, **__: pytest.fail("a text reached an evaluator"))
    law, x = Law("E + A*x**-a", variables=["x"], positive=["E", "A", "a"]), np.geomspace(1, 1e4, 20)
    fit = law.fit({"x": x, "y": (1 + 3 * x**-0.4) * noise(20)}, let={"x": "x*1"})
    assert fit.predict(x=[10.0])["median"].size == 1
    assert law.latex()
    assert law.formula.derivative("x").text
    assert law.formula.solve("A", 3.0)


def mixed_units(case: Case) -> None:
    fields = [{"name": "k", "type": "string"}, {"name": "speed", "type": "number", "unit": "TFLOP/s"},
              {"name": "speed_unit", "type": "string"}]  # fmt: skip
    text = "k,speed,speed_unit\na,1,TFLOP/s\nb,2,PFLOP/s\n"
    from toolkit import package

    forecast.table(package(case.folder, "chips", resource(case.folder, "chips", text, fields, "k")))


def flow_for_stock(case: Case) -> None:
    forecast.project(
        {"start": 2025, "until": 2030,
         "quantities": {"a": {"value": 1, "unit": "FLOP"}, "b": {"value": 1, "unit": "FLOP/s"},
                        "c": {"expression": "a + b"}}}, draws=8)  # fmt: skip


def half_seen(case: Case) -> str:
    """Fit a logistic curve to data before its midpoint: its capacity is not known well."""
    t = np.linspace(0, 8, 40)
    law = Law("K/(1 + exp(-r*(t - t0)))", variables=["t"], positive=["K", "r"])
    y = law.value({"K": 10.0, "r": 0.6, "t0": 10.0}, t=t) * noise(40, 0.05)
    fit = law.fit({"t": t, "y": y}, objective="least_squares_log")
    low, high = fit.interval("K", 0.95)
    assert low < 10 < high
    assert high > 2 * low
    return fit.verdict


def stopped(case: Case) -> str:
    """Fit where the search stops short: every form of the answer says so."""
    patch, whole = case.request.getfixturevalue("monkeypatch"), Law.fit

    def short(law: Law, *given: object, **options: object):
        fit = whole(law, *given, **options)
        fit.solutions.converged[:] = False
        return fit

    patch.setattr(Law, "fit", short)
    words = ("fit", "a + b*x", "--variables", "x", "--data", "runs.csv", "--y", "y")
    told, data = case.run(*words, "--out", "fit.nc"), case.run(*words, "--json")
    assert (told.code, data.code) == (1, 1)
    assert data.json["result"]["converged"] is False
    assert forecast.load("fit.nc").converged is False
    return told.out


def boxbod(start: dict[str, float]):
    def call(case: Case) -> None:
        fit = Law("b1*(1 - exp(-b2*x))", variables=["x"]).fit(BOXBOD, start=start)
        certified = {"b1": 213.80940889, "b2": 0.54723748542}
        right = fit.values == pytest.approx(certified, rel=1e-6)
        assert right if fit.converged else any("did not converge" in w for w in fit.warnings)

    return call


def edge(case: Case) -> None:
    """A break two years before the end of a series is none, since no segment is that short; one in the middle is."""
    t = np.arange(2000, 2040)
    for at in (2038.0, 2020.0):
        y = np.exp(0.5 * np.abs(t - at) + 0.01 * np.random.default_rng(0).standard_normal(40))
        model = forecast.trend(pd.DataFrame({"t": t, "y": y}), shape="trends/changepoint", x="t", y="y", unit="")
        facts = model.fit().describe().facts
        if at == 2020:
            assert float(facts["break"]) == pytest.approx(2020, abs=0.5)
        else:
            assert "break" not in facts or 2003 <= float(facts["break"]) <= 2035


def far_break(case: Case) -> str:
    """A break far beyond the data is not identified, and the fit is that of the plain power."""
    x = np.geomspace(1, 1e4, 40)
    data = {"x": x, "y": 3 * x**-0.3 * noise(40, 0.01, 3)}
    fit, single = forecast.law("scaling/broken-power").fit(data), forecast.law("scaling/power").fit(data)
    assert {"d1", "f1"} <= set(fit.diagnostics.unidentified)
    both = [f.law.value(f.values, x=x) for f in (fit, single)]
    np.testing.assert_allclose(*both, rtol=0.02)
    return fit.verdict


ROWS: tuple[Row, ...] = (
    Row(3, "texts for the parser of sympy", call=no_parser),
    Row(6, "texts for the parser of patsy", call=no_parser),
    Row(38, "two units in one column", call=mixed_units, raises=TableError, names=("chips",)),
    Row(38, "FLOP plus FLOP/s", call=flow_for_stock, raises=UnitError, names=("FLOP/s",)),
    Row(49, "a logistic curve before its midpoint", call=half_seen),
    Row(51, "a search that stops short", {"runs.csv": LINE}, call=stopped, names=("Not converged",)),
    Row(52, "BoxBOD from its first start", call=boxbod({"b1": 1.0, "b2": 1.0})),
    Row(52, "BoxBOD from a plateau", call=boxbod({"b1": 172.0, "b2": 500.0})),
    Row(90, "a change of growth at the edge", call=edge),
    Row(91, "a break that only the noise has", call=far_break, names=("not identified",)),
)  # fmt: skip
