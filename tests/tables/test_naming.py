"""Names in formulas, and the columns they mean."""

import numpy as np
import pytest

import forecast
from forecast.errors import AmbiguousNameError, UnknownNameError
from forecast.tables.column_names import identifier_of, meant

WIDE = {"Model Size": np.array([1e6, 1e7, 1e8, 1e9]), "loss (nats)": np.array([4.0, 3.0, 2.25, 1.6875])}


@pytest.mark.parametrize(
    ("column", "name"), [("Training FLOP", "Training_FLOP"), (" 95 % high ", "95_high"), ("µ", ""), ("a_b", "a_b")]
)
def test_a_column_as_a_formula_spells_it(column, name):
    assert identifier_of(column) == name


def test_the_exact_name_goes_first():
    assert meant("a_b", ["a b", "a_b"], "here") == "a_b"


def test_two_columns_of_one_spelling_are_refused():
    with pytest.raises(AmbiguousNameError, match=r"here: column 'a_b' may be 'a b' and 'a-b'"):
        meant("a_b", ["a b", "a-b"], "here")


def test_the_error_says_how_a_formula_spells_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown column 'ModelSize'; did you mean 'Model_Size'\?"):
        meant("ModelSize", WIDE, "here")


def test_fits_reach_columns_with_blanks():
    law = forecast.law("scaling/power")
    fit = law.fit(WIDE, let={"x": "Model_Size/1e6"}, y="loss_nats*1")
    same = law.fit({"x": WIDE["Model Size"] / 1e6, "y": WIDE["loss (nats)"]})
    assert {name: float(value) for name, value in fit.values.items()} == pytest.approx(
        {name: float(value) for name, value in same.values.items()}
    )


def test_series_reach_columns_with_blanks():
    data = {"year": [2020.0, 2021.0, 2022.0], "Peak (TFLOP/s)": [1.0, 2.0, 4.0], "Launch price": [1.0, 1.0, 2.0]}
    from forecast.tables import series

    _, value, *_ = series.read_columns(data, x="year", y="Peak_TFLOP_s/Launch_price")
    assert value.tolist() == [1.0, 2.0, 2.0]


def test_conditions_on_the_command_line_reach_columns_with_blanks(tmp_path, capsys):
    from forecast.cli import main

    path = tmp_path / "runs.csv"
    rows = [f"{10.0**k},{4 * 0.75**k}" for k in range(8)]
    path.write_text("\n".join(["Model Size,y", *rows]), encoding="utf-8")
    words = ["fit", "scaling/power", "--data", str(path), "--let", "x = Model_Size", "--where", "Model_Size > 5"]
    assert main(words) == 0
    assert "7" in capsys.readouterr().out
