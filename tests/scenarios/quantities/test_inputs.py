"""Regimes, schedules, own draws, what is fitted, correlated and known besides: how they are read and refused."""

import tomllib

import numpy as np
import pytest
from scipy.integrate import quad

import forecast
from forecast import Scenario
from forecast.errors import ForecastError, ScenarioError, UnitError, UnknownNameError
from forecast.scenarios.graph import build
from forecast.scenarios.kinds.own_draws import OwnDraws
from forecast.scenarios.kinds.regime import Regime
from forecast.scenarios.kinds.schedule import Schedule
from forecast.scenarios.quantities.correlation import Correlation
from toolkit import inputs

TEXT = (
    """
start = 2025
until = 2030
"""
    + inputs("posterior.csv", "x")
    + """\
[[correlations]]
of = ["raw", "exact", "kind"]
rho = 0.3
[update.req]
log_likelihood = "-8*10**(0.3*(17 - req))"
"""
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "posterior.csv").write_text("x,y,note\n1,10,a\n2,20,b\n3,30,c\n", encoding="utf-8")
    return tmp_path


def load(folder, text):
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return build(Scenario.load(path))


def test_every_form_is_read_from_toml(folder):
    graph = load(folder, TEXT)
    kinds = {name: type(node.quantity).__name__ for name, node in graph.nodes.items()}
    assert kinds == {"kind": "Regime", "plan": "Schedule", "mine": "OwnDraws", "raw": "Prior", "exact": "Prior",
                     "req": "MomentFit"}  # fmt: skip
    assert graph.nodes["kind"].labels == ("exponential", "super", "sub")
    assert graph.nodes["raw"].labels == ()
    plan = graph.nodes["plan"].quantity
    assert plan == Schedule(points=((2026.0, 2.6), (2029 + 182 / 365, 2.0)), as_="rate", between="log")
    assert graph.nodes["mine"].own_draws.tolist() == [1, 2, 3]
    assert graph.nodes["exact"].quantity.distribution.points == ((0.05, 1.0), (0.5, 2.0), (0.95, 9.0))
    assert str(graph.nodes["raw"].quantity.distribution) == "normal, p10 = 1.46, p90 = 2.46, truncated to -1 to inf"
    assert list(graph.correlated) == ["exact", "kind"]
    assert graph.weighed_by == ("req",)


def test_a_mapping_says_the_same_as_a_file(folder):
    record = tomllib.loads(TEXT)
    record["quantities"]["mine"]["draws"] = str(folder / "posterior.csv")
    mine, theirs = build(Scenario.from_dict(record)), load(folder, TEXT)
    assert {n: node.quantity for n, node in mine.nodes.items()} == {n: x.quantity for n, x in theirs.nodes.items()}
    assert mine.correlated == theirs.correlated


# --- schedules -------------------------------------------------------------------------------------------------------

TIME = np.array([2024.0, 2025.0, 2026.0, 2027.25, 2028.0, 2029.0, 2033.0])
POINTS = ((2026.0, 2.6), (2028.0, 2.0), (2029.0, 0.5))


def level(between, t):
    dates, values = zip(*POINTS, strict=True)
    if between == "step":
        return values[max([i for i, d in enumerate(dates) if d <= t], default=0)]
    scale = np.log if between == "log" else np.asarray
    found = np.interp(t, dates, scale(values))
    return np.exp(found) if between == "log" else found


@pytest.mark.parametrize("between", ["step", "linear", "log"])
def test_a_level_is_the_value_by_date(between):
    made = Schedule(points=POINTS, as_="level", between=between).values(TIME)
    assert made == pytest.approx([level(between, t) for t in TIME], rel=1e-14)
    assert made[:2] == pytest.approx([2.6, 2.6], rel=1e-14)
    assert made[-1] == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("between", ["step", "linear", "log"])
def test_a_rate_is_integrated(between):
    """Against numerical integration, piece by piece."""
    made = Schedule(points=POINTS, as_="rate", between=between).values(TIME)
    assert made[0] == 1.0
    for i in range(1, len(TIME)):
        inside = [d for d, _ in POINTS if TIME[0] < d < TIME[i]]
        total = sum(
            quad(lambda t: np.log(level(between, t)), a, np.nextafter(b, 0), epsabs=1e-13, epsrel=1e-13)[0]
            for a, b in zip([TIME[0], *inside], [*inside, TIME[i]], strict=True)
        )
        assert np.log(made[i]) == pytest.approx(total, abs=1e-10)


def test_rates_that_hardly_differ_are_integrated_as_one():
    for off in (0.0, 1e-15, 1e-12, 1e-9, 1e-6):
        made = Schedule(points=((2020.0, 2.0), (2030.0, 2.0 * (1 + off))), as_="rate", between="linear")
        # the mean of the logarithm of a line that hardly rises is, to first order, the middle's
        assert np.log(made.values(np.array([2020.0, 2030.0]))[1]) == pytest.approx(10 * np.log(2.0 * (1 + off / 2)))


def test_a_rate_of_one_date_is_exponential():
    made = Schedule(points=((2030.0, 2.0),), as_="rate", between="log").values(np.arange(2025.0, 2036.0))
    assert made == pytest.approx(2.0 ** np.arange(11), rel=1e-13)


# --- regimes and correlations ----------------------------------------------------------------------------------------


def test_a_uniform_chooses_a_regime_by_its_probability():
    made = Regime(labels=("a", "never", "b"), probabilities=(0.25, 0.0, 0.75))
    assert made.codes(np.array([2.0**-54, 0.2499, 0.25, 0.9, 1 - 2.0**-53])).tolist() == [0, 0, 2, 2, 2]


def test_a_regime_is_set_by_its_label(folder):
    graph = build(Scenario.load(_written(folder, TEXT)), {"kind": "super"})
    assert graph.nodes["kind"].fixed == 1.0
    with pytest.raises(UnknownNameError, match="set kind: unknown label 'supper'; did you mean 'super'"):
        build(Scenario.load(_written(folder, TEXT)), {"kind": "supper"})


def _written(folder, text):
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_weights_of_normal_scores_give_the_matrix():
    matrix = ((1.0, 0.7, -0.2), (0.7, 1.0, 0.1), (-0.2, 0.1, 1.0))
    factor = Correlation(of=("a", "b", "c"), matrix=matrix).factor()
    np.testing.assert_allclose(factor @ factor.T, 2 * np.sin(np.pi / 6 * np.array(matrix)), atol=1e-12)


# --- what is refused -------------------------------------------------------------------------------------------------

X = "[quantities.x]\nnormal = [1, 2]\nunit = ''\n"
XY = X + "[quantities.y]\nlognormal = [1, 2]\nunit = 'FLOP'\n"
S = "[quantities.s]\nas = 'level'\nunit = ''\nschedule = "


def q(text):
    return f"[quantities.k]\n{text}\n"


WRONG = {
    "draw no table": (q("draw = 3"), ScenarioError, "quantities.k.draw: expected two or more labels"),
    "draw of one": (q("draw = {a = 1}"), ScenarioError, "quantities.k.draw: expected two or more labels"),
    "draw that sums to .9": (
        q("draw = {a = 0.45, b = 0.45}"), ScenarioError,
        "quantities.k.draw: expected probabilities that sum to 1; their sum is 0.9"),
    "negative probability": (q("draw = {a = -0.5, b = 1.5}"),
        ScenarioError, "draw.a: expected a probability, got -0.5"),
    "probability no number": (q("draw = {a = 'x', b = 1}"), ScenarioError, "draw.a: expected a finite number, got 'x'"),
    "label with a blank": (q("draw = {'a b' = 0.5, c = 0.5}"), ScenarioError, "expected labels of letters"),
    "draw with a unit": (q("draw = {a = 0.5, b = 0.5}\nunit = ''"), UnknownNameError, "unknown key 'unit'"),
    "schedule empty": (S + "[]", ScenarioError, "quantities.s.schedule: expected dates and values"),
    "schedule no pairs": (S + "[2026, 2]",
        ScenarioError, "expected a date and a value, such as [2026, 2.6], got '2026'"),
    "schedule that falls back": (S + "[[2027, 1], [2026, 2]]", ScenarioError, "dates that rise, got 2026 after 2027"),
    "schedule twice a date": (S + "[[2026, 1], [2026, 2]]", ScenarioError, "dates that rise, got 2026 after 2026"),
    "schedule far away": (S + "[[20260, 1]]", ScenarioError, "schedule: expected a year from 1 to 9999, got '20260'"),
    "schedule without a value": (S + "[[2026, nan]]", ScenarioError, "schedule: expected a finite number, got 'nan'"),
    "schedule of zero in logs": (
        S + "[[2026, 1], [2028, 0]]\nbetween = 'log'", ScenarioError,
        "expected values above 0, got 0 in 2028: a logarithm is taken"),
    "rate of zero": (
        "[quantities.s]\nas = 'rate'\nschedule = [[2026, 0]]", ScenarioError,
        "expected values above 0, got 0 in 2026: a rate is a factor a year"),
    "rate with a unit": (
        "[quantities.s]\nas = 'rate'\nunit = 'FLOP'\nschedule = [[2026, 2]]", UnitError,
        "quantities.s.unit: a rate makes a factor that is 1 at the first step"),
    "neither rate nor level": (
        "[quantities.s]\nschedule = [[2026, 1]]", ScenarioError, "quantities.s.as: is missing"),
    "unknown as": (
        "[quantities.s]\nas = 'levl'\nschedule = [[2026, 1]]",
        UnknownNameError, "as: unknown word 'levl'; did you mean"),
    "unknown between": (S + "[[2026, 1]]\nbetween = 'lines'",
        UnknownNameError, "between: unknown word 'lines'; did you"),
    "level without a unit": (
        "[quantities.s]\nas = 'level'\nschedule = [[2026, 1]]", ScenarioError, "quantities.s.unit: is missing"),
    "draws without a column": (q("draws = 'posterior.csv'\nunit = ''"),
        ScenarioError, "quantities.k.column: is missing"),
    "draws without a unit": (q("draws = 'posterior.csv'\ncolumn = 'x'"),
        ScenarioError, "quantities.k.unit: is missing"),
    "unknown column": (
        q("draws = 'posterior.csv'\ncolumn = 'z'\nunit = ''"), UnknownNameError, "unknown column 'z'"),
    "column of text": (
        q("draws = 'posterior.csv'\ncolumn = 'note'\nunit = ''"), ScenarioError,
        "quantities.k.column: 'note': expected a column of numbers"),
    "column with a gap": (
        q("draws = 'gap.csv'\ncolumn = 'x'\nunit = ''"), ScenarioError,
        "quantities.k.column: 'x': 1 of 3 cells are no finite numbers"),
    "draws elsewhere": (
        q("draws = '../posterior.csv'\ncolumn = 'x'\nunit = ''"), ScenarioError,
        "quantities.k.draws: '../posterior.csv' leaves the scenario's folder"),
    "two files of one name": (
        q("draws = 'posterior.csv'\ncolumn = 'x'\nunit = ''")
        + "[quantities.l]\ndraws = 'sub/posterior.csv'\ncolumn = 'x'\nunit = ''",
        ScenarioError, "quantities.l.draws: another file of this name is read by 'k'"),
    "fitted to nothing": (q("fitted = 'normal'"), ScenarioError, "quantities.k.of: is missing"),
    "fitted as what": (
        X + q("fitted = 'norml'\nof = 'x'"), UnknownNameError, "unknown family 'norml'; did you mean 'normal'"),
    "fitted to the unknown": (
        X + q("fitted = 'normal'\nof = 'xx'"),
        UnknownNameError, "quantities.k.of needs an input: unknown quantity 'xx'"),
    "fitted to itself": (q("fitted = 'normal'\nof = 'k'"), ForecastError, "needs itself: k → k"),
    "one bracket": (XY + "[correlations]\nof = ['x', 'y']\nrho = 0.5", ScenarioError, "expected [[correlations]]"),
    "correlation of one": (XY + "[[correlations]]\nof = ['x']\nrho = 0.5", ScenarioError, "expected two or more names"),
    "correlation of nothing": (XY + "[[correlations]]\nrho = 0.5", ScenarioError, "correlations[1].of: is missing"),
    "correlation of twice": (
        XY + "[[correlations]]\nof = ['x', 'x']\nrho = 0.5", ScenarioError, "'x' stands there twice"),
    "in two groups": (
        XY + "[quantities.z]\nnormal = [1, 2]\nunit = ''\n[[correlations]]\nof = ['x', 'y']\nrho = 0.5\n"
        "[[correlations]]\nof = ['z', 'y']\nrho = 0.5",
        ScenarioError, "correlations[2].of: 'y' stands there in group 1 too: put both into one"),
    "correlation with the unknown": (
        XY + "[[correlations]]\nof = ['x', 'yy']\nrho = 0.5",
        UnknownNameError, "unknown quantity, input or fitted number 'yy'; did you"),
    "correlation with a formula": (
        XY + "[quantities.z]\nexpression = 'x'\n[[correlations]]\nof = ['x', 'z']\nrho = 0.5",
        ScenarioError, "'z' has no distribution of its own to be drawn from"),
    "correlation with a number": (
        XY + "[quantities.z]\nvalue = 3\nunit = ''\n[[correlations]]\nof = ['x', 'z']\nrho = 0.5",
        ScenarioError, "'z' has no distribution of its own to be drawn from"),
    "rho and matrix": (
        XY + "[[correlations]]\nof = ['x', 'y']\nrho = 0.5\nmatrix = [[1, 0.5], [0.5, 1]]",
        ScenarioError, "expected rho, or a matrix, and not both"),
    "neither rho": (XY + "[[correlations]]\nof = ['x', 'y']", ScenarioError, "expected rho, or a matrix"),
    "rho of one": (XY + "[[correlations]]\nof = ['x', 'y']\nrho = 1",
        ScenarioError, "rho: expected a rank correlation"),
    "rho in per cent": (XY + "[[correlations]]\nof = ['x', 'y']\nrho = 70", ScenarioError, "between -1 and 1, got 70"),
    "matrix too small": (
        XY + "[[correlations]]\nof = ['x', 'y']\nmatrix = [[1]]", ScenarioError, "expected 2 rows of 2 numbers"),
    "matrix one way": (
        XY + "[[correlations]]\nof = ['x', 'y']\nmatrix = [[1, 0.2], [0.3, 1]]",
        ScenarioError, "expected the same both ways, got 0.3 and 0.2"),
    "matrix off diagonal": (
        XY + "[[correlations]]\nof = ['x', 'y']\nmatrix = [[2, 0.2], [0.2, 2]]",
        ScenarioError, "expected 1 on the diagonal"),
    "matrix that contradicts itself": (
        XY + "[quantities.z]\nnormal = [1, 2]\nunit = ''\n[[correlations]]\nof = ['x', 'y', 'z']\n"
        "matrix = [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]",
        ScenarioError, "the correlations contradict each other: their matrix is not positive definite"),
    "update of the unknown": (
        X + "[update.y]\nlog_likelihood = 'x'", UnknownNameError, "update: unknown quantity 'y'"),
    "update by the unknown": (
        X + "[update.x]\nlog_likelihood = 'xx'", UnknownNameError, "update.x.log_likelihood: unknown quantity 'xx'"),
    "update by nothing": (X + "[update.x]", ScenarioError, "update.x.log_likelihood: is missing"),
    "update by a number": (X + "[update.x]\nlog_likelihood = '-3'", ScenarioError, "is the same in every world"),
    "update with a unit": (XY + "[update.y]\nlog_likelihood = '-y'", UnitError, "update.y.log_likelihood"),
    "update by likelihood": (
        X + "[update.x]\nlikelihood = 'x'",
        UnknownNameError, "unknown key 'likelihood'; did you mean 'log_likelihood'"),
    "update no formula": (X + "[update.x]\nlog_likelihood = 'x +'", ForecastError, "update.x.log_likelihood"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused_with_file_and_reason(folder, case):
    text, kind, says = WRONG[case]
    (folder / "gap.csv").write_text('x\n1\n""\n3\n', encoding="utf-8")
    (folder / "sub").mkdir()
    (folder / "sub" / "posterior.csv").write_text("x\n1\n2\n", encoding="utf-8")
    with pytest.raises(kind) as caught:
        load(folder, text)
    assert says in str(caught.value)
    assert "mine.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_ranking_needs_common_worlds():
    record = {
        "start": 2025, "until": 2030, "choices": {"e": ["dettmers-2015", "carlsmith-2020"]},
        "quantities": {"x": {"model": "brain/{e}"}, "one": {"value": 1e18, "unit": "FLOP/s"}},
        "update": {"x": {"log_likelihood": "-x/one"}},
        "questions": {"r": {"rank": "x", "over": "e"}},
    }  # fmt: skip
    with pytest.raises(ScenarioError, match=r"r.over: \[update\] weighs the worlds of each value of 'e' on its own"):
        build(Scenario.from_dict(record))


def test_a_folder_that_the_user_allows_may_hold_the_draws(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "far.csv").write_text("x\n7\n8\n", encoding="utf-8")
    text = f"[quantities.k]\ndraws = '{(other / 'far.csv').as_posix()}'\ncolumn = 'x'\nunit = ''\n"
    with pytest.raises(ScenarioError, match="leaves the scenario's folder"):
        load(folder, text)
    with forecast.allow(paths=[other]):
        assert load(folder, text).nodes["k"].own_draws.tolist() == [7, 8]


def test_a_file_may_be_moved():
    here, there = (OwnDraws(draws=f"{folder}/posterior.csv", column="x", unit="") for folder in ("here", "there"))
    assert here.stream == there.stream
