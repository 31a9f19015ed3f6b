"""Bits: the figures of the scaling laws for precision, and what cannot be."""

import pytest

import forecast
from forecast import tables
from forecast.errors import UsageError
from forecast_emergence import bits


def test_the_best_precision_is_seven_bits():
    assert bits.best_bits() == pytest.approx(7.00, abs=0.005)


def test_without_the_hidden_offset_it_would_be_three_and_a_half(monkeypatch):
    bare = {k: 0.0 if k.startswith("n_") else v for k, v in bits.CONSTANTS.items()}
    monkeypatch.setattr(bits, "CONSTANTS", bare)
    assert bits.best_bits() == pytest.approx(3.47, abs=0.005)


def test_parameters_kept():
    assert [bits.kept(w=p, a=p, kv=p) for p in (16, 8, 4)] == pytest.approx([0.9937, 0.8278, 0.1910], abs=5.1e-5)


def test_loss_of_quantising_and_critical_tokens():
    found = [bits.quantisation_loss(30e6, 26e9, p) for p in (3, 4, 5, 6)]
    assert found == pytest.approx([0.5858, 0.1078, 0.0198, 0.0036], abs=5.1e-5)
    # the published figures have three digits
    assert [f"{bits.critical_tokens(30e6, p):.2e}" for p in (3, 4, 5)] == ["5.32e+09", "2.88e+10", "1.56e+11"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: bits.quantisation_loss(0, 26e9, 4), "quantisation_loss: params: expected more than 0, got 0"),
        (lambda: bits.quantisation_loss(30e6, -1, 4), "tokens: expected more than 0, got -1"),
        (
            lambda: bits.critical_tokens(30e6, 1e9),
            r"critical_tokens: bits: expected more than 0 and at most 64, got 1e\+09",
        ),
        (lambda: bits.critical_tokens(-1, 4), "params: expected more than 0, got -1"),
        (lambda: bits.kept(w=-1), r"keep 1 - exp\(1/2\.6745"),
    ],
)
def test_what_is_no_size_is_refused(call, says):
    with pytest.raises(UsageError, match=says):
        call()


def test_at_the_critical_tokens_the_loss_is_lowest():
    c = bits.CONSTANTS

    def whole(tokens):
        return c["B"] * tokens ** -c["beta"] + bits.quantisation_loss(30e6, tokens, 4)

    at = bits.critical_tokens(30e6, 4)
    assert whole(at) < min(whole(0.99 * at), whole(1.01 * at))


def test_the_laws_say_the_same_as_the_functions():
    critical = forecast.law("emergence/critical-tokens").published("kumar2024").predict(N=30e6, P=4.0)
    assert float(critical["median"]) == pytest.approx(bits.critical_tokens(30e6, 4), rel=1e-12)
    kept = forecast.law("emergence/effective-parameters").published("kumar2024-weights").predict(N=1e8, P=4.0)
    assert float(kept["median"]) == pytest.approx(1e8 * bits.kept(w=4), rel=1e-12)
    added = forecast.law("scaling/precision-ptq").published("kumar2024").predict(N=30e6, D=26e9, P=4.0)
    assert float(added["median"]) == pytest.approx(bits.quantisation_loss(30e6, 26e9, 4), rel=1e-12)
    whole = forecast.law("scaling/precision").published("kumar2024")
    loss = whole.predict(N=220e6, D=26e9, P_w=1e3, P_a=1e3, P_kv=1e3)
    assert float(loss["median"]) == pytest.approx(3.1966, abs=5e-5)


def test_the_constants_are_those_of_the_table():
    rows = tables.to_columns("datasets/precision-constants")
    shipped = {
        n: v
        for n, f, v in zip(rows.column("constant"), rows.column("fit"), rows.numeric("value"), strict=True)
        if f == "table-2"
    }
    assert shipped == dict(bits.CONSTANTS)


@pytest.mark.parametrize(("tensor", "named"), [("w", "weights"), ("a", "activations"), ("kv", "keys and values")])
def test_bits_that_keep_nothing_name_both_sides(tensor, named):
    least = bits.least_bits(tensor)
    said = rf"{named} in .* bits keep .* so N_eff <= 0: the law needs more than {least:.2f} bits"
    with pytest.raises(UsageError, match=said):
        bits.kept(**{tensor: least})
    assert bits.kept(**{tensor: least + 0.01}) > 0


def test_a_prediction_where_nothing_is_kept_names_both_sides():
    whole = forecast.law("scaling/precision").published("kumar2024")
    with pytest.raises(
        UsageError,
        match=r"activations in P_a bits keep \(N_eff <= 0 .*\): expected 1 - exp.* > 0, got -0\.05112 at P_a = 3, .*"
        r"\(number 2, counted from 1\)",
    ):
        whole.predict(N=220e6, D=26e9, P_w=8.0, P_a=[8.0, 3.0], P_kv=8.0)
    one = forecast.law("emergence/effective-parameters").published("kumar2024-keys-and-values")
    with pytest.raises(UsageError, match=r"N_eff <= 0.* at P = 2, gamma = 0\.9578, offset = 2\.4185$"):
        one.predict(N=1e8, P=2.0)
    assert float(one.predict(N=1e8, P=3.0)["median"]) > 0
