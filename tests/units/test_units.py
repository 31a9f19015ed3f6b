"""Units: reading, converting, and balancing formulas."""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from forecast import units
from forecast.errors import ForecastError, FormulaError, PluginError, UnitError
from forecast.formula import parse_condition, parse_expression
from forecast.units import conversion

OWN = ["FLOP", "token", "param", "synaptic_op", "TEPS", "bit", "bit_erasure", "USD", "nat", "image", "sample"]
NAMES = ["FLOP", "GB", "GiB", "s", "year", "USD", "W", "m", "token", "percent"]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("TFLOP/s", "FLOP/s", 1e12), ("GTEPS", "TEPS", 1e9), ("kW", "W", 1e3), ("GB", "byte", 1e9),
        ("GiB", "byte", 2**30), ("byte", "bit", 8), ("TB", "GB", 1e3), ("GB", "GiB", 1e9 / 2**30),
        ("FLOP/s/MUSD", "GFLOP/s/USD", 1e-15), ("PFLOP/s*day", "FLOP", 8.64e19), ("kWh", "J", 3.6e6),
        ("month", "year", 1 / 12), ("percent", "", 0.01), ("FLOP/(s*USD)", "FLOP/s/USD", 1), ("W year", "W*year", 1),
        ("1/s", "Hz", 1),
    ],
)  # fmt: skip
def test_factors(source, target, expected):
    assert units.factor(source, target) == pytest.approx(expected, rel=1e-15)


def test_own_dimensions_never_mix():
    for a in OWN:
        for b in [*OWN, ""]:
            assert units.same_dimension(a, b) == (a == b)


def test_temperature_has_its_own_zero():
    assert units.convert(20.0, "degC", "K") == pytest.approx(293.15)
    with pytest.raises(UnitError, match="no plain factor"):
        units.factor("degC", "K")
    with pytest.raises(UnitError, match="write K"):
        units.unit("J/degC")
    assert units.value_of("2*k", {"k": 20.0}, {"k": "degC"}) == pytest.approx(586.3)
    assert units.value_of("k", {"k": 293.15}, {"k": "K"}, target="degC") == pytest.approx(20)


def test_convert_leaves_its_input_alone():
    given_values = np.array([1.0, 2.0])
    np.testing.assert_array_equal(units.convert(given_values, "GB", "MB"), [1000, 2000])
    np.testing.assert_array_equal(given_values, [1, 2])
    np.testing.assert_array_equal(units.convert([1, 2], "km", "m"), [1000, 2000])


@given(st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(1, 3), st.floats(1e-6, 1e6))
def test_conversion_there_and_back(a, b, power, value):
    source = units.unit(f"{a}/{b}**{power}")
    there = conversion.to_base(value, source, "")
    assert conversion.from_base(there, source, "") == pytest.approx(value, rel=1e-12)


def test_scales_beyond_the_numbers_are_refused():
    with pytest.raises(UnitError, match="out of the range of numbers"):
        units.factor("QWh**9", "Wh**9")
    with pytest.raises(UnitError, match="a power beyond 9"):
        units.infer("a**9", {"a": "m**2"})


@given(st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(1, 3))
def test_inferred_units_read_back(a, b, power):
    text = units.infer("x/y", {"x": f"{a}**{power}", "y": b})
    assert units.same_dimension(text, f"{a}**{power}/{b}")


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("a + b", "GB"), ("a/b", ""), ("r/p", "FLOP/s/USD"), ("r**2", "FLOP**2/s**2"), ("sqrt(x**2)", "m"),
        ("p**0.5", "USD**0.5"), ("max(a, b) - min(a, b)", "GB"), ("exp(-t/h)*r", "FLOP/s"), ("2**(t/h)", ""),
        ("n**n + 1", ""), ("sign(a)*n", ""), ("-abs(x)", "m"),
    ],
)  # fmt: skip
def test_infer(formula, expected):
    table = {"a": "GB", "b": "GiB", "r": "FLOP/s", "p": "USD", "n": "", "t": "year", "h": "h", "x": "m"}
    assert units.infer(formula, table) == expected


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("a + r", "'GB' against 'FLOP/s'"), ("a + 1", "'GB' against dimensionless"),
        ("exp(a)", "exp() needs a dimensionless argument, got 'GB'"), ("log10(r/2)", "log10() needs"),
        ("a**n", "raised to a power that is no plain number"), ("n**a", "an exponent must be dimensionless"),
        ("a**99", "beyond 9"), ("max(a, r)", "'GB' against 'FLOP/s'"), ("zz + 1", "'zz' has no unit"),
    ],
)  # fmt: skip
def test_infer_refuses(formula, says):
    with pytest.raises(UnitError) as caught:
        units.infer(formula, {"a": "GB", "r": "FLOP/s", "n": ""}, where="quantities.q")
    assert says in str(caught.value)
    assert str(caught.value).startswith("quantities.q: formula ")


def test_evaluate_meets_in_base_units():
    table = {"a": "GB", "b": "GiB", "rate": "TFLOP/s", "t": "day"}
    assert units.value_of("a + b", {"a": 1.0, "b": 1.0}, table) == pytest.approx(1 + 2**30 / 1e9)
    assert units.value_of("a + b", {"a": 1.0, "b": 1.0}, table, target="bit") == pytest.approx(8 * (1e9 + 2**30))
    assert units.value_of("rate*t", {"rate": 2.0, "t": 3.0}, table, target="FLOP") == pytest.approx(2e12 * 3 * 86400)
    np.testing.assert_allclose(
        units.value_of("a/b", {"a": [1.0, 2.0], "b": 1.0}, table), np.array([1, 2]) * 1e9 / 2**30
    )
    with pytest.raises(
        UnitError, match=r"quantities.y: formula 'a \+ b': .*gives 'GB' \[information\], expected 'FLOP'"
    ):
        units.value_of("a + b", {"a": 1.0, "b": 1.0}, table, target="FLOP", where="quantities.y")
    with pytest.raises(FormulaError, match="no value for 'b'"):
        units.value_of("a + b", {"a": 1.0}, table)


def test_check_names_both_sides():
    with pytest.raises(UnitError) as caught:
        units.check("TFLOP/s", "GTEPS", where="questions.parity")
    assert str(caught.value) == (
        "questions.parity: units do not balance: 'TFLOP/s' [floating_point_operation/time] "
        "against 'GTEPS' [traversed_edges_per_second]"
    )


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("FLOPS", "did you mean 'FLOP/s'?"), ("flop", "did you mean 'FLOP'?"), ("tokenz", "did you mean 'token'?"),
        ("m**99", "expected a power"), ("m**-9/m", "beyond 9"), ("(GB", "not closed"), ("GB)", "out of place"),
        ("FLOP/", "ends where"), ("2 m", "expected the name"), ("9**9**9", "expected the name"),
        ("1e9", "outside the grammar"), ("x" * 10**6, "characters"), ("(" * 80, "ends where"),
        ("__import__('os').system('x')", "outside the grammar"), ("m\x00", "outside the grammar"),
        ("м", "outside the grammar"), (None, "expected a unit as text"), (3, "expected a unit as text"),
    ],
)  # fmt: skip
def test_hostile_or_mistaken_units_are_refused(text, hint):
    with pytest.raises(UnitError) as caught:
        units.unit(text, where="file:column")
    assert hint in str(caught.value)
    assert str(caught.value).startswith("file:column: ")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("µm", "um"), ("μs", "us"), ("m^2", "m**2"), ("cm³", "cm**3"), ("%", "percent"), ("$/GB", "USD/GB"),
        ("s·m", "s*m"),
    ],
)  # fmt: skip
def test_signs_that_people_write_are_read(text, same):
    assert units.unit(text) == units.unit(same)


@given(st.text(alphabet="smGB/*() 1-9.", max_size=30))
def test_any_unit_reads_or_is_refused(text):
    try:
        found = units.unit(text)
    except UnitError:
        return
    assert units.same_dimension(text, conversion.unit_text(found))


def test_label():
    assert units.label("FLOP / s / m**2") == "FLOP/s/m²"
    assert units.label("W*year") == "W·year"
    assert units.label("") == ""
    with pytest.raises(UnitError):
        units.label("wattt")


def test_plugins_add_units(monkeypatch):
    reader = importlib.import_module("forecast.units.reader")
    registry_module = importlib.import_module("forecast.contract.registry")
    records = [
        SimpleNamespace(full_name="demo/wafer", spec=SimpleNamespace(definition="wafer = [wafer]")),
        SimpleNamespace(full_name="demo/lot", spec=SimpleNamespace(definition="lot = 25 * wafer")),
        SimpleNamespace(full_name="demo/bit", spec=SimpleNamespace(definition="bit = [mine]")),
        SimpleNamespace(full_name="demo/bad", spec=SimpleNamespace(definition="bad\n@import x")),
    ]
    fresh = reader.UnitRegistry()
    monkeypatch.setattr(reader, "registry", lambda: fresh)
    monkeypatch.setattr(conversion, "registry", lambda: fresh)
    monkeypatch.setattr(registry_module, "get_registry", lambda: SimpleNamespace(records=lambda kind: records))
    reader._read_unit.cache_clear()
    try:
        assert units.factor("klot", "wafer") == pytest.approx(25_000)
        assert units.factor("byte", "bit") == pytest.approx(8)
        assert set(fresh.broken) == {"bit", "bad\n@import x"}
        fresh.broken["mine"] = "unit demo/mine: no"
        with pytest.raises(PluginError, match="demo/mine"):
            units.unit("mine")
    finally:
        reader._read_unit.cache_clear()


@pytest.mark.parametrize(
    "text", ["x", "x = ", "1x = [x]", "x = [x]\ny = [y]", "@import x", "bit = [x]", "x = 9**99 * m", None, "x = `m`"]
)
def test_definitions_refused(text):
    with pytest.raises(ForecastError):
        units.check_definition(text, where="unit demo/x")


def test_definitions_accepted():
    assert units.check_definition("wafer = [wafer]") == "wafer"
    assert units.check_definition("lot = 25 * wafer = lot_") == "lot"


# --- the expressions of scenarios -------------------------------------------------------------------------------------

TABLE = {
    "machine": "PFLOP/s", "brain": "FLOP/s", "spend": "USD", "rate": "1/year", "clock": "1/month", "share": "percent",
    "delay": "month", "warm": "degC", "n": "", "kind": None,
}  # fmt: skip
HERE = {
    "machine": 2.0, "brain": 3e15, "spend": 5.0, "rate": 0.5, "clock": 0.1, "share": 40.0, "delay": 18.0, "warm": 20.0,
    "n": 2.0, "kind": np.array(["super", "sub"]), "t": 2030.0, "start": 2026.0, "dt": 0.5,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("machine >= brain", "", 0.0), ("machine >= 1 PFLOP/s", "", 1.0), ("machine >= 1", "", 1.0),
        ("machine > 2", "", 0.0), ("1.9 < machine", "", 1.0), ("brain >= 2.5e15", "", 1.0),
        ("machine/spend >= 0.39 PFLOP/(s*USD)", "", 1.0), ("2*machine + brain >= 7 PFLOP/s", "", 1.0),
        ("machine - brain >= -1 PFLOP/s", "", 1.0), ("warm >= 20", "", 1.0), ("warm >= 19 degC", "", 1.0),
        ("warm > 293.2 K", "", 0.0), ("share >= 40", "", 1.0), ("2*share >= 0.9", "", 0.0),
        ("where(machine > brain, machine, brain)", "PFLOP/s", 3.0), ("clip(machine, brain, 2*brain)", "PFLOP/s", 3.0),
        ("saturate(machine, brain)", "PFLOP/s", -3 * np.expm1(-2 / 3)),
        ("softmin(machine, brain, 1)", "PFLOP/s", 1.2), ("ces([machine, brain], [0.5, 0.5], 1)", "PFLOP/s", 2.5),
        ("logistic(n - 2)", "", 0.5), ("where(kind == 'super', n, 7)", "", [2.0, 7.0]),
        ("where('sub' == kind, spend, 2*spend)", "USD", [10.0, 5.0]),
        ("spend*(1 + rate)**(t - start)", "USD", 5 * 1.5**4), ("rate + clock*dt", "", 0.5 + 1.2 * 0.5),
        ("rate*n", "1/yr", 1.0), ("where(rate > 0.1*dt, t, start)", "", 2030.0), ("rate >= 0.4", "", 1.0),
        ("clock >= 1.1 1/year", "", 1.0),
    ],
)  # fmt: skip
def test_expressions(text, unit, expected):
    made = parse_expression(text)
    assert units.infer(made, TABLE) == unit
    np.testing.assert_allclose(units.value_of(made, HERE, TABLE), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("previous(machine)", "PFLOP/s"), ("lag(machine, 2)", "PFLOP/s"), ("lag(machine, delay)", "PFLOP/s"),
        ("maximum(machine + brain)", "PFLOP/s"), ("at(machine, 2028)", "PFLOP/s"), ("growth(machine)", "1/yr"),
        ("growth(machine, 3)*spend", "USD/yr"), ("growth(machine)*(t - start)", ""),
        ("1 + growth(machine) + 0*dt", ""), ("since(machine >= 1 EFLOP/s) + 2", ""),
        ("once(machine >= brain)*spend", "USD"),
    ],
)  # fmt: skip
def test_units_over_time(text, unit):
    assert units.infer(parse_expression(text), TABLE) == unit


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("machine >= 1 USD", "units do not balance: 'PFLOP/s' against 'USD'"),
        ("machine >= spend", "units do not balance: 'PFLOP/s' against 'USD'"),
        ("machine >= 1 EFLOPS", "unknown unit 'EFLOPS'"),
        ("where(machine, 1, 2)", "where() needs a condition, got 'PFLOP/s'"),
        ("where(n > 1, machine, spend)", "units do not balance: 'PFLOP/s' against 'USD'"),
        ("clip(machine, 0, brain)", "units do not balance"),
        ("saturate(machine, 2)", "units do not balance"),
        ("softmin(machine, brain, spend)", "softmin() needs a dimensionless argument, got 'USD'"),
        ("ces([machine, spend], [0.5, 0.5], 1)", "units do not balance"),
        ("logistic(machine)", "logistic() needs a dimensionless argument"),
        ("lag(machine, spend)", "lag() needs a number of years, got 'USD'"),
        ("at(machine, delay)", "at() needs a dimensionless argument"),
        ("since(machine)", "since() needs a condition, got 'PFLOP/s'"),
        ("growth(machine) + 1", "units do not balance: '1/yr' against dimensionless"),
        ("rate + 1", "units do not balance"),
        ("kind + 1", "'kind' stands for texts; compare it with one"),
        ("kind == n", "'kind' stands for texts; compare it with one"),
        ("n == 'super'", "'n' stands for numbers, not for texts"),
    ],
)
def test_expressions_that_do_not_balance(text, says):
    with pytest.raises(UnitError) as caught:
        units.infer(parse_expression(text), TABLE, where="s.toml")
    assert says in str(caught.value)
    assert str(caught.value).startswith("s.toml: ")


def test_t_with_a_unit_of_its_own_is_a_variable_like_any_other():
    assert units.infer("rate*t", {"rate": "1/year", "t": "year"}) == ""
    with pytest.raises(UnitError, match="needs a dimensionless argument"):
        units.infer("exp(rate)*t", {"rate": "1/year", "t": "year"})


@pytest.mark.parametrize(
    ("text", "unit", "left", "right"),
    [
        ("machine >= 1 EFLOP/s", "PFLOP/s", 2.0, 1000.0),
        ("machine >= 1", "PFLOP/s", 2.0, 1.0),
        ("10**3 <= machine", "PFLOP/s", 1000.0, 2.0),
        ("machine >= brain", "PFLOP/s", 2.0, 3.0),
        ("rate*(t - start) >= 1.9", "", 2.0, 1.9),
        ("rate >= 0.1*(t - start)", "", 0.5, 0.4),
        ("0.1*(t - start) < rate", "", 0.4, 0.5),
        ("n > 1", "", 2.0, 1.0),
    ],
)
def test_sides(text, unit, left, right):
    found = units.sides(parse_condition(text), TABLE)
    assert found.unit == unit
    values = [units.value_of(side, HERE, TABLE, target=unit, rates=found.rates) for side in (found.left, found.right)]
    assert values == pytest.approx([left, right], rel=1e-14)
    with pytest.raises(UnitError, match=r"s\.toml: units do not balance: 'machine' is \[PFLOP/s\], 'spend' is \[USD\]"):
        units.sides(parse_condition("machine >= spend"), TABLE, where="s.toml")
