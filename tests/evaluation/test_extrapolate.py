"""Extrapolation of curves and series: what must hold for any of them, and what is refused."""

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, UsageError
from forecast.evaluation import extrapolate as extrapolating
from forecast.fit.pool.law_pool import CURVE_FAMILIES, local_noise, pool
from toolkit import sample

STEPS = np.geomspace(1e3, 1e6, 40)


def loss(seed: int = 0, scale: float = 0.01, follow: float = 0.0, x: np.ndarray = STEPS) -> np.ndarray:
    """A saturating power law whose residuals follow each other."""
    rng = np.random.default_rng(seed)
    residual = np.zeros(x.size)
    for i, shock in enumerate(rng.standard_normal(x.size) * np.sqrt(1 - follow**2)):
        residual[i] = shock + follow * (residual[i - 1] if i else shock)
    return (1.7 + 40 * x**-0.4) * np.exp(scale * residual)


def test_units_of_x_and_y_do_not_matter():
    plain = forecast.extrapolate(STEPS, loss(), to=[2e6, 1e7])
    scaled = forecast.extrapolate(STEPS * 512, 3 * loss(), to=[2e6 * 512, 1e7 * 512])
    for name in ("median", "lower", "upper"):
        np.testing.assert_allclose(getattr(scaled, name), 3 * getattr(plain, name), rtol=1e-9)
    assert [row["name"] for row in scaled.laws] == [row["name"] for row in plain.laws]


def test_a_rising_curve_is_the_reciprocal_of_a_falling_one():
    falls = forecast.extrapolate(STEPS, loss(), to=2e6)
    rises = forecast.extrapolate(STEPS, 1 / loss(), to=2e6)
    assert rises.rises
    assert not falls.rises
    np.testing.assert_allclose(rises.median * falls.median, 1, rtol=1e-9)
    np.testing.assert_allclose(rises.upper * falls.lower, 1, rtol=1e-9)
    assert "reciprocal" in rises.summary()


def test_quantiles_are_those_of_the_band_whichever_way_the_curve_goes():
    shares = np.array([0.05, 0.5, 0.95])
    for y in (loss(), 1 / loss()):
        answer = forecast.extrapolate(STEPS, y, to=[2e6, 1e7], level=0.9)
        found = extrapolating.forecast_quantiles(STEPS, y, np.array([2e6, 1e7]), shares)
        np.testing.assert_allclose(found.T, [answer.lower, answer.median, answer.upper], rtol=1e-9)


def test_the_answer_lies_where_the_law_goes():
    answer = forecast.extrapolate(STEPS, loss(scale=0.001), to=[2e6, 1e7])
    np.testing.assert_allclose(answer.median, 1.7 + 40 * answer.to**-0.4, rtol=0.015)
    assert (answer.lower < answer.median).all()
    assert (answer.median < answer.upper).all()


def test_the_band_widens_with_distance_and_with_the_level():
    near, far = (forecast.extrapolate(STEPS, loss(), to=to) for to in (1.5e6, 1e9))
    assert far.upper[0] / far.lower[0] > 2 * (near.upper[0] / near.lower[0] - 1) + 1
    half = forecast.extrapolate(STEPS, loss(), to=1.5e6, level=0.5)
    assert near.lower[0] < half.lower[0] < half.upper[0] < near.upper[0]
    assert half.median[0] == near.median[0]


@pytest.mark.parametrize("follow", [pytest.param(0.0, marks=pytest.mark.slow), 0.9])
def test_bands_hold_where_the_law_is_in_the_pool(follow):
    beyond = np.append(STEPS, 3e6)
    inside = 0
    for seed in range(40):
        y = loss(seed, follow=follow, x=beyond)
        answer = forecast.extrapolate(STEPS, y[:-1], to=3e6)
        inside += answer.lower[0] <= y[-1] <= answer.upper[0]
    assert inside >= 34  # 85 %: a pool that says 90 % may hold more, and by chance a few less


def test_form_is_part_of_the_doubt():
    """What one law alone says differs from what the others say, and the band spans it."""
    y = loss(scale=0.003)
    answer = forecast.extrapolate(STEPS, y, to=1e9)
    assert {row["name"] for row in answer.laws} == {*(form.law for form in CURVE_FAMILIES), "last-value", "drift"}
    assert sum(row["weight"] for row in answer.laws) == pytest.approx(1, abs=1e-9)
    assert all(answer.lower[0] < row["says"] < answer.upper[0] for row in answer.laws if row["name"] != "drift")


def test_points_of_one_x_are_reduced_by_a_rule_only():
    twice = np.repeat(STEPS, 2)
    y = loss()
    pair = np.column_stack([y * 1.01, y / 1.01]).ravel()
    with pytest.raises(DataError, match=r"2 rows at each place of 'x' .*: say --reduce mean, median"):
        forecast.extrapolate(twice, pair, to=2e6)
    alone = forecast.extrapolate(STEPS, y, to=2e6).median
    reduced = forecast.extrapolate(twice, pair, to=2e6, reduce="mean")
    np.testing.assert_allclose(reduced.median, alone, rtol=1e-9)
    assert "the mean of 80 rows at 40 places" in reduced.warnings[0]
    best = forecast.extrapolate(twice, pair, to=2e6, reduce="best").median
    np.testing.assert_allclose(best, forecast.extrapolate(STEPS, y / 1.01, to=2e6).median, rtol=1e-9)


def test_step_0_of_a_log_is_left_out_and_said():
    answer = forecast.extrapolate(np.append(0.0, STEPS), np.append(11.0, loss()), to=2e6)
    assert answer.median == forecast.extrapolate(STEPS, loss(), to=2e6).median
    assert f"1 of {STEPS.size + 1} points left out: x is 0" in answer.warnings[0]


def test_rows_come_in_any_order_and_every_place_is_answered_as_asked():
    y, shuffled = loss(), np.random.default_rng(0).permutation(STEPS.size)
    sorted_, mixed = (
        forecast.extrapolate(x, y, to=to)
        for x, y, to in ((STEPS, y, [2e6, 3e6, 5e6]), (STEPS[shuffled], y[shuffled], [3e6, 5e6, 2e6, 3e6]))
    )
    np.testing.assert_array_equal(mixed.x, STEPS)
    np.testing.assert_array_equal(mixed.to, [3e6, 5e6, 2e6, 3e6])
    for name in ("median", "lower", "upper"):
        np.testing.assert_array_equal(getattr(mixed, name), getattr(sorted_, name)[[1, 2, 0, 1]])
    assert mixed.sentence == sorted_.sentence  # of the farthest
    assert mixed.laws == sorted_.laws
    assert mixed.dataset().sizes["point"] == 4
    dates = forecast.extrapolate(DATES[::-1], GROWTH[::-1], to=["2026-01-01", "2025-01-01", "2026-01-01"])
    plain = forecast.extrapolate(DATES, GROWTH, to=["2025-01-01", "2026-01-01"])
    np.testing.assert_array_equal(dates.median, plain.median[[1, 0, 1]])


def test_what_comes_later_does_not_reach_the_trial_on_earlier_points():
    y = loss()
    first = extrapolating._hindcast_scores(STEPS, y, 4.0, 0.9)
    moved = y.copy()
    moved[-1] *= 1.5
    again = extrapolating._hindcast_scores(STEPS, moved, 4.0, 0.9)
    assert first["from"] == again["from"]
    assert first["points"] == again["points"]
    assert again["held"] < first["held"]


def test_it_says_how_far_it_goes_and_warns_where_the_record_ends():
    near, far = (forecast.extrapolate(STEPS, loss(), to=to) for to in (2e6, 1e8))
    assert near.beyond == pytest.approx(np.log10(2), abs=1e-12)
    assert near.warnings == ()
    assert "2.0 decades beyond the data" in far.warnings[0]
    assert "2.00 decades beyond 40 points" in far.sentence
    few = forecast.extrapolate(STEPS[::7], loss()[::7], to=2e6)
    assert few.warnings == ()  # of real curves, few points make no worse an interval


def test_the_record_is_of_forecasts_as_far_ahead_from_as_many_points():
    for count, to, says in (
        (40, 2e6, "from 16 or more points and up to 0.45 decades ahead"),
        (40, 5e6, "from 16 or more points and 0.45 to 0.76 decades ahead"),
        (12, 2e6, "from 9 to 15 points"),
        (7, 5e6, "from 6 to 8 points and 0.45 to 0.76 decades ahead"),
        (5, 2e6, "no forecast from 5 points and 0.3 decades ahead is on record"),
        (40, 1e8, "2 decades ahead is on record: those there are go 0.76 decades at most"),
    ):
        kept = np.unique(np.rint(np.linspace(0, STEPS.size - 1, count)).astype(int))
        answer = forecast.extrapolate(STEPS[kept], loss()[kept], to=to)
        assert says in answer.record[0]
        assert answer.record[0] in answer.summary()


def test_a_curve_is_tried_as_far_ahead_as_it_is_asked_for_and_no_less():
    near, far = (forecast.extrapolate(STEPS, loss(), to=to) for to in (2e6, 1e9))
    assert near.hindcast["from"] <= STEPS[-1] / 2
    assert near.hindcast["points"] == np.sum(near.hindcast["from"] < STEPS)
    assert far.hindcast == {}
    assert len(far.record) == 1


def test_wide_intervals_are_warned_of_whichever_level_is_asked_for():
    rough = loss(scale=0.3)
    for level in (0.5, 0.9):
        assert any("a factor of" in line for line in forecast.extrapolate(STEPS, rough, 2e6, level).warnings)
        assert forecast.extrapolate(STEPS, loss(), 2e6, level).warnings == ()


def test_values_that_have_not_moved_are_warned_of():
    still = np.where(STEPS < 1e4, loss(), 2.5)
    assert any("values are equal" in line for line in forecast.extrapolate(STEPS, still, 2e6).warnings)


# --- what the interval is made of -------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", sample([0.0, 0.005, pytest.param(0.02, marks=pytest.mark.slow)], 2))
def test_a_loss_that_only_fell_is_not_expected_above_its_last_value_and_noise(noise):
    """Six points: intervals end near the last value, and hold what comes."""
    rng, x, inside, above = np.random.default_rng(0), np.geomspace(1e6, 1e9, 6), [], []
    for _ in range(50):
        floor, exponent, size = rng.uniform(0.5, 2.5), rng.uniform(0.1, 0.5), rng.uniform(0.3, 3)
        shown = floor + size * (np.append(x, 3e9) / x[0]) ** -exponent
        shown *= np.exp(noise * rng.standard_normal(7))
        answer = forecast.extrapolate(x, shown[:-1], to=3e9)
        inside.append(answer.lower[0] <= shown[-1] <= answer.upper[0])
        if (np.diff(shown[:-1]) < 0).all():
            above.append(np.log(answer.upper[0] / shown[-2]))
    assert len(above) > 25
    assert np.max(above) <= 0.03 + 5 * noise
    assert np.mean(inside) >= 0.9


def test_a_rise_in_the_past_takes_the_end_off():
    """Of two curves that differ in one point alone, only that which rose is expected above its last value."""
    x = np.geomspace(1e3, 1e6, 12)
    fell = 2.0 * (x / x[0]) ** -0.005
    rose = fell.copy()
    rose[8] *= 1.2
    upper = [forecast.extrapolate(x, y, to=2e6).upper[0] for y in (fell, rose)]
    assert upper[0] < 1.01 * fell[-1]
    assert upper[1] > 1.05 * fell[-1]


@pytest.mark.slow
def test_curves_with_jumps_lie_in_their_intervals():
    """Level stretches between falls of random size, as running minima and counts of right answers have them."""
    inside = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        steps = np.where(rng.random(STEPS.size + 1) < 0.3, rng.exponential(0.1, STEPS.size + 1), 0.0)
        y = 2 * np.exp(-np.cumsum(steps))
        answer = forecast.extrapolate(STEPS, y[:-1], to=STEPS[-1] ** 2 / STEPS[-2])
        inside += answer.lower[0] <= y[-1] * (1 + 1e-12) and y[-1] <= answer.upper[0]
    assert inside >= 24


@pytest.mark.slow
def test_the_last_value_is_believed_where_it_has_forecast_best():
    """A walk, whose best forecast is its last value, against a law without noise, whose best is a law."""
    weight = {"walk": [], "law": []}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        walk = np.exp(np.cumsum(0.05 * rng.standard_normal(STEPS.size)))
        for name, y in (("walk", walk), ("law", loss(seed, scale=1e-4))):
            laws = forecast.extrapolate(STEPS, y, to=2e6).laws
            weight[name] += [row["weight"] for row in laws if row["name"] == "last-value"]
    assert np.median(weight["walk"]) > 0.2  # its share before the past is looked at
    assert np.max(weight["law"]) < 0.1


def test_noise_is_measured_whatever_the_form_of_a_curve():
    x = np.geomspace(1, 1e4, 400)
    for y in (np.ones(x.size), 1 + 5 * x**-0.5, np.exp(-x / 4e3)):
        noisy = y * np.exp(0.02 * np.random.default_rng(1).standard_normal(x.size))
        assert local_noise(x, noisy) == pytest.approx(0.02, rel=0.1)
        assert local_noise(x, y) < 1e-3


def test_the_answer_as_a_dataset_and_as_text():
    answer = forecast.extrapolate(STEPS, loss(), to=[2e6, 4e6], names=("steps", "loss"))
    table = answer.dataset()
    assert list(table.data_vars) == ["median", "lower", "upper"]
    assert table["steps"].values.tolist() == [2e6, 4e6]
    assert table.attrs["level"] == 0.9
    assert answer.sentence.startswith("loss is expected to be ")
    assert "how such extrapolations have done:" in answer.summary()
    assert answer.summary() in answer._repr_html_().replace("&#x27;", "'")


def test_a_figure_shows_the_points_and_the_band():
    from matplotlib.figure import Figure

    axis = forecast.extrapolate(STEPS, loss(), to=1e7).plot(Figure().subplots())
    assert len(axis.lines) == 2
    assert len(axis.collections) == 1
    assert axis.lines[1].get_xdata()[-1] == 1e7


def test_the_pool_leaves_what_it_is_given_as_it_was():
    x, y = STEPS.copy(), loss()
    before = y.copy()
    pool(x, y, np.array([2e6]))
    assert (x == STEPS).all()
    assert (y == before).all()


# --- along dates ------------------------------------------------------------------------------------------------------

DATES = np.arange("2010-01", "2024-01", dtype="datetime64[M]")[::6]
GROWTH = 2.0 ** (np.arange(DATES.size) / 2) * np.exp(0.1 * np.random.default_rng(0).standard_normal(DATES.size))


def test_dates_are_handed_to_a_shape_of_trends():
    answer = forecast.extrapolate(DATES, GROWTH, to="2030-01-01")
    assert answer.dates
    assert answer.laws[0]["name"] == extrapolating.shape_for_dates()
    assert answer.beyond == pytest.approx(6.5, abs=0.01)
    # the pool expects growth to slow, as that of most series did: the line itself lies at its upper end
    assert answer.lower[0] < answer.median[0] < 2.0**20
    assert answer.lower[0] < 2.0**19 < answer.upper[0]
    texts = forecast.extrapolate([str(d) for d in DATES.astype("datetime64[D]")], GROWTH, to=2030.0)
    assert texts.median == answer.median


def test_a_level_is_reached_at_a_date():
    answer = forecast.extrapolate(DATES, GROWTH, reach=1e6)
    assert 2028 < answer.when["p05"] < answer.when["p50"] < 2040
    assert answer.when["p50"] < answer.when["p75"] <= answer.when["p95"]
    assert answer.when["already"] == 0
    assert "y reaches 1e+06 in 20" in answer.sentence
    fall = forecast.extrapolate(DATES, 1 / GROWTH, reach=1e-6)
    assert fall.when["p50"] == pytest.approx(answer.when["p50"], abs=0.1)
    never = forecast.extrapolate(DATES, GROWTH, to="2025-01-01", reach=1e12)
    assert never.when["never"] > 0.99
    assert "by 2025-01 is 0 %" in never.sentence


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "options", "error", "says"),
    [
        (STEPS[:4], loss()[:4], {"to": 2e6}, DataError, "at least 5 different values, got 4"),
        (np.full(9, 7.0), loss()[:9], {"to": 2e6}, DataError, "9 rows at each place of 'x'"),
        (STEPS, loss() - 2, {"to": 2e6}, DataError, "'y', row .*: expected numbers above 0"),
        (STEPS, np.where(STEPS > 1e3, np.nan, 1.0), {"to": 2e6}, DataError, "at least 5 different values, got 1"),
        (STEPS - 2e3, loss(), {"to": 2e6}, DataError, "'x', row 1: expected numbers above 0, got -1000"),
        (STEPS, loss()[:-1], {"to": 2e6}, DataError, "'y' has 39 values, 'x' has 40"),
        (STEPS, loss(), {"to": 5e5}, UsageError, "beyond the data, which end at x = 1e\\+06; got 500000"),
        (STEPS, loss(), {"to": [2e6, np.inf]}, UsageError, "got inf"),
        (STEPS, loss(), {"to": []}, UsageError, "got nothing"),
        (STEPS, loss(), {}, UsageError, "to: expected where to extrapolate to"),
        (STEPS, loss(), {"to": 2e6, "level": 1.0}, UsageError, "level"),
        (STEPS, loss(), {"to": "far"}, DataError, "'to': expected numbers"),
        (STEPS, loss(), {"reach": 2.0}, UsageError, "reach: expected x to be dates"),
        (["a", "b", "c", "d", "e"], np.ones(5), {"to": 2e6}, DataError, "expected numbers, got text"),
        (DATES, GROWTH, {"to": "2011-01-01"}, UsageError, "which end at x = 2023-07; got 2011-01"),
        (DATES, GROWTH, {"reach": -1.0}, UsageError, "reach: expected values from 0 on"),
        (STEPS.reshape(2, -1), loss(), {"to": 2e6}, DataError, "expected one column"),
    ],
)
def test_what_cannot_be_extrapolated_is_refused(x, y, options, error, says):
    with pytest.raises(error, match=says):
        forecast.extrapolate(x, y, **options)
