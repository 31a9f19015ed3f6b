"""Checks: conditions that every row of a table satisfies, and what is said of the row that does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forecast.errors import TableError
from forecast.tables import table
from toolkit import package, resource

CHIPS = "chip,maker,power,launched\nA,one,400,2020-07-02\nB,two,700,2022-07-02\nC,two,,2024-07-02\n"
RATES = "chip,format,rate\nA,fp32,20\nA,fp16,40\nB,fp32,60\nB,fp16,120\nC,fp16,500\n"
CHIP_FIELDS = [
    {"name": "chip", "type": "string"},
    {"name": "maker", "type": "string", "constraints": {"enum": ["one", "two"]}},
    {"name": "power", "type": "number", "unit": "W"},
    {"name": "launched", "type": "date"},
]
RATE_FIELDS = [
    {"name": "chip", "type": "string"},
    {"name": "format", "type": "string", "constraints": {"enum": ["fp32", "fp16", "fp8"]}},
    {"name": "rate", "type": "number", "unit": "TFLOP/s"},
]


def check(condition: str, **more: object) -> dict[str, object]:
    return {"name": "plausible", "condition": condition, "reason": "physics says so", **more}


def checked(
    folder: Path, *, chips: list | None = None, rates: list | None = None, texts: tuple = (CHIPS, RATES)
) -> Path:
    """Write two resources, the second keyed by the first's key and one more, with these checks."""
    resources = []
    parts = (
        ("chips", texts[0], CHIP_FIELDS, "chip", chips),
        ("rates", texts[1], RATE_FIELDS, ["chip", "format"], rates),
    )
    for name, text, fields, key, checks in parts:
        more = {} if checks is None else {"checks": checks}
        resources.append(resource(folder, name, text, fields, key, **more))
    return package(folder, "chips", *resources)


def refused(folder: Path, **checks: list) -> tuple[str, ...]:
    with pytest.raises(TableError) as caught:
        table(checked(folder, **checks))
    return caught.value.failures


def test_a_row_that_breaks_a_check_is_refused_with_its_line_figures_and_reason(tmp_path: Path) -> None:
    assert refused(tmp_path, chips=[check("power <= 500")]) == (
        "chips.csv:3:power: check 'plausible': power <= 500 does not hold (700 against 500): physics says so",
    )


@pytest.mark.parametrize(
    ("condition", "holds"), [("power >= 400", True), ("power > 400", False), ("power < 700", False)]
)
def test_every_comparison_is_the_one_that_is_written(tmp_path: Path, condition: str, holds: bool) -> None:
    if holds:
        assert table(checked(tmp_path, chips=[check(condition)])).sizes["chip"] == 3
    else:
        assert len(refused(tmp_path, chips=[check(condition)])) == 1


def test_where_says_which_rows_a_check_is_about(tmp_path: Path) -> None:
    assert table(checked(tmp_path, chips=[check("power <= 500", where={"maker": "one"})])).sizes["chip"] == 3
    assert len(refused(tmp_path, chips=[check("power <= 100", where={"maker": ["one", "two"]})])) == 2


def test_a_hole_is_passed_over(tmp_path: Path) -> None:
    # chip C has no power, and chip C no rate in FP32
    assert len(refused(tmp_path, chips=[check("power < 0")])) == 2
    assert (
        len(refused(tmp_path, rates=[check("rate < other_rate", where={"format": "fp16"}, other={"format": "fp32"})]))
        == 2
    )


TWICE = check("rate <= 2*other_rate", where={"format": "fp16"}, other={"format": "fp32"})


@pytest.mark.parametrize(
    ("chips", "rates", "checks", "says"),
    [
        # `other` is the row whose key differs in what is named
        (CHIPS, RATES.replace("B,fp16,120", "B,fp16,240"), {"rates": TWICE}, r"csv:5:rate: .* \(240 against 120\)"),
        # `previous` is the row before in the order of a column, not of the file, and one with the figure
        ("\n".join(CHIPS.splitlines()[i] for i in (0, 2, 3, 1)) + "\n", RATES,
         {"chips": check("power <= 1.5*previous_power", previous="launched")}, r"csv:2:power: .* \(700 against 600"),
        (CHIPS.replace("B,two,700", "B,two,").replace("C,two,,", "C,two,900,"), RATES,
         {"chips": check("power <= 2*previous_power", previous="launched")}, r"csv:4:power: .* \(900 against 800"),
        # a quotient by zero holds for nothing, and broken cells are told before broken checks
        (CHIPS.replace("A,one,400", "A,one,0"), RATES, {"chips": check("power/power >= 0")}, "csv:2:power: .*not hold"),
        (CHIPS.replace("A,one,400", "A,one,hot"), RATES, {"chips": check("power < 0")}, "2:power: 'hot': [^;]*$"),
    ],
)  # fmt: skip
def test_rows_that_break_a_check(tmp_path: Path, chips: str, rates: str, checks: dict, says: str) -> None:
    with pytest.raises(TableError, match=says):
        table(checked(tmp_path, **{name: [each] for name, each in checks.items()}, texts=(chips, rates)))


def test_other_holds_where_the_row_does(tmp_path: Path) -> None:
    assert table(checked(tmp_path, rates=[TWICE])).sizes["format"] == 2


def test_columns_of_another_resource_are_within_reach_by_its_key(tmp_path: Path) -> None:
    found = refused(tmp_path, rates=[check("rate/power <= 0.15", where={"maker": "two"})])
    assert found == (
        "rates.csv:5:rate: check 'plausible': rate/power <= 0.15 does not hold (0.1714 against 0.15): physics says so",
    )
    # the other way round a chip has several rates, so that there is nothing to say which
    with pytest.raises(TableError, match="check 'plausible': no column 'rate'"):
        table(checked(tmp_path, chips=[check("rate > 0")]))


def test_a_date_is_a_decimal_year(tmp_path: Path) -> None:
    (only,) = refused(tmp_path, chips=[check("launched <= 2023")])
    assert only.startswith("chips.csv:4:launched: ")
    # 2 July is the middle of a leap year and half a day short of it in others, as in `forecast.base.dates`
    assert table(checked(tmp_path, chips=[check("abs(launched - 2022.499) <= 2.002")])).sizes["chip"] == 3
    assert len(refused(tmp_path, chips=[check("abs(launched - 2022.499) <= 1.99")])) == 2


def test_nothing_is_changed_by_checks_that_hold(tmp_path: Path) -> None:
    plain = table(checked(tmp_path))
    held = table(checked(tmp_path, chips=[check("power > 0")], rates=[check("rate > 0")]))
    assert plain.identical(held)
    assert np.isnan(held["power"].sel(chip="C"))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (check("powr > 0"), "no column 'powr'; did you mean 'power'?"),
        (check("maker > 0"), "'maker' is text; a condition compares numbers and dates"),
        (check("power"), "expected one comparison"),
        (check("power > 0 > 1"), "expected exactly one comparison"),
        (check("power == 0"), "expected one of >=, >, <=, <"),
        (check("__import__('os') > 0"), "condition"),
        (check("power.real > 0"), "attribute access"),
        (check("power > 0", where={"makr": "one"}), "no column 'makr'; did you mean 'maker'?"),
        (check("power > 0", where={"maker": "three"}), "'three' is not one of one, two"),
        (check("power > 0", where={"maker": 1}), "expected a text or a list of texts"),
        (check("power > 0", where={"maker": []}), "expected a text or a list of texts"),
        (check("power > 0", where="one"), "where: expected an object, got 'one'"),
        (check("power > other_power", other={"maker": "one"}), "no key column 'maker'"),
        (check("power > other_power"), "no column 'other_power'"),
        (
            check("power > previous_power", previous="lunched"),
            "no column of its own 'lunched'; did you mean 'launched'?",
        ),
        (check("power > 0", previous=3), "expected text"),
        (check("power > 0", wheer={}), "unknown key; did you mean 'where'?"),
        ({"name": "plausible", "condition": "power > 0"}, "reason: is missing; expected text that says why"),
        ({"condition": "power > 0", "reason": "so"}, "name: is missing"),
        ("power > 0", "expected an object, got "),
    ],
)
def test_wrong_use_is_said_with_the_place(tmp_path: Path, entry: object, message: str) -> None:
    with pytest.raises(TableError) as caught:
        table(checked(tmp_path, chips=[entry]))
    said = "; ".join(caught.value.failures)
    assert message in said
    assert "resources[0].schema.checks" in said
    assert "\n" not in said


def test_checks_are_a_list(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"resources\[0\]\.schema\.checks: expected a list, got "):
        table(checked(tmp_path, chips=check("power > 0")))  # type: ignore[arg-type]
