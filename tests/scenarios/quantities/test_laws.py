"""Laws in scenarios: published, saved, or fitted to data of one's own; how they are wired, drawn and refused."""

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.errors import DataError, FitError, ForecastError, ResultError, ScenarioError, UnitError, UnknownNameError
from forecast.scenarios.graph import build
from toolkit import training_runs

SIZES = {"size": {"lognormal": [1e9, 1e10], "unit": "param"}, "tokens": {"value": 1e11, "unit": "token"}}
WIRED = {"N": "size", "D": "tokens"}
PUBLISHED = {"law": "scaling/chinchilla@besiroglu2024", **WIRED}
STATED = {"law": "scaling/chinchilla@besiroglu2024-mle", **WIRED}


def mapping(loss, **more):
    return {"start": 2025, "until": 2026, "quantities": {**SIZES, "loss": loss}, **more}


def run(loss, draws=100, **more):
    return forecast.project(mapping(loss, **more), draws=draws)


def posterior(run, name="loss"):
    return {n: v.values for n, v in run[f"posterior/{name}"].to_dataset().data_vars.items()}


@pytest.fixture
def runs(tmp_path):
    """Runs of a law of one variable, with a hole."""
    rng = np.random.default_rng(1)
    size = np.geomspace(1e6, 1e9, 30)
    loss = (1.7 + 400 * size**-0.34) * np.exp(0.01 * rng.standard_normal(30))
    rows = "\n".join(
        f"{n:.6g},{y:.6g},{'a' if i % 2 else 'b'}" for i, (n, y) in enumerate(zip(size, loss, strict=True))
    )
    path = tmp_path / "runs.csv"
    path.write_text(f"N,loss,kind\n{rows}\n1e9,,a\n", encoding="utf-8")
    return path


def own(path, **keys):
    return {"law": "E + A*N**-alpha", "variables": {"N": "param"}, "data": str(path), "y": "loss", "N": "size",
            "objective": "huber_log", **keys}  # fmt: skip


# --- published -------------------------------------------------------------------------------------------------------


def test_a_law_is_computed_draw_by_draw():
    made = run(STATED)
    p, level = posterior(made), made["projection"].to_dataset()
    expected = p["E"] + p["A"] * level["size"].values ** -p["alpha"] + p["B"] * level["tokens"].values ** -p["beta"]
    assert level["loss"].values == pytest.approx(expected, rel=1e-12)
    assert level["loss"].attrs["units"] == "nat/token"


def test_parameters_without_a_stated_uncertainty_are_fixed_and_say_so():
    made = run(PUBLISHED)
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    assert {n: set(v) for n, v in posterior(made).items()} == {n: {v} for n, v in fit.values.items()}
    assert "loss: its parameters are fixed: the source states no uncertainty of them" in str(made.warnings)


def test_parameters_with_standard_errors_alone_are_drawn_independently_and_within_bounds():
    made = run(STATED, draws=4096)
    drawn = posterior(made)
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024-mle")
    for name in ("E", "alpha", "beta"):  # far from their bounds
        assert drawn[name].mean() == pytest.approx(fit.values[name], abs=0.1 * fit.published.stderr[name])
        assert drawn[name].std() == pytest.approx(fit.published.stderr[name], rel=0.05)
    assert (drawn["B"] > 0).all()  # 1.6 standard errors from it
    assert np.abs(np.corrcoef(list(drawn.values())) - np.eye(5)).max() < 0.06
    assert "drawn independently" in str(made.warnings)
    assert "standard errors, and not how they vary together; cut off at the bounds of" in str(made.attributes["models"])


def test_the_parameters_are_drawn_once_a_world_from_the_stream_of_the_fit():
    one, more = run(STATED, draws=50), run(STATED, draws=200)
    other = forecast.project(
        mapping(STATED)
        | {"quantities": {**SIZES, "other": STATED, "loss": STATED, "size": {"value": 2e9, "unit": "param"}}},
        draws=200,
    )
    for name, values in posterior(more).items():
        assert posterior(one)[name].tolist() == values[:50].tolist()
        assert posterior(other)[name].tolist() == values.tolist()  # whatever else there is
        assert posterior(other, "other")[name].tolist() == values.tolist()  # one fit in two quantities
    level = more["projection"]["loss"].values
    assert (level[0] == level[-1]).all()


def test_the_plugin_of_a_law_is_among_those_behind_the_result():
    assert '"scaling"' in run(PUBLISHED).to_xarray().attrs["plugins"]


def test_the_law_is_a_choice():
    made = run(
        {"law": "scaling/chinchilla@{source}", **WIRED}, choices={"source": ["besiroglu2024-mle", "hoffmann2022"]}
    )
    level = made["projection"]["loss"]
    assert level.dims[-1] == "source"
    alone = run(STATED)["projection"]["loss"].values
    assert level.sel(source="besiroglu2024-mle").values.tolist() == alone.tolist()  # the quantity's stream
    assert sorted(made["posterior"].children) == ["loss@besiroglu2024-mle", "loss@hoffmann2022"]


def test_a_law_is_a_choice_by_its_whole_name():
    made = run(
        {"law": "{law}", **WIRED}, choices={"law": ["scaling/chinchilla@hoffmann2022", "scaling/kaplan@kaplan2020"]}
    )
    assert np.isfinite(made["projection"]["loss"]).all()
    for name in ("scaling/chinchilla@hoffmann2022", "scaling/kaplan@kaplan2020"):
        assert set(posterior(made, f"loss@{name}")) == set(forecast.law(name.partition("@")[0]).parameters)


# --- saved and fitted ------------------------------------------------------------------------------------------------


def test_a_saved_fit_is_drawn_jointly(tmp_path):
    fit = forecast.law("scaling/chinchilla").fit(training_runs(), y="loss", objective="huber_log")
    fit.save(tmp_path / "runs.nc")
    made = run({"law": "scaling/chinchilla", "fit": str(tmp_path / "runs.nc"), **WIRED}, draws=4096)
    drawn = posterior(made)
    for name in ("alpha", "beta"):
        assert np.median(drawn[name]) == pytest.approx(fit.values[name], rel=0.02)
    stated = fit.covariance.sel(parameter="A", other="alpha") / np.sqrt(
        fit.covariance.sel(parameter="A", other="A") * fit.covariance.sel(parameter="alpha", other="alpha")
    )
    assert np.corrcoef(np.log(drawn["A"]), drawn["alpha"])[0, 1] == pytest.approx(float(stated), abs=0.05)
    assert '"runs.nc": "sha256:' in made.to_xarray().attrs["data"]


def test_a_law_as_text_is_fitted_to_data(runs):
    made = run(own(runs))
    assert np.median(posterior(made)["alpha"]) == pytest.approx(0.34, abs=0.05)
    assert "1 row without a value left out" in str(made.attributes["models"])
    assert '"runs.csv": "sha256:' in made.to_xarray().attrs["data"]
    again = run(own(runs))
    assert made["projection"]["loss"].values.tobytes() == again["projection"]["loss"].values.tobytes()
    assert np.median(posterior(run(own(runs), draws=1024))["E"]) == pytest.approx(fitted(runs).values["E"], rel=1e-3)


def fitted(path):
    """Fit the same law without a scenario."""
    rows = np.genfromtxt(path, delimiter=",", names=True, usecols=(0, 1))
    rows = rows[~np.isnan(rows["loss"])]
    law = forecast.Law("E + A*N**-alpha", variables=["N"])
    return law.fit({"N": rows["N"], "loss": rows["loss"]}, y="loss", objective="huber_log")


def test_rows_are_kept_by_where_and_columns_by_let(runs):
    every, some = run(own(runs)), run(own(runs, where={"kind": "a"}))
    assert "30 points" in str(every.attributes["models"])
    assert "15 points" in str(some.attributes["models"])
    halved = {k: v for k, v in own(runs).items() if k != "N"}
    halved |= {"law": "E + A*M**-alpha", "variables": {"M": "param"}, "let": {"M": "N/2"}, "M": "size"}
    a, b = posterior(every)["A"], posterior(run(halved))["A"]
    assert np.median(b / a) == pytest.approx(2 ** -fitted(runs).values["alpha"], rel=0.01)


def test_the_data_are_a_choice_and_their_path_stays_in_the_folder(runs):
    text = """
    start = 2025
    until = 2026
    [choices]
    set = [{values}]
    [quantities.size]
    value = 1e7
    unit = "param"
    [quantities.loss]
    law = "E + A*N**-alpha"
    variables = {{ N = "param" }}
    data = "{{set}}.csv"
    y = "loss"
    N = "size"
    """
    (runs.parent / "other.csv").write_text(runs.read_text(encoding="utf-8"), encoding="utf-8")
    path = runs.parent / "mine.toml"
    path.write_text(text.format(values='"runs", "other"'), encoding="utf-8")
    made = forecast.project(path, draws=20)
    assert made["projection"]["loss"].dims[-1] == "set"
    path.write_text(text.format(values='"runs", "../runs"'), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"loss\.data: '\.\./runs\.csv' leaves the scenario's folder"):
        forecast.project(path, draws=20)


def test_a_saved_fit_stays_in_the_folder(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[quantities.x]\nlaw = "scaling/chinchilla"\nfit = "../runs.nc"\n', encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"quantities\.x\.fit: '\.\./runs\.nc' leaves the scenario's folder"):
        Scenario.load(path)


def test_the_scatter_of_one_observation_is_added_when_asked_for(runs):
    level, observed = (
        run(own(runs, scatter=scatter), draws=1024)["projection"]["loss"].values for scatter in (False, True)
    )
    residual = np.log(observed / level)
    assert residual.std() == pytest.approx(fitted(runs).residual_scale, rel=0.05)
    assert (residual[0] != residual[1]).all()  # an observation each step
    with pytest.raises(FitError, match=r"loss.*scatter: the source states no scatter"):
        run({**PUBLISHED, "scatter": True})


def test_far_outside_the_data_warns(runs):
    far = run(own(runs), quantities={"loss": own(runs), "size": {"value": 1e13, "unit": "param"}})
    assert "N is 1e+13 in the median draw, 4.0 decades outside the data it was fitted to" in str(far.warnings)
    near = run(own(runs), quantities={"loss": own(runs), "size": {"value": 1e8, "unit": "param"}})
    assert "outside" not in str(near.warnings)


def test_where_the_law_has_no_value_it_says_so():
    negative = {"normal": [-3e9, 1e9], "unit": "param"}
    with pytest.raises(DataError, match=r"loss: the law has no value in \d+ of 512 cases; it was given N -"):
        run(PUBLISHED, quantities={**SIZES, "size": negative, "loss": PUBLISHED})


# --- refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "error", "said"),
    [
        ({"law": "scaling/chinchila@besiroglu2024", **WIRED}, UnknownNameError,
         r"quantities\.loss\.law.*'scaling/chinchila'; did you mean 'scaling/chinchilla'"),
        ({"law": "scaling/chinchilla@besiroglu2025", **WIRED}, UnknownNameError,
         r"quantities\.loss\.law: .*'besiroglu2025'; did you mean 'besiroglu2024'"),
        ({"law": "scaling/chinchilla", **WIRED}, ScenarioError, r"has no parameters: expected published ones .*@bes"),
        ({**PUBLISHED, "C": "size"}, UnknownNameError, r"quantities\.loss: unknown variable of the law .*'C'"),
        ({**PUBLISHED, "scater": "size"}, UnknownNameError, r"'scater'; did you mean 'scatter'"),
        ({"law": PUBLISHED["law"], "N": "size"}, ScenarioError,
         r'quantities\.loss\.D: is missing: .* N \[param\], D \[token\]: D = "QUANTITY" in token'),
        ({**PUBLISHED, "N": "sise"}, UnknownNameError, r"quantities\.loss\.N: unknown .*'sise'; did you mean 'size'"),
        ({**PUBLISHED, "N": 1e9}, ScenarioError, r"quantities\.loss\.N: expected the name of a quantity, got 1"),
        ({**PUBLISHED, "N": "tokens"}, UnitError, r"quantities\.loss: input 'N' of model 'loss' from 'tokens'"),
        ({**PUBLISHED, "y": "loss"}, ScenarioError, r"loss\.y: says how a law is fitted: give data with it"),
        ({**PUBLISHED, "unit": "nat"}, ScenarioError, r"loss\.unit: is that of the law"),
        ({**PUBLISHED, "data": "runs.csv"}, ScenarioError, r"loss\.data: .* names published parameters: give"),
        ({**PUBLISHED, "fit": "runs.nc"}, ScenarioError, r"loss\.fit: .* names published parameters: give"),
        ({**PUBLISHED, "fit": "a.nc", "data": "b.csv"}, ScenarioError, r"a saved fit or data .*, and not both"),
        ({"law": "scaling/chinchilla", "fit": "nowhere.nc", **WIRED}, ResultError, r"nowhere\.nc: no such file"),
        ({"law": "a*x", "variables": ["y"], "data": "r.csv"}, ScenarioError, r"loss\.variables: 'y' is a key here"),
        ({"law": "a*x +", "variables": ["x"], "data": "r.csv"}, ForecastError, r"quantities\.loss\.law: "),
        ({"law": "a*x", "variables": 3, "data": "r.csv"}, ScenarioError, r"loss\.variables: expected a list of texts"),
        ({"law": "scaling/chinchilla@{which}", **WIRED}, UnknownNameError, r"loss\.law: unknown choice 'which'"),
        ({**PUBLISHED, "scatter": 1}, ScenarioError, r"loss\.scatter: expected true or false"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(record, error, said):
    with pytest.raises(error, match=said):
        build(Scenario.from_dict(mapping(record)))


def test_a_fit_of_another_law_is_refused(tmp_path):
    forecast.law("scaling/kaplan").published("kaplan2020").save(tmp_path / "k.nc")
    with pytest.raises(ScenarioError, match=r"quantities\.loss\.fit: is a fit of '.*', and not of '"):
        build(Scenario.from_dict(mapping({"law": "scaling/chinchilla", "fit": str(tmp_path / "k.nc"), **WIRED})))
