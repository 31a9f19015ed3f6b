"""Functions over time: on whole paths, and at one step from the rows so far."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from forecast.errors import DataError, ScenarioError
from forecast.projection.paths.time_functions import Past, at_step, over_time, step_reader

TIME = np.array([2025.0, 2026.0, 2027.0, 2028.0])
PATH = np.array([[1.0, -1.0], [2.0, 1.0], [8.0, 0.0], [4.0, 3.0]])
NOTHING = Past(name="x")
BEFORE = Past(name="x", before=0.5)
SEEN = Past(name="x", time=np.array([2020.0, 2022.0, 2024.0]), value=np.array([1.0, 4.0, 2.0]))


def whole(function, argument=None, past=BEFORE, path=PATH, time=TIME):
    return over_time(function, time, path, argument, past)


# --- whole paths ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "argument", "past", "expected"),
    [
        ("previous", None, BEFORE, [0.5, 1, 2, 8]),
        ("previous", None, SEEN, [2, 1, 2, 8]),
        ("lag", 0, NOTHING, [1, 2, 8, 4]),
        ("lag", 1, BEFORE, [0.5, 1, 2, 8]),
        ("lag", 2, BEFORE, [0.5, 0.5, 1, 2]),
        ("lag", 0.5, BEFORE, [0.5, 2**0.5, 4, 32**0.5]),
        ("lag", 1, SEEN, [2, 1, 2, 8]),
        ("lag", 2, SEEN, [8**0.5, 2, 1, 2]),  # half way between 4 and 2, in the logarithm
        ("lag", 0.5, SEEN, [2**0.5, 2**0.5, 4, 32**0.5]),  # between the last observation and the first step
        ("lag", 4, SEEN, [2, 4, 8**0.5, 2]),
        ("growth", None, BEFORE, [math.log(2), math.log(2), math.log(4), -math.log(2)]),
        ("growth", 2, BEFORE, [math.log(2) / 2, math.log(4) / 2, math.log(8) / 2, math.log(2) / 2]),
        ("maximum", None, NOTHING, [1, 2, 8, 8]),
        ("maximum", None, SEEN, [4, 4, 8, 8]),
        ("maximum", None, Past(name="x", before=9.0), [9, 9, 9, 9]),
        ("at", 2026, NOTHING, [2]),
        ("at", 2026.5, NOTHING, [4]),
        ("at", 2022, SEEN, [4]),
    ],
)
def test_values(function, argument, past, expected):
    found = whole(function, argument, past, path=PATH[:, :1])
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-14)


def test_linear_where_a_neighbour_is_not_positive():
    np.testing.assert_allclose(whole("lag", 0.5)[1:, 1], [0.0, 0.5, 1.5])
    assert np.isnan(whole("growth")[:, 1]).any()


@pytest.mark.parametrize(
    ("condition", "once", "since"),
    [
        ([0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]),
        ([0, 1, 0, 0], [0, 1, 1, 1], [0, 0, 1, 2]),
        ([1, 0, 0, 1], [1, 1, 1, 1], [0, 1, 2, 3]),
        ([0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]),
    ],
)
def test_conditions(condition, once, since):
    path = np.array(condition, dtype=float)[:, np.newaxis]
    assert whole("once", past=NOTHING, path=path)[:, 0].tolist() == once
    assert whole("since", past=NOTHING, path=path)[:, 0].tolist() == since


def test_what_does_not_change_has_always_been_what_it_is():
    path = np.array([[3.0, 0.0]])
    for function, argument in (("previous", None), ("lag", 7), ("at", 1900), ("maximum", None)):
        np.testing.assert_array_equal(whole(function, argument, NOTHING, path), path)
    np.testing.assert_array_equal(whole("growth", 3, NOTHING, path), [[0.0, 0.0]])
    np.testing.assert_array_equal(whole("once", past=NOTHING, path=path), [[1.0, 0.0]])
    np.testing.assert_array_equal(whole("since", past=NOTHING, path=path), [[0, 0], [1, 0], [2, 0], [3, 0]])
    np.testing.assert_array_equal(whole("previous", past=BEFORE, path=path)[:2], [[0.5, 0.5], [3.0, 0.0]])


def test_years_and_dates_may_differ_from_draw_to_draw():
    path = np.array([[1.0, 1.0], [2.0, 2.0], [8.0, 8.0], [4.0, 4.0]])
    np.testing.assert_allclose(whole("lag", [[1.0, 2.0]], path=path), [[0.5, 0.5], [1, 0.5], [2, 1], [8, 2]])
    np.testing.assert_allclose(whole("at", [[2026.0, 2027.0]], path=path), [[2.0, 8.0]])
    years = np.arange(4.0)[:, np.newaxis]
    np.testing.assert_allclose(whole("lag", years, path=path), np.ones((4, 2)))
    np.testing.assert_allclose(whole("lag", np.array([[1.0, 2.0]]), path=path[:, :1])[3], [8, 2])


def test_points_of_one_date_count_as_their_mean_and_those_to_come_do_not():
    past = Past.observed("x", np.array([2024, 2023, 2024, 2025.0, 2026]), np.array([1, 3, 4.0, 50, 60]), start=2025.0)
    np.testing.assert_allclose(past.value, [3.0, 2.0], rtol=1e-15)
    assert past.time.tolist() == [2023, 2024]
    signed = Past.observed("x", np.array([2024.0, 2024.0]), np.array([-1.0, 4.0]), start=2025.0)
    assert signed.value.tolist() == [1.5]
    assert not Past.observed("x", np.array([2026.0]), np.array([1.0]), start=2025.0).known


@pytest.mark.parametrize("step", [1 / 12, 1 / 48, 0.1])
def test_a_lag_of_whole_steps_is_a_row_whatever_the_rounding(step):
    time = 2025 + step * np.arange(200)
    path = np.random.default_rng(0).normal(size=(200, 3))
    past = Past(name="x", before=0.0)
    np.testing.assert_array_equal(over_time("lag", time, path, 7 * step, past)[7:], path[:-7])
    np.testing.assert_array_equal(
        over_time("lag", time, path, step, past)[1:], over_time("previous", time, path, None, past)[1:]
    )


@pytest.mark.parametrize(
    ("function", "argument", "past", "says"),
    [
        (
            "previous",
            None,
            NOTHING,
            r"previous\(x\) needs 'x' at 2024, before the first step, 2025, and nothing was obs",
        ),
        ("lag", 2, NOTHING, r"lag\(x\) needs 'x' at 2024.*\[quantities.x\] before = NUMBER says what it was"),
        ("growth", None, NOTHING, r"growth\(x\) needs 'x' at 2024"),
        ("lag", 6, SEEN, r"needs 'x' at 2019.*the first observation is of 2020"),
        ("at", 2000, SEEN, r"at\(x\) needs 'x' at 2000"),
        ("at", 2040, SEEN, r"at\(x\) needs 'x' at 2040; the last step is 2028"),
        ("previous", None, Past(name="a/b"), "make 'a/b' a quantity of its own, where before = NUMBER"),
    ],
)
def test_what_is_not_known_is_refused_by_name(function, argument, past, says):
    with pytest.raises(ScenarioError, match=says):
        whole(function, argument, past)


@pytest.mark.parametrize(
    ("function", "argument"), [("lag", -1), ("lag", math.nan), ("growth", 0), ("growth", -1), ("at", math.inf)]
)
def test_years_that_are_none(function, argument):
    for past in (BEFORE, NOTHING):
        with pytest.raises(DataError, match=rf"{function}\(x, \.\.\.\): expected"):
            whole(function, argument, past, path=PATH[:1])


# --- one step after another -------------------------------------------------------------------------------------------


@st.composite
def histories(draw):
    steps = draw(st.integers(1, 12))
    width = draw(st.integers(1, 4))
    time = draw(st.floats(1990, 2040)) + np.cumsum(
        [0, *draw(st.lists(st.floats(0.02, 2), min_size=steps - 1, max_size=steps - 1))]
    )
    positive = draw(st.booleans())
    path = draw(arrays.arrays(float, (steps, width), elements=st.floats(0.01 if positive else -100, 100)))
    count = draw(st.integers(0, 4))
    seen = np.sort(time[0] - np.array(draw(st.lists(st.floats(0.1, 9), min_size=count, max_size=count, unique=True))))
    past = Past.observed("x", seen, np.linspace(0.5, 7, count), start=time[0], before=draw(st.floats(-1, 9)))
    return time, path, past


@given(histories(), st.sampled_from(["previous", "lag", "growth", "maximum", "since", "once", "at"]), st.data())
def test_a_step_reads_no_later_row_and_agrees_with_the_whole(history, function, data):
    time, path, past = history
    steps, width = path.shape
    if function in ("since", "once"):
        path = (path > data.draw(st.floats(-100, 100))).astype(float)
    argument = None
    if function in ("lag", "growth"):
        shape = data.draw(st.sampled_from([(1, 1), (1, width), (steps, 1), (steps, width)]))
        argument = data.draw(arrays.arrays(float, shape, elements=st.floats(0.01, 9)))
    if function == "at":
        argument = data.draw(st.floats(time[0] - 5, time[-1]))
    expected = np.broadcast_to(over_time(function, time, path, argument, past), path.shape)
    own = np.full_like(path, np.nan)
    known_before = step_reader(function, time, argument, past)
    for k in range(steps):
        if function == "at" and argument > time[k]:
            with pytest.raises(ScenarioError, match="not known yet"):
                at_step(function, k, time, path[: k + 1], own[:k], argument, past)
            own[k] = expected[k]
            continue
        given_years = argument[min(k, len(argument) - 1)] if isinstance(argument, np.ndarray) else argument
        rows = path[:k] if function == "previous" else path[: k + 1]
        own[k] = at_step(function, k, time, rows, own[:k], given_years, past)
        np.testing.assert_array_equal(known_before(k, rows, own[:k]), own[k])
    np.testing.assert_allclose(own, expected, rtol=1e-12, atol=1e-12)


def test_a_lag_of_a_step_or_more_needs_no_row_of_its_own_step():
    path = np.full((4, 2), np.nan)
    for k in range(4):
        earlier = at_step("lag", k, TIME, path[:k], path[:k], 1.0, BEFORE)
        path[k] = 2 * earlier
    np.testing.assert_array_equal(path[:, 0], [1.0, 2.0, 4.0, 8.0])
    with pytest.raises(ScenarioError, match=r"lag\(x\) needs 'x' at 2027.5; that is not known yet: a longer lag is"):
        at_step("lag", 3, TIME, path[:3], path[:3], 0.5, BEFORE)
