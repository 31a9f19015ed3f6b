"""Protocols: how rows are chosen, what a fit by one does, and the figures they reproduce on the reference data."""

import csv

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, EmptyDataError, FormulaError, PluginContractError, UnknownNameError, UsageError
from forecast.fit.protocols import check_rule, keep_rows, protocol, protocol_starts

RUNS = {
    "Model Size": [1e8, 2e8, 4e8, 8e8, 1.6e9, 3.2e9, 6.4e9],
    "Training FLOP": [1e19, 1e20, 1e19, 1e20, 1e19, 1e20, 1e19],
    "loss": [3.0, 9.0, 4.0, 8.0, 5.0, 7.0, 6.0],
}

# --- rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("x <= 2", [True, True, False, False, False]),
        ("2*x > 5", [False, False, True, True, False]),
        ("drop 2 largest x", [True, True, False, False, False]),
        ("drop 1 smallest x", [False, True, True, True, False]),
        ("present x", [True, True, True, True, False]),
        ("present kind", [True, True, False, True, True]),
        ("kind is train", [True, False, False, True, True]),
    ],
)
def test_a_rule_marks_the_rows_that_pass(rule, kept):
    columns = {"x": np.array([1.0, 2.0, 3.0, 4.0, np.nan]), "kind": np.array(["train", "test", "", "train", "train"])}
    assert keep_rows(columns, (rule,)).tolist() == kept


def test_a_rule_sees_what_the_rules_before_it_left():
    columns = {"x": np.array([1.0, 2.0, 3.0, 4.0])}
    assert keep_rows(columns, ("x < 4", "drop 1 largest x")).tolist() == [True, True, False, False]


def test_dropping_the_largest_drops_what_ties_with_the_last_of_them():
    columns = {"x": np.array([1.0, 2.0, 3.0, 3.0, 4.0])}
    assert keep_rows(columns, ("drop 2 largest x",)).tolist() == [True, True, False, False, False]


@pytest.mark.parametrize("rule", ["", "x", "x == 1", "drop all x", "__import__('os') < 1", "x < y < 1"])
def test_what_is_no_rule_is_refused(rule):
    with pytest.raises(FormulaError):
        check_rule(rule)


@pytest.mark.parametrize("rule", ["z < 1", "drop 1 largest z", "present z", "z is 1"])
def test_a_rule_over_a_column_that_is_not_there_names_the_nearest(rule):
    with pytest.raises(UnknownNameError, match="zz"):
        keep_rows({"zz": np.ones(3)}, (rule,))


def test_dropping_more_rows_than_there_are_is_refused():
    with pytest.raises(DataError, match="only 2 rows"):
        keep_rows({"x": np.array([1.0, 2.0])}, ("drop 3 largest x",))


# --- select and fit ---------------------------------------------------------------------------------------------------


def test_select_says_which_rows_it_kept():
    chosen = protocol("besiroglu2024").select(RUNS)
    assert chosen["row"].values.tolist() == [0, 2]
    assert chosen.attrs == {"protocol": "scaling/chinchilla@besiroglu2024", "rows": 2, "rows_given": 7}
    assert chosen["D"].values == pytest.approx([1e19 / 6e8, 1e19 / 2.4e9])


def test_columns_that_are_there_already_stay():
    named = {"N": RUNS["Model Size"], "D": [1.0] * 7, "C": RUNS["Training FLOP"], "loss": RUNS["loss"]}
    assert protocol("besiroglu2024").select(named)["D"].values.tolist() == [1.0, 1.0]


def test_a_protocol_without_held_out_rows_says_so():
    with pytest.raises(EmptyDataError, match="holds out no row"):
        protocol("besiroglu2024").select(RUNS, held_out=True)


def test_select_names_the_column_it_misses():
    with pytest.raises(UnknownNameError, match="Model Size"):
        protocol("besiroglu2024").select({"loss": [1.0] * 9})


def test_a_fit_by_a_protocol_drops_no_row():
    law = forecast.law("scaling/chinchilla")
    rng = np.random.default_rng(0)
    data = {"N": 10 ** rng.uniform(7.5, 10, 60), "D": 10 ** rng.uniform(9, 11.5, 60)}
    data["loss"] = law.value(law.published("besiroglu2024").values, **data) * np.exp(0.01 * rng.standard_normal(60))
    fit = law.fit(data, protocol="besiroglu2024")
    assert fit.n == 60
    assert fit.objective_name == "huber_log"
    assert fit.delta == 1e-3


def test_what_a_protocol_says_cannot_be_said_again():
    law = forecast.law("scaling/chinchilla")
    for option in ({"objective": "least_squares"}, {"start": {"E": 1.0}}):
        with pytest.raises(UsageError, match="the protocol says it"):
            law.fit(RUNS, protocol="besiroglu2024", **option)


def test_a_protocol_belongs_to_its_law():
    with pytest.raises(UnknownNameError, match="besiroglu2024"):
        forecast.law("scaling/power").fit({"x": [1, 2, 3], "y": [1, 2, 3]}, protocol="besiroglu2024")
    with pytest.raises(UsageError, match="law of the catalogue"):
        forecast.Law("a*x", variables=["x"]).fit({"x": [1, 2], "y": [1, 2]}, protocol="besiroglu2024")


def test_an_unknown_protocol_names_the_nearest():
    with pytest.raises(UnknownNameError, match="besiroglu2024"):
        protocol("besiroglu2023")
    assert protocol("scaling/chinchilla@besiroglu2024").law == "scaling/chinchilla"


def test_the_grid_of_starts_is_the_full_product_in_its_coordinates():
    grid = protocol_starts(protocol("besiroglu2024").spec)
    assert {len(v) for v in grid.values()} == {5 * 5 * 5 * 6 * 6}
    assert sorted(set(np.log(grid["E"]).round(12))) == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert sorted(set(grid["alpha"])) == [0.0, 0.5, 1.0, 1.5, 2.0]


@pytest.mark.parametrize(
    "field", [{"coordinates": {"A": "sqrt"}}, {"bootstrap": True}, {"starts": {"A": 1.0}}, {"keep": "x < 1"}]
)
def test_a_record_with_a_wrong_field_is_refused(field):
    with pytest.raises(PluginContractError, match=next(iter(field))):
        forecast.ProtocolSpec(name="p", reference="r", **field)


# --- published figures ------------------------------------------------------------------------------------------------


def likelihood(residuals, delta=1e-3):
    """Twice the greatest log likelihood of Huber's density over its scale, as the source's code has it."""
    from scipy.optimize import minimize_scalar
    from scipy.stats import norm

    constant = np.log(np.sqrt(2 * np.pi) * (norm.cdf(delta) - norm.cdf(-delta)) + 2 / delta * np.exp(-(delta**2) / 2))

    def minus(log_scale):
        size = np.abs(residuals) / np.exp(log_scale)
        near = np.minimum(size, delta)
        return np.sum(0.5 * near * (2 * size - near)) + residuals.size * (log_scale + constant)

    return -2 * minimize_scalar(minus, bounds=(-16, -8), method="bounded", options={"xatol": 1e-10}).fun


@pytest.fixture(scope="module")
def chinchilla(reference_data):
    return reference_data / "scaling" / "chinchilla_epoch" / "svg_extracted_data.csv"


def test_besiroglu2024_reaches_the_true_optimum_on_its_240_points(chinchilla):
    points = protocol("besiroglu2024").select(chinchilla)
    assert points.attrs["rows"] == 240
    assert points.attrs["rows_given"] == 245
    fit = protocol("besiroglu2024").fit(points)
    assert fit.converged
    assert fit.objective <= 0.0010182740179
    assert fit.values["A"] == pytest.approx(477.826, abs=1e-3)
    assert fit.values["B"] == pytest.approx(2143.417, abs=1e-3)
    assert fit.values["E"] == pytest.approx(1.81722, abs=5e-6)
    assert fit.values["alpha"] == pytest.approx(0.347311, abs=1e-6)
    assert fit.values["beta"] == pytest.approx(0.367172, abs=1e-6)


def test_the_likelihood_ratio_against_hoffmann_is_84(chinchilla):
    law = forecast.law("scaling/chinchilla")
    points = protocol("besiroglu2024").select(chinchilla)

    def residuals(values):
        return np.log(points["loss"].values / law.value(values, N=points["N"].values, D=points["D"].values))

    from scipy.optimize import minimize

    # the refit is the maximum of the same likelihood, near the source's 482.01, 2085.43, 1.8169, .3478, .3658
    near = law.published("besiroglu2024-mle").values
    size = {"E": 0.002, "A": 0.02, "alpha": 0.001, "B": 0.05, "beta": 0.001}

    def at(step):
        moved = {n: near[n] + s * size[n] for n, s in zip(law.parameters, step, strict=True)}
        return moved | {
            n: near[n] * np.exp(s * size[n]) for n, s in zip(law.parameters, step, strict=True) if n in "AB"
        }

    step = np.zeros(5)
    for _ in range(3):
        step = minimize(lambda u: -likelihood(residuals(at(u))), step, method="Nelder-Mead").x
    found = likelihood(residuals(at(step))) - likelihood(residuals(law.published("hoffmann2022-a3").values))
    assert round(found, 1) == 84.0
    for name, value in at(step).items():
        assert abs(value - near[name]) < 0.05 * float(law.published("besiroglu2024-mle").stderr[name])


def test_hoffmann2022_a3_is_not_the_optimum_of_its_own_protocol_on_the_points_of_its_figure(chinchilla):
    law = forecast.law("scaling/chinchilla")
    points = protocol("hoffmann2022-a3").select(chinchilla)
    assert points.attrs["rows"] == 245
    fit = law.fit(points, protocol="hoffmann2022-a3")
    stated = law.published("hoffmann2022-a3").values
    size = np.abs(np.log(points["loss"].values / law.value(stated, N=points["N"].values, D=points["D"].values)))
    near = np.minimum(size, 1e-3)
    assert fit.converged
    assert fit.objective < 0.95 * np.sum(0.5 * near * (2 * size - near))


@pytest.fixture(scope="module")
def repeated(reference_data):
    return reference_data / "scaling" / "datablations" / "datablations_182_outliers_removed.csv"


@pytest.mark.parametrize(
    ("r_d", "r_n", "stated"), [(15.387756, 5.309743, 0.01582594), (46.99, 2.330, 0.01580738), (95.4, 1.706, 0.01580466)]
)
def test_muennighoff2023_has_the_stated_objective_at_the_stated_points(repeated, r_d, r_n, stated):
    law = forecast.law("scaling/data-constrained")
    runs = protocol("muennighoff2023").select(repeated)
    assert runs.attrs["rows"] == 182
    values = {**law.published("muennighoff2023").values, "R_D": r_d, "R_N": r_n}
    predicted = law.value(values, N=runs["params"].values, D=runs["tokens"].values, U=runs["unique_tokens"].values)
    size = np.abs(np.log(predicted / runs["loss"].values))
    near = np.minimum(size, 1e-3)
    assert np.sum(0.5 * near * (2 * size - near)) == pytest.approx(stated, abs=5.1e-9)


def test_muennighoff2023_is_a_point_on_a_ridge_with_a_better_end(repeated):
    fit = protocol("muennighoff2023").fit(protocol("muennighoff2023").select(repeated))
    assert set(fit.params) == {"R_D", "R_N"}
    assert fit.objective <= 0.015807
    assert fit.objective == pytest.approx(0.01580466, abs=5e-9)


def test_muennighoff2023_does_not_identify_r_d(repeated):
    fit = protocol("muennighoff2023").fit(protocol("muennighoff2023").select(repeated))
    low, high = fit.interval("R_D", 0.95)
    assert low < 15.387756 < high  # the published value is inside, far from the optimum
    assert high > 50 * low
    assert "R_D" in fit.diagnostics.flagged
    assert "not identified: " in fit.verdict


def test_bnsl_addition_reproduces_parameters_and_both_errors(reference_data):
    law, path = forecast.law("scaling/broken-power"), reference_data / "scaling" / "bnsl" / "four_digit_addition.csv"
    chosen = protocol("bnsl-addition")
    train, test = chosen.select(path), chosen.select(path, held_out=True)
    assert (train.sizes["row"], test.sizes["row"]) == (14, 3)
    stated = law.published("bnsl-addition").values

    def rmse(values, rows, shift):
        residuals = np.log(law.value(values, x=rows["x"].values) + shift) - np.log(rows["y"].values + shift)
        return float(np.sqrt(np.mean(residuals**2)))

    assert rmse(stated, train, 1) == pytest.approx(0.000402444, abs=5e-10)
    assert rmse(stated, test, 1) == pytest.approx(0.004178990, abs=5e-10)
    assert rmse(stated, train, 0) == pytest.approx(0.00059849, abs=5e-9)
    assert rmse(stated, test, 0) == pytest.approx(0.0109157, abs=5e-8)
    fit = chosen.fit(train)
    found = {**fit.values, "a": fit.values["a"] - 1}  # the protocol fits y + 1
    for name, value in stated.items():
        assert found[name] == pytest.approx(value, rel=1e-5)
    assert rmse(found, train, 1) <= 0.0004024443


@pytest.mark.parametrize(
    ("name", "slope", "intercept", "sizes", "train_error", "test_error"),
    [
        ("ruan2024", 1.044, -7.027, (44, 29), "2.59e-04", "1.33e-02"),
        ("ruan2024-persian-qa", 0.570, -6.403, (40, 25), "2.70e-04", "2.08e-02"),
    ],
)
def test_ruan2024_reproduces_the_compute_baseline(
    reference_data, name, slope, intercept, sizes, train_error, test_error
):
    folder = reference_data / "scaling" / "obsscaling"
    tables = []
    for part in ("base_llm_benchmark_eval", "base_llm_emergent_capability_eval"):
        with (folder / f"{part}.csv").open(encoding="utf-8") as lines:
            tables.append({row["Model"]: row for row in csv.DictReader(lines)})
    models = [{**tables[0][m], **tables[1][m]} for m in tables[1] if m in tables[0]]
    wanted = ("FLOPs (1E21)", "word_unscrambling_2_exact_match", "parsinlu_qa_2_acc")
    data = {column: [float(m[column] or "nan") for m in models] for column in wanted}
    chosen = protocol(name)
    train, test = chosen.select(data), chosen.select(data, held_out=True)
    assert (train.sizes["row"], test.sizes["row"]) == sizes
    fit = chosen.fit(train)
    assert round(fit.values["beta"], 3) == slope
    assert round(fit.values["alpha"], 3) == intercept

    def error(rows):
        score = rows["word_unscrambling_2_exact_match"].values
        if name == "ruan2024-persian-qa":
            score = (rows["parsinlu_qa_2_acc"].values - 0.25) / 0.75
        return float(np.mean((fit.law.value(fit.values, S=rows["S"].values) - score) ** 2))

    assert f"{error(train):.2e}" == train_error
    assert f"{error(test):.2e}" == test_error
