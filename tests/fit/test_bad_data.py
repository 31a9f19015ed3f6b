"""Data that are wrong, odd or extreme, through ``law.fit``: the same answer, or one line that says what is wrong."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import forecast
from forecast.errors import DataError, FitError, UnitError, UsageError

POWER = forecast.law("scaling/power")
LINE = forecast.Law("a + b*x", variables=["x"])
X = np.geomspace(10, 1e4, 40)
Y = 8 * X**-0.35 * np.exp(0.02 * np.random.default_rng(0).standard_normal(40))


def but(values, row, value):
    changed = np.array(values, dtype=float)
    changed[row] = value
    return changed


# --- cells ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["least_squares", "least_squares_log", "huber_log"])
@pytest.mark.parametrize(
    ("data", "keywords", "says"),
    [
        (forecast.read({"x": but(X, 6, np.nan), "y": Y}, missing="error"), {}, "row 7 of 40 has no 'x'"),
        (forecast.read({"x": X, "y": but(Y, 6, np.nan)}, missing="error"), {}, "row 7 of 40 has no 'y'"),
        ({"x": X, "y": Y}, {"sigma": but(0 * X + 0.1, 6, np.nan)}, "sigma: .* in row 7 of 40"),
        ({"x": X, "y": Y}, {"weights": but(0 * X + 1, 6, np.nan)}, "weights is missing in row 7 of 40"),
        ({"x": X, "y": Y}, {"sigma_x": {"x": but(0 * X, 6, np.nan)}}, "sigma_x: .*"),
    ],
)
def test_bad_input_025_a_missing_number_is_named(data, keywords, says, objective):
    with pytest.raises((DataError, UsageError), match=says):
        POWER.fit(data, objective=objective, **keywords)


@pytest.mark.parametrize("column", ["x", "y"])
def test_a_row_without_a_value_is_left_out_and_said(column):
    data = {"x": X, "y": Y} | {column: but({"x": X, "y": Y}[column], 6, np.nan)}
    found = POWER.fit(data, sigma=but(0.01 * Y, 6, 0.0))
    keep = np.arange(40) != 6
    assert dict(found.values) == dict(POWER.fit({"x": X[keep], "y": Y[keep]}, sigma=0.01 * Y[keep]).values)
    assert found.read == f"Read data: 39 of 40 rows (1 without {column})."
    assert found.read in found.summary()


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e308 * 10])
@pytest.mark.parametrize("column", ["x", "y"])
def test_bad_input_026_an_infinite_number_is_named(column, value):
    data = {"x": X, "y": Y}
    data[column] = but(data[column], 6, value)
    with pytest.raises(DataError, match="missing or infinite in row 7 of 40"):
        POWER.fit(data)


@pytest.mark.parametrize("scale", [1e308, 1e200, 1e-200, 1e-308, 1e-320])
def test_bad_input_026_034_where_squares_leave_double_precision_a_scale_is_proposed(scale):
    with pytest.raises(DataError, match=r"scale it: y='1e[+-]\d+\*y'") as caught:
        LINE.fit({"x": X, "y": scale * (X / 1e4)})
    if 1e-308 < scale < 1e308:
        proposed = str(caught.value).rpartition("y='")[2].rstrip("'")
        assert LINE.fit({"x": X, "y": scale * ((X + 3 * np.sin(X)) / 1e4)}, y=proposed).converged


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e100, 1e-100])
def test_bad_input_026_034_far_from_one_is_no_matter(scale):
    one, two = LINE.fit({"x": X, "y": Y}), LINE.fit({"x": X, "y": scale * Y})
    for name in one.values:
        assert two.values[name] == pytest.approx(scale * one.values[name], rel=1e-9)
        assert two.interval(name) == pytest.approx([scale * end for end in one.interval(name)], rel=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, -np.inf, 1e-300, 1e300])
def test_bad_input_040_a_standard_deviation_that_is_none_is_named(value):
    with pytest.raises(DataError, match=r"sigma: expected positive standard deviations, not so in row 4 of 40"):
        POWER.fit({"x": X, "y": Y}, sigma=but(0 * X + 0.1, 3, value))


@pytest.mark.parametrize("option", ["sigma", "weights"])
@pytest.mark.parametrize("given", [np.ones(39), np.ones(41), np.ones((40, 1)), np.ones(0)])
def test_bad_input_040_041_a_wrong_length_is_named(option, given):
    with pytest.raises(DataError, match=rf"{option}: expected 40 numbers, one a row, got shape"):
        POWER.fit({"x": X, "y": Y}, **{option: given})


@pytest.mark.parametrize("weights", [0.0, np.zeros(40), -np.ones(40)])
def test_bad_input_041_weights_of_nothing(weights):
    with pytest.raises(DataError, match="weights: expected numbers of at least 0, not all of them 0"):
        POWER.fit({"x": X, "y": Y}, weights=weights)


# --- units ------------------------------------------------------------------------------------------------------------


def points(unit_n="param", unit_d="token", n=1.0, d=1.0, key="unit"):
    law = forecast.law("scaling/chinchilla")
    rng = np.random.default_rng(0)
    size, tokens = 10 ** rng.uniform(8, 10, 40), 10 ** rng.uniform(9, 11, 40)
    loss = law.value(law.published("besiroglu2024").values, N=size, D=tokens) * np.exp(0.01 * rng.standard_normal(40))
    columns = {"N": (size / n, unit_n), "D": (tokens / d, unit_d), "loss": (loss, "nat/token")}
    return xr.Dataset({name: ("run", values, {key: unit}) for name, (values, unit) in columns.items()})


@pytest.mark.parametrize("key", ["unit", "units"])
def test_bad_input_038_units_of_columns_are_converted_exactly(key):
    law = forecast.law("scaling/chinchilla")
    one, two = law.fit(points()), law.fit(points("Gparam", "Ttoken", 1e9, 1e12, key))
    assert dict(two.values) == pytest.approx(dict(one.values), rel=1e-9)


def test_bad_input_038_units_that_do_not_balance_name_both_sides():
    law = forecast.law("scaling/chinchilla")
    for data in (points("FLOP"), points("FLOP/s"), dict(points("FLOP").data_vars)):
        with pytest.raises(UnitError, match=r"variable 'N': column 'N': units do not balance: 'FLOP.*' .* 'param'"):
            law.fit(data)
    with pytest.raises(UnitError, match="variable 'N': column 'D': units do not balance: 'token'"):
        law.fit(points(), let={"N": "D"})
    with pytest.raises(UnitError, match="y: column 'D'"):
        law.fit(points(), y="D")


def test_bad_input_038_inside_a_formula_and_without_a_known_unit_a_column_is_a_number():
    law = forecast.law("scaling/chinchilla")
    one = law.fit(points())
    for data, let in ((points("FLOP", n=1e3), {"N": "N*1e3"}), (points("runs"), None), (points(""), None)):
        assert dict(law.fit(data, let=let).values) == pytest.approx(dict(one.values), rel=1e-9)


def test_bad_input_038_units_count_for_many_fits_too():
    law = forecast.law("scaling/chinchilla")
    grid = xr.concat([points("Gparam", n=1e9)] * 2, dim="seed", join="exact").assign_coords(seed=["a", "b"])
    fits = law.fit(grid, by="seed")
    assert float(fits.params["A"][0]) == pytest.approx(law.fit(points()).values["A"], rel=1e-6)
    with pytest.raises(UnitError, match="'FLOP'"):
        law.fit(grid.assign(N=grid["N"].assign_attrs(unit="FLOP")), by="seed")


# --- kinds of arrays --------------------------------------------------------------------------------------------------


def test_bad_input_035_dates_of_any_unit_are_decimal_years():
    law = forecast.Law("a + b*(t - 2000)", variables=["t"])
    days = np.array([f"{year}-01-01" for year in range(1904, 2097, 4)], dtype="datetime64[D]")
    years = np.arange(1904, 2097, 4)
    y = 3 + 0.5 * (years - 2000) + 0.1 * np.random.default_rng(0).standard_normal(years.size)
    wanted = law.fit({"t": years, "y": y}).values["b"]
    for unit in ("s", "ms", "ns", "D"):
        assert law.fit({"t": days.astype(f"datetime64[{unit}]"), "y": y}).values["b"] == pytest.approx(wanted, rel=1e-9)
    assert law.fit(pd.DataFrame({"t": pd.to_datetime(days), "y": y})).values["b"] == pytest.approx(wanted, rel=1e-9)


# --- what it does not call --------------------------------------------------------------------------------------------


def test_bad_input_003_006_no_text_reaches_the_parsers_of_sympy_or_patsy(monkeypatch):
    import patsy
    import sympy.parsing.sympy_parser as parser

    def refuse(*args, **options):
        raise AssertionError("a text reached an evaluator")

    for owner, name in ((parser, "parse_expr"), (parser, "eval_expr"), (patsy, "dmatrix"), (patsy, "dmatrices")):
        monkeypatch.setattr(owner, name, refuse)
    law = forecast.Law("E + A*x**-a*exp(-x/1e6) + S*0", variables=["x"], positive=["E", "A", "a"])
    fit = law.with_(S=1.0).fit({"x": X, "y": 1 + Y}, let={"x": "x*1"}, bootstrap=20)
    assert law.latex()
    assert fit.predict(x=[10.0])["median"].size == 1
    assert law.formula.solve("A", 3.0, {"E": 1.0, "x": 2.0, "a": 0.5, "S": 0.0})
    with pytest.raises(AssertionError, match="a text reached"):
        __import__("sympy").sympify("1 + x")


@pytest.mark.parametrize("x", [1e6, 1e300])
def test_bad_input_076_where_a_law_overflows_everywhere_it_is_an_error(x):
    law = forecast.Law("exp(a*x)", variables=["x"], bounds={"a": (1.0, 2.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((FitError, DataError)):
            law.fit({"x": x * np.arange(1.0, 11), "y": np.arange(1.0, 11)})


def test_counts_that_are_all_zero_have_no_exponent():
    found = POWER.fit({"x": X, "y": np.zeros(40)}, objective="poisson")
    assert "not identified" in found.verdict or "no intervals" in found.verdict
    with pytest.raises(FitError, match="no interval for 'c'"):
        found.interval("c")


SATURATING = forecast.Law("E + A*x**-a", variables=["x"], bounds={"E": (1.5, 1.5), "a": (0.1, 1.0)})


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ({"A": 1.0, "a": math.nan}, "start: 'a': expected a positive number, got nan"),
        ({"A": math.inf, "a": 0.3}, "start: 'A': expected a finite number, got inf"),
        ({"A": True, "a": 0.3}, "start: 'A': expected a finite number, got True"),
        ({"A": 1.0}, "start: 'a' is missing"),
        ({}, "start: 'A' is missing"),
        ([1.0, 0.3], "start: expected a mapping of parameter to number"),
        ({"A": 1.0, "a": 2.0}, "start: 'a' is outside its bounds"),
        ({"A": 1.0, "a": 0.3, "E": 1.0}, "start: 'E' is fixed at 1.5 by its bounds, got 1.0"),
        ({"A": 1.0, "a": 0.3, "E": math.nan}, "start: 'E' is fixed at 1.5 by its bounds, got nan"),
    ],
)
def test_bad_input_050_starts_that_are_none(start, says):
    with pytest.raises(UsageError, match=says):
        SATURATING.fit({"x": X, "y": Y}, start=start)


@pytest.mark.parametrize("a", [0.1, 1.0])
def test_bad_input_050_a_start_at_a_bound_reaches_the_same_end(a):
    data = {"x": X, "y": 1.5 + 8 * X**-0.35 * (1 + 0.01 * np.cos(7 * np.arange(40)))}
    free, begun = SATURATING.fit(data), SATURATING.fit(data, start={"A": 1.0, "a": a, "E": 1.5})
    assert begun.converged
    assert dict(begun.values) == pytest.approx(dict(free.values), rel=1e-6)
    assert begun.values["E"] == 1.5


@pytest.mark.parametrize("other", ["array", "list", "series", "dataarray"])
def test_bad_input_044_labels_beside_a_column_without_them_are_refused(other):
    labels = [f"run{i}" for i in range(40)]
    plain = {"array": X, "list": list(X), "series": pd.Series(X), "dataarray": xr.DataArray(X, dims="run")}[other]
    for labelled in (pd.Series(Y, labels), pd.Series(Y[::-1], np.arange(40)[::-1])):
        if other == "series" and labelled.index.dtype.kind == "i":
            continue  # both count the rows: matched by label
        with pytest.raises(DataError, match=r"labels"):
            POWER.fit({"x": plain, "y": labelled})
    assert POWER.fit({"x": plain, "y": pd.Series(Y)}).converged  # labels that only count the rows are none


@pytest.mark.parametrize("keyword", ["weights", "sigma", "groups"])
def test_bad_input_044_what_is_given_beside_the_data_is_matched_by_label(keyword):
    labels = pd.Index([f"run{i}" for i in range(40)])
    order = np.random.default_rng(1).permutation(40)
    frame = pd.DataFrame({"x": X, "y": Y}, index=labels)
    extra = np.repeat(np.arange(1.0, 9.0), 5)
    want = POWER.fit(frame, **{keyword: extra})
    for same in (pd.Series(extra, labels), pd.Series(extra, labels).iloc[order]):
        found = POWER.fit(frame, **{keyword: same})
        assert dict(found.values) == dict(want.values)
        assert found.stderr.identical(want.stderr)
    for strange in (pd.Series(extra), pd.Series(extra, labels + "x")):
        with pytest.raises(DataError, match=f"{keyword} has row labels that the data do not have"):
            POWER.fit(frame, **{keyword: strange})
    with pytest.raises(DataError, match=f"{keyword} has row labels that the data do not have"):
        POWER.fit({"x": X, "y": Y}, **{keyword: pd.Series(extra, labels)})
