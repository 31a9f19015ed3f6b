"""An objective of one's own is one class and its record: then a fit does with it what it does with ours."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
import pytest
from scipy.optimize import minimize

import forecast
from forecast.conformance.kit import run_checks
from forecast.errors import DataError, PluginError, UnknownNameError, UsageError
from forecast.fit.objectives import OBJECTIVES, Objective, Option, RowRule

LAW = forecast.Law("E + b*x**-c", variables=["x"], positive=["E", "b", "c"])
X = np.geomspace(1, 1e4, 30)
Y = (0.5 + 3 * X**-0.4) * np.exp(0.03 * np.random.default_rng(0).standard_t(2, (3, 30)))
CURVES = {"x": np.tile(X, 3), "y": Y.ravel(), "curve": np.repeat(["a", "b", "c"], 30)}
WIDTH = 0.02


class LogCosh(Objective):
    """Between squares and absolute values; it takes no loss above 100."""

    options: ClassVar[Mapping[str, Option]] = {"span": Option(WIDTH, below=10.0)}

    def pointwise(self, f, y, options):
        z = (f - y) / options["span"]
        value = options["span"] ** 2 * (np.logaddexp(z, -z) - np.log(2))
        return value, options["span"] * np.tanh(z), 1 - np.tanh(z) ** 2

    def row_rules(self, y, columns) -> Iterator[RowRule]:
        yield RowRule(y > 100, "{y:g} is above 100", numbers={"y": y})


class NoRules(LogCosh):
    def row_rules(self, y, columns):
        return None


class Abstract(Objective):
    pass


#: What is wrong with a loss, made of those of `LogCosh`, and what is said of it; of classes below only that.
FAULTS = {
    "OneSum": (lambda f, y, v: (v[0].sum(), f, f), "derivatives, (3, 40) each, got () and (3, 40)"),
    "TwoParts": (lambda f, y, v: v[:2], "(3, 40) each, got (3, 40) and (3, 40)"),
    "Writes": (lambda f, y, v: np.subtract(f, y, out=f), "pointwise writes into its inputs"),
    "Slope": (lambda f, y, v: (v[0], 2 * v[1], v[2]), "pointwise: the first derivative is"),
    "Couples": (lambda f, y, v: (v[0] + f.mean(axis=0), *v[1:]), "a fit among others has another loss than alone"),
}
SAID = {"NoRules": "row_rules: TypeError", "Abstract": "expected a subclass of", "Iterator": "expected a subclass of"}
for name, (fault, says) in FAULTS.items():
    own = {"pointwise": lambda self, f, y, o, fault=fault: fault(f, y, LogCosh.pointwise(self, f, y, o))}
    globals()[name], SAID[name] = type(name, (LogCosh,), own), says


def record(name, *, log=False, of=None):
    """Return the record of a class of this module, or of an objective of ours."""
    target = f"{type(of).__module__}:{type(of).__name__}" if of else f"{__name__}:{name}"
    return forecast.ObjectiveSpec(name=name.lower().replace("_", "-"), target=target, log=log, reference="r")


@pytest.fixture(autouse=True)
def registered():
    ours = [record(f"our_{name}", log=each.log, of=each) for name, each in OBJECTIVES.items()]
    forecast.register(record("LogCosh"), *map(record, SAID), *ours, name="own")
    forecast.register(record("cosh", log=True, of=LogCosh("x")), name="log")
    yield
    forecast.unregister("own")
    forecast.unregister("log")


def written_out(u, y, log):
    """Return the objective of logarithms of the parameters, written a second time."""
    law = np.exp(u[0]) + np.exp(u[1]) * X ** -np.exp(u[2])
    r = np.log(law / y) if log else law - y
    return WIDTH**2 * np.sum(np.log(np.cosh(r / WIDTH)))


@pytest.mark.parametrize("log", [False, True])
def test_it_ends_where_scipy_does(log):
    fit = LAW.fit({"x": X, "y": Y[0]}, objective="log/cosh" if log else "logcosh")
    best = minimize(written_out, np.log([0.4, 2.5, 0.5]), (Y[0], log), method="BFGS", options={"gtol": 1e-10})
    assert fit.converged
    assert fit.objective == pytest.approx(best.fun, rel=1e-9)
    assert list(fit.values.values()) == pytest.approx(np.exp(best.x), rel=1e-4)
    assert fit.log == log


def test_its_standard_errors_are_the_sandwich():
    fit = LAW.fit({"x": X, "y": Y[0]}, objective="own/logcosh")
    p = np.array(list(fit.values.values()))

    def slopes(p):
        return np.array([np.ones(30), X ** -p[2], -p[1] * np.log(X) * X ** -p[2]])

    z = (LAW.value(fit.values, x=X) - Y[0]) / WIDTH
    scores = slopes(p) * WIDTH * np.tanh(z)
    curvature = (slopes(p) * (1 - np.tanh(z) ** 2)) @ slopes(p).T
    bends = np.zeros((3, 3))
    bends[1, 2] = bends[2, 1] = np.sum(WIDTH * np.tanh(z) * -np.log(X) * X ** -p[2])
    bends[2, 2] = np.sum(WIDTH * np.tanh(z) * p[1] * np.log(X) ** 2 * X ** -p[2])
    bread = np.linalg.inv(curvature + bends)
    table = bread @ (scores @ scores.T) @ bread * 30 / 27
    assert [float(fit.stderr[n]) for n in LAW.parameters] == pytest.approx(np.sqrt(np.diag(table)), rel=1e-5)


def test_many_curves_bootstraps_and_files_take_it(tmp_path):
    fits = LAW.fit(CURVES, by="curve", objective="log/cosh", options={"span": 0.05})
    assert fits.converged.all()
    one = LAW.fit({"x": X, "y": Y[1]}, objective="log/cosh", options={"span": 0.05}, bootstrap=40)
    for name in LAW.parameters:
        assert float(fits.params[name][1]) == pytest.approx(one.values[name], rel=1e-8)
    low, high = one.interval("c", method="bootstrap")
    assert low < one.values["c"] < high
    again = forecast.load(one.save(tmp_path / "own.nc"))
    assert again.values == one.values
    assert again.objective == one.objective


def test_its_own_rule_and_options_are_held_to():
    wrong = {**CURVES, "y": np.where(np.arange(90) == 34, 200.0, CURVES["y"])}
    with pytest.raises(DataError, match=r"200 is above 100 in row 35 of 90"):
        LAW.fit(wrong, objective="own/logcosh")
    fits = LAW.fit(wrong, by="curve", objective="own/logcosh")
    assert [str(text).partition(";")[0] for text in fits.outcome.values] == [
        "converged", "not fitted: 200 is above 100", "converged",
    ]  # fmt: skip
    with pytest.raises(DataError, match=r"takes the log of y, which is not positive in rows .* of 30"):
        LAW.fit({"x": X, "y": Y[0] - Y[0][0]}, objective="log/cosh")
    with pytest.raises(UsageError, match="span: expected a number between 0 and 10, got 11"):
        LAW.fit(CURVES, objective="own/logcosh", options={"span": 11})
    with pytest.raises(UnknownNameError, match="did you mean 'own/logcosh'"):
        LAW.fit(CURVES, objective="own/logcosch")


def test_the_unit_of_a_variable_is_no_matter():
    # its width has the unit of y, of which it is not told: only the variables move to their own size
    one, two = (LAW.fit({"x": X * s, "y": Y[0]}, objective="own/logcosh") for s in (1, 1e-12))
    assert two.converged
    assert two.values["c"] == pytest.approx(one.values["c"], rel=1e-7)
    assert two.values["b"] == pytest.approx(one.values["b"] * 1e-12 ** one.values["c"], rel=1e-6)


def test_the_kit_holds_every_objective_to_its_derivatives_and_names_what_is_wrong():
    outcomes = {each.label.partition(":")[0]: each for each in run_checks("own") if "objective" in each.label}
    ours = [outcomes[f"objective our-{name.replace('_', '-')}"] for name in OBJECTIVES]
    assert [each.status for each in (outcomes["objective logcosh"], *ours)] == ["passed"] * 12
    for name, says in SAID.items():
        assert outcomes[f"objective {name.lower()}"].status == "failed"
        assert says in outcomes[f"objective {name.lower()}"].message


@pytest.mark.parametrize("name", ["onesum", "twoparts", "norules", "writes", "abstract", "iterator"])
def test_a_fit_says_in_one_sentence_what_is_wrong_with_its_objective(name):
    with pytest.raises(PluginError, match=f"^objective 'own/{name}': .") as problem:
        LAW.fit({"x": X, "y": Y[0]}, objective=name)
    assert "\n" not in str(problem.value)


def test_a_bare_name_of_ours_stays_ours():
    forecast.register(record("poisson", of=LogCosh("x")), name="fish")
    fit = LAW.fit({"x": X, "y": np.round(9 * Y[0])}, objective="poisson")
    assert fit.objective_name == "poisson"
    own, same = (LAW.fit({"x": X, "y": Y[0]}, objective=name).values for name in ("fish/poisson", "logcosh"))
    forecast.unregister("fish")
    assert own == same
