"""The joint draws that a page carries, and what they say when assumptions are narrowed."""

import numpy as np
import pytest

import forecast
from forecast.projection.crossing import date_quantiles
from forecast.report.page import draw_encoding as made
from forecast.report.page.draw_encoding import EncodedDraws
from toolkit import decoded_values, remaining_worlds, values_of_worlds


@pytest.fixture(scope="module")
def worlds(steerable):
    return EncodedDraws(steerable)


def test_every_assumption_that_differs_is_ranked_exactly(worlds, steerable):
    assert set(worlds.inputs) == {"growth", "kind", "one"}
    draws = steerable["projection"].to_dataset()["growth"].isel(time=0).values
    assert (worlds.inputs["growth"].ranks == draws.argsort().argsort()).all()
    assert worlds.inputs["kind"].has_few_values
    assert worlds.labels["kind"] == ["steady", "broken"]


def test_dates_come_back_to_half_a_day(worlds, steerable):
    exact = steerable.answers["reached"].worlds.transpose("pace", "goal", "draw").values
    coded = worlds.questions["reached"]
    assert coded.dims == ("pace", "goal")
    back = decoded_values(coded)
    ended = np.isfinite(exact)
    assert 0 < ended.mean() < 1
    assert (np.isposinf(back) == np.isposinf(exact)).all()
    assert np.abs(back[ended] - exact[ended]).max() < 0.5 / 365


def test_values_come_back_to_a_thousandth(worlds, steerable):
    exact = steerable.answers["size"].at[1].worlds.transpose("pace", "draw").values
    back = decoded_values(worlds.values["size", 1])
    assert np.allclose(back, exact, rtol=1e-3)


def test_paths_come_back_to_a_step_of_their_range(worlds, steerable):
    coded = worlds.paths["machine"]
    assert coded.log
    assert len(coded.times) == 24
    exact = steerable["projection"].to_dataset()["machine"].transpose("pace", "time", "draw").values[:, -1]
    step = (coded.high - coded.low)[:, -1, None] / 253
    inside = (exact > np.exp(coded.low[:, -1, None])) & (exact < np.exp(coded.high[:, -1, None]))
    assert inside.mean() > 0.99
    assert (np.abs(np.log(decoded_values(coded)[:, -1]) - np.log(exact)) <= step)[inside].all()


def test_what_remains_answers_as_the_projection_does(worlds, steerable):
    """The median of the codes lies between those of the exact dates with one world less and one more."""
    keep = remaining_worlds(worlds, {"growth": [20, 55], "kind": [1]})
    growth = steerable["projection"].to_dataset()["growth"].isel(time=0).values
    rank = growth.argsort().argsort()
    kind = steerable["projection"].to_dataset()["kind"].isel(time=0).values
    same = (rank * 100 >= 20 * 2048) & (rank * 100 < 55 * 2048) & (kind == 1)
    assert (keep == same).all()
    assert 200 < keep.sum() < 800
    exact = np.sort(steerable.answers["reached"].pooled_draws({"goal": "20"})[0][same])
    median = date_quantiles(values_of_worlds(worlds, worlds.questions["reached"], {"goal": "20"})[keep])[2]
    place = -(-len(exact) * 50 // 100) - 1
    assert exact[place - 1] <= median <= exact[place + 1]


def test_a_picked_rival_is_the_answer_of_every_world(worlds, steerable):
    said = values_of_worlds(worlds, worlds.questions["reached"], {"goal": "20", "pace": "0.5"})
    exact = steerable.answers["reached"].worlds.sel(goal="20", pace="0.5").values
    assert np.allclose(said[np.isfinite(said)], exact[np.isfinite(exact)], atol=0.5 / 365)


def test_a_narrower_range_keeps_fewer_worlds_and_all_keeps_all(worlds):
    assert remaining_worlds(worlds, {"one": [0, 100]}).all()
    wide, narrow = (remaining_worlds(worlds, {"one": each}) for each in ([10, 60], [20, 50]))
    assert not (narrow & ~wide).any()
    assert abs(wide.sum() - 1024) <= 1
    assert abs(narrow.sum() - 614.4) <= 1


def test_dates_are_left_out_before_worlds_and_never_too_many(steerable):
    whole = EncodedDraws(steerable)
    assert (whole.count, whole.dates) == (2048, 24)
    size = whole._encoded_bytes(2048, 24, ["machine"])
    fewer = EncodedDraws(steerable, limit=int(size) - 1)
    assert fewer.count == 2048
    assert fewer.dates < 24
    least = EncodedDraws(steerable, limit=1)
    assert (least.count, least.dates) == (made.MIN_PAGE_DRAWS, made.MIN_PAGE_DATES)
    assert len(least.inputs["one"].ranks) == made.MIN_PAGE_DRAWS


def test_the_quantity_whose_value_opens_the_answer_is_drawn():
    asked = {
        "start": 2025,
        "until": 2060,
        "quantities": {"x": {"normal": [0.1, 0.4], "unit": ""}, "y": {"expression": "exp(x*(t - 2025))"}},
    }
    asked["quantities"]["z"] = {"expression": "y**2"}
    questions = {"v": {"value": "z", "dates": ["2030-01-01"]}, "q": {"when": "y >= 2"}}
    worlds = EncodedDraws(forecast.project({**asked, "questions": questions}, draws=64))
    assert worlds.sides("v") == ["z"]
    assert next(iter(worlds.paths)) == "z"


def test_a_mixture_is_chosen_by_its_members():
    run = forecast.project("brain-parity", draws=256, until=2040, with_={"metric": "linpack", "trend": "pool"})
    worlds = EncodedDraws(run)
    member = worlds.inputs["brain/pooled.member"]
    assert member.has_few_values
    assert worlds.called("brain/pooled.member", 1) == "kurzweil-2005"
    # in the worlds that take it, the pooled estimate is its number
    brain = run["projection"].to_dataset()["brain"].sel(estimate="pooled").isel(time=0).values
    assert np.unique(brain[member.ranks == 1]).tolist() == [1e16]
