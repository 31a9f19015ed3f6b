"""Where two distributions offer one name, the user can say whose."""

import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast.errors import ConflictError, UnknownNameError
from toolkit import plugin_module

SOURCE = """
def forecast_laws():
    yield LawSpec(name="line", variables={{"x": ""}}, expression="a*x + {offset}", reference="r")

def forecast_models():
    rate = Input(name="rate", unit="FLOP/s", distribution={{"value": {offset}}}, source="s")
    yield EstimateSpec(name="speed", unit="FLOP/s", expression="2*rate", inputs=(rate,), reference="r")
    yield TrendSpec(name="fastest", unit="TFLOP/s", table="datasets/supercomputers", x="date", y="rmax_top1",
                    shape="trends/exponential", reference="r")
"""


@pytest.fixture
def clash(fake_plugins):
    fake_plugins.add("demo", SOURCE.format(offset=1), distribution="first.maker")
    fake_plugins.add("demo", SOURCE.format(offset=2), distribution="second-maker")
    fake_plugins.add("alone", SOURCE.format(offset=3).replace("line", "rule"), distribution="third-maker")


def test_the_error_says_how_to_name_one(clash):
    with pytest.raises(ConflictError, match=r"resolves to neither; name one: 'first.maker::demo/line'$"):
        get_registry().find("law", "demo/line")


@pytest.mark.parametrize(("maker", "offset"), [("first.maker", 1.0), ("second-maker", 2.0)])
def test_one_can_be_named_in_full_or_bare(clash, maker, offset):
    for name in ("demo/line", "line"):
        found = get_registry().find("law", f"{maker}::{name}")
        assert (found.full_name, found.plugin.distribution) == (f"{maker}::demo/line", maker)
    law = forecast.law(f"{maker}::demo/line")
    assert law.value({"a": 0.0}, x=[0.0])[0] == offset


def test_a_name_that_does_not_clash_keeps_its_name(clash):
    assert get_registry().find("law", "third-maker::alone/rule").full_name == "alone/rule"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("first.makr::demo/line", "unknown distribution 'first.makr'; did you mean 'first.maker'?"),
        ("first.maker::demo/lime", "unknown law 'demo/lime'; did you mean 'demo/line'?"),
        ("third-maker::demo/line", "unknown law 'demo/line'"),
        ("::demo/line", "unknown distribution ''"),
        ("first.maker::", "unknown law ''"),
    ],
)
def test_an_unknown_one_is_said(clash, name, says):
    with pytest.raises(UnknownNameError) as refused:
        get_registry().find("law", name)
    assert says in str(refused.value)


def test_both_stand_in_one_scenario_and_its_result_says_whose(clash, tmp_path):
    quantities = {
        "first": {"model": "first.maker::demo/speed"},
        "second": {"model": "second-maker::demo/speed"},
        "series": {"model": "second-maker::demo/fastest", "shape": "trends/changepoint"},
    }
    settings = {"second-maker::demo/speed.rate": 5.0}
    scenario = {"start": 2026, "until": 2028, "quantities": quantities}
    run = forecast.project(scenario, draws=10, with_=settings)
    assert (run["projection"]["first"] == 2.0).all()
    assert (run["projection"]["second"] == 10.0).all()
    assert "datasets/supercomputers" in run.to_xarray().attrs["data"]
    plugins = run.to_xarray().attrs["plugins"]
    assert "first.maker" in plugins
    assert "second-maker" in plugins
    assert "third-maker" not in plugins


def test_results_and_fits_keep_whose_it_is(clash, tmp_path, capsys):
    from forecast.cli import main

    (tmp_path / "s.toml").write_text(
        'start = 2026\nuntil = 2028\n[quantities.x]\nmodel = "first.maker::demo/fastest@trends/exponential"\n'
    )
    out = tmp_path / "run.nc"
    assert main(["run", str(tmp_path / "s.toml"), "--draws", "10", "--out", str(out)]) == 0, capsys.readouterr().err
    assert "first.maker::demo/fastest@exponential" in forecast.load(out).to_xarray().attrs["models"]
    fit = forecast.law("second-maker::demo/line").fit({"x": [1.0, 2.0, 3.0], "y": [3.1, 3.9, 5.0]})
    fit.save(tmp_path / "fit.nc")
    again = forecast.load(tmp_path / "fit.nc")
    assert again.law.name == "second-maker::demo/line"
    assert main(["laws", "show", "second-maker::demo/line"]) == 0


def test_a_local_plugin_is_named_as_local(clash, fake_plugins, tmp_path, monkeypatch):
    fake_plugins.modules.append("alone")
    (tmp_path / "alone.py").write_text(plugin_module(SOURCE.format(offset=4).replace("line", "rule")))
    monkeypatch.setenv("FORECAST_PLUGINS", f"{tmp_path}/alone.py")
    law = forecast.law("local::alone/rule")
    assert law.value({"a": 0.0}, x=[0.0])[0] == 4.0


# --- what a record names is its own distribution's first ------------------------------------------------------------

BIOSCALE = """
def forecast_laws():
    published = (PublishedFit(name="ours", parameters={{"a": {factor}.0}}, reference="r"),)
    yield LawSpec(name="line", variables={{"x": ""}}, expression="a*x", published=published, reference="r")

def forecast_shapes():
    yield ShapeSpec(name="growth", target="forecast_trends.lines.exponential:Exponential", reference="r")

def forecast_tables():
    yield TableSpec(name="seen", descriptor={folder!r} + "/datapackage.json", reference="r")

def forecast_models():
    rate = Input(name="rate", unit="FLOP/s", distribution={{"value": {factor}.0}}, source="s")
    yield EstimateSpec(name="speed", unit="FLOP/s", expression="2*rate", inputs=(rate,), reference="r")
    yield MixtureSpec(name="either", unit="FLOP/s", weights={{"bioscale/speed": 1.0}}, reference="r")
    yield MixtureSpec(name="bare", unit="FLOP/s", weights={{"speed": 1.0}}, reference="r")
    yield TrendSpec(name="fastest", unit="FLOP/s", table="bioscale/seen", x="date", y="speed",
                    shape="bioscale/growth", reference="r")
    yield RelationSpec(name="fitted", unit="FLOP/s", law="bioscale/line", table="bioscale/seen",
                       let={{"x": "count"}}, y="speed", reference="r")

def forecast_scenarios():
    yield ScenarioSpec(name="parity", path={folder!r} + "/parity.toml", reference="r")
    yield ScenarioSpec(name="later", path={folder!r} + "/later.toml", reference="r")

def forecast_claims():
    yield ClaimSpec(name="speed", group="g", statement="s", stated="{twice}", formula="v",
                    scenario="bioscale/parity", draws=8, answers={{"v": "speed p50 2027"}}, unit="FLOP/s",
                    reference="r")
"""
PARITY = """
start = 2026
until = 2028
[choices]
which = ["speed", "either"]
[quantities.speed]
model = "bioscale/speed"
[quantities.each]
model = "bioscale/{which}"
[quantities.either]
model = "bioscale/either"
[quantities.bare]
model = "bioscale/bare"
[quantities.fastest]
model = "bioscale/fastest@growth"
[quantities.count]
value = 1
unit = ""
[quantities.fitted]
model = "bioscale/fitted"
inputs = { x = "count" }
[quantities.stated]
law = "bioscale/line@ours"
x = "count"
[quantities.seen]
table = "bioscale/seen"
column = "speed"
where = { date = "2020-01-01" }
[questions.parity]
when = "fastest >= 1 EFLOP/s"
"""


def test_a_record_names_what_its_own_distribution_brings(fake_plugins, tmp_path):
    from forecast import claim_verdicts as claims
    from toolkit import package, resource

    for factor, maker in ((1, "forecast-bioone"), (3, "forecast-biotwo")):
        folder = tmp_path / maker
        folder.mkdir()
        fields = [
            {"name": "date", "type": "date"},
            {"name": "count", "type": "number", "unit": ""},
            {"name": "speed", "type": "number", "unit": "FLOP/s"},
        ]
        rows = "".join(f"{2016 + i}-01-01,{i + 1},{factor * (i + 1)}\n" for i in range(5))
        package(folder, "seen", resource(folder, "seen", f"date,count,speed\n{rows}", fields, ["date"]))
        (folder / "parity.toml").write_text(PARITY)
        (folder / "later.toml").write_text('extends = "bioscale/parity"\nuntil = 2029\n')
        source = BIOSCALE.format(factor=factor, twice=2 * factor, folder=str(folder))
        fake_plugins.add("bioscale", source, distribution=maker)
    for factor, maker in ((1, "forecast-bioone"), (3, "forecast-biotwo")):
        run = forecast.project(f"{maker}::bioscale/parity", draws=8)
        assert run.to_xarray().attrs["failures"] == "[]"
        seen = run["projection"]
        for name, times in {"speed": 2, "each": 2, "either": 2, "bare": 2, "fitted": 1, "stated": 1, "seen": 5}.items():
            assert seen[name].values == pytest.approx(times * factor), (maker, name)
        assert float(run["observed/fastest"].to_dataset()["value"].max()) == 5 * factor
        assert (
            forecast.scenario(f"{maker}::bioscale/later").quantities
            == forecast.scenario(f"{maker}::bioscale/parity").quantities
        )
        text = forecast.scenario(f"{maker}::bioscale/later").to_toml()
        assert f'model = "{maker}::bioscale/speed"' in text
        claim = get_registry().find("claim", f"{maker}::bioscale/speed")
        assert claims.evaluate(claim.spec)["verdict"] == "agrees"
