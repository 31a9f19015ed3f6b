"""Shapes that ask for further columns: the same rows as time and value, and options with units of their own."""

import numpy as np
import pytest

import forecast
from forecast.errors import EmptyDataError, PluginContractError, PluginError, TableError, UnitError, UnknownNameError
from forecast.models import Description, FittedShape, Shape, shape, trend
from forecast.models.trends import from_spec

DATA = {
    "year": [2004.0, 2001.0, 2002.0, 2003.0, 2005.0, 2005.5, 2006.0],
    "cost": [5.0, 9.0, np.nan, 7.0, 6.0, 8.0, 4.0],
    "made": [4.0, 1.0, 2.0, 3.0, 5.0, 5.5, np.nan],
    "size": [2.0] * 7,
    "kind": ["a", "a", "a", "b", "a", "a", "a"],
}


class Recorder(Shape):
    """Keeps what it was handed."""

    uncertain = {"speed": "1/year"}  # noqa: RUF012

    def __init__(self, covariates="made", speed=None):
        self.columns = {"covariates": covariates}
        self.speed = speed

    def fit(self, time, value, *, frontier=False, seed=0, columns):
        self.seen = (time.tolist(), value.tolist(), {k: v.tolist() for k, v in columns.items()}, frontier)
        return Fitted()


class Fitted(FittedShape):
    def posterior(self, streams):
        return {}

    def sample(self, time, streams, *, observed=False):
        return np.ones((len(time), streams.draws))

    def central(self, time):
        return np.ones(len(time))

    def describe(self):
        return Description(summary="made up")


def seen(as_of=None, data=DATA, covariates="made", y="cost", **options):
    recorder = Recorder(covariates)
    trend(data, shape=recorder, x="year", y=y, unit="USD", **options).fit(as_of=as_of)
    return recorder.seen


def test_a_further_column_has_the_rows_of_time_and_value():
    # sorted by date; without the row that has no cost and the one that has no further value
    years = [2001.0, 2003.0, 2004.0, 2005.0, 2005.5]
    assert seen() == (years, [9, 7, 5, 6, 8], {"covariates": [1, 3, 4, 5, 5.5]}, False)
    assert seen(as_of=2005.2)[2] == {"covariates": [1, 3, 4, 5]}
    assert seen(where={"kind": "b"}) == ([2003.0], [7.0], {"covariates": [3.0]}, False)
    assert seen(since="2004-01-01")[2] == {"covariates": [4.0, 5.0, 5.5]}
    assert seen(covariates="made/size + 1")[2] == {"covariates": [1.5, 2.5, 3, 3.5, 3.75]}


def test_a_further_column_follows_records_and_years():
    rise = {**DATA, "cost": [5.0, 1.0, 2.0, 7.0, 6.0, 8.0, 4.0]}
    assert seen(data=rise, records=True) == (
        [2001, 2002, 2003, 2005.5],
        [1, 2, 7, 8],
        {"covariates": [1, 2, 3, 5.5]},
        True,
    )
    day = {"year": [2000.0, 2000.0, 2001.0], "cost": [9.0, 2.0, 10.0], "made": [7.0, 8.0, 9.0]}
    assert seen(data=day, records=True)[2] == {"covariates": [7.0, 9.0]}
    found = forecast.tables.series.read_columns(DATA, x="year", y="cost", covariates={"m": "made"}, yearly=True)
    assert found[0].tolist() == [2001.0, 2003.0, 2004.0, 2005.5]
    assert found[3]["m"].tolist() == [1.0, 3.0, 4.0, 5.5]


def test_the_unit_of_a_further_column_is_its_own():
    import xarray as xr

    columns = {
        "cost": ("year", [9.0, 7.0, 5.0], {"unit": "USD/kbit"}),
        "made": ("year", [1.0, 2.0, 4.0], {"unit": "Tbit"}),
    }
    recorder = Recorder()
    data = xr.Dataset(columns, coords={"year": [2000, 2001, 2002]})
    trend(data, shape=recorder, x="year", y="cost", unit="USD/Mbit").fit()
    assert recorder.seen[1:3] == ([9000.0, 7000.0, 5000.0], {"covariates": [1.0, 2.0, 4.0]})
    with pytest.raises(UnitError, match=r"column for 'covariates'.*year.*Tbit|column for 'covariates'.*Tbit"):
        trend(data, shape=Recorder("made + cost"), x="year", y="cost", unit="USD/Mbit").fit()


WRONG = {
    "unknown": ({"covariates": "maed"}, UnknownNameError,
                "^trend: column for 'covariates': unknown column 'maed'; did you mean 'made'"),
    "unknown in a formula": ({"covariates": "maed*2"}, UnknownNameError, "column for 'covariates'.*'maed'.*'made'"),
    "text": ({"covariates": "kind"}, TableError, "column 'kind': expected numbers, got text"),
    "never both": ({"covariates": "other",
                    "data": {**DATA, "other": [np.nan] * 6 + [1.0], "cost": [1.0] * 6 + [np.nan]}},
                   EmptyDataError, "column for 'covariates': no row has both 'cost' and 'other'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_further_column_that_cannot_be_read_is_named(case):
    given, error, says = WRONG[case]
    with pytest.raises(error, match=says) as caught:
        seen(**given)
    assert "\n" not in str(caught.value)


def test_a_shape_that_asks_for_none_is_called_as_ever():
    class Plain(Recorder):
        def __init__(self):
            pass

        def fit(self, time, value, *, frontier=False, seed=0):
            return Fitted()

    assert Plain().columns == {}
    assert trend(DATA, shape=Plain(), x="year", y="cost", unit="").fit().describe().summary == (
        "made up; 1 row without a value left out"
    )


@pytest.mark.parametrize("asked", [["made"], "made", {"covariates": 3}, {1: "made"}, None])
def test_columns_that_are_no_mapping_break_the_contract(asked):
    wrong = Recorder()
    wrong.columns = asked
    with pytest.raises(PluginContractError, match="shape Recorder: columns: expected a mapping of name to column"):
        shape(wrong)


def test_a_shape_that_names_columns_takes_them():
    class Deaf(Recorder):
        def fit(self, time, value, *, frontier=False, seed=0):
            return Fitted()

    class Open(Recorder):
        def fit(self, time, value, **given):
            return Fitted()

    with pytest.raises(PluginContractError, match="shape Deaf: names columns, but its fit takes no argument 'columns'"):
        trend(DATA, shape=Deaf(), x="year", y="cost", unit="").fit()
    assert trend(DATA, shape=Open(), x="year", y="cost", unit="").fit() is not None


def test_an_uncertain_option_may_have_a_unit_of_its_own():
    made = trend(DATA, shape=Recorder(), x="year", y="cost", unit="USD",
                 options={"speed": {"p05": 1.0, "p95": 2.0, "unit": "1/month"}})  # fmt: skip
    assert made.inputs["speed"].unit == "1/year"
    assert made.inputs["speed"].distribution == pytest.approx({"p05": 12.0, "p95": 24.0}, rel=1e-3)
    plain = trend(DATA, shape=Recorder(), x="year", y="cost", unit="USD", options={"speed": {"value": 0.5}})
    assert plain.inputs["speed"].distribution == {"value": 0.5}
    with pytest.raises(UnitError, match=r"options\.speed.*USD.*1/year"):
        trend(DATA, shape=Recorder(), x="year", y="cost", unit="USD",
              options={"speed": {"p05": 1.0, "p95": 2.0, "unit": "USD"}})  # fmt: skip


FAKE = """
from forecast.models import Shape

def forecast_shapes():
    yield ShapeSpec(name="good", target="fake_columns:Good", reference="a test")
    yield ShapeSpec(name="greedy", target="fake_columns:Greedy", reference="a test")

class Good(Shape):
    columns = {"one": "one", "two": "two"}
    def fit(self, time, value, *, frontier=False, seed=0, columns):
        from forecast.models import shape
        assert sorted(columns) == ["one", "two"], columns
        assert (columns["one"][1:] > columns["one"][:-1]).all() and (columns["one"] != columns["two"]).any()
        return shape("trends/exponential").fit(time, value * columns["one"] / columns["two"])

class Greedy(Good):
    def fit(self, time, value, *, frontier=False, seed=0, columns):
        columns["one"] *= 2
"""


def test_the_conformance_kit_makes_up_the_columns_of_a_shape(fake_plugins):
    from forecast.testing import checks

    fake_plugins.add("fake", FAKE, module="fake_columns")
    made = {str(check): check for check in checks("fake")}
    made["shape good: fits, and same seed, same draws"]()
    with pytest.raises(PluginError, match="shape 'fake/greedy': fit writes into its inputs"):
        made["shape greedy: fits, and same seed, same draws"]()
    ours = {str(check): check for check in checks("trends")}
    ours["shape experience: fits, and same seed, same draws"]()


def test_a_record_reads_further_columns_of_its_table():
    spec = forecast.TrendSpec(
        name="demo", reference="a test", unit="PFLOP/s", shape="trends/experience", table="datasets/supercomputers",
        x="date", y="rmax_top1", where={"status": "verified"}, options={"cumulative": "rmax_smu"},
    )  # fmt: skip
    with pytest.raises(UnknownNameError, match=r"demo: column for 'cumulative': unknown column 'rmax_smu'.*'rmax_sum'"):
        from_spec("test/demo", spec).fit()
