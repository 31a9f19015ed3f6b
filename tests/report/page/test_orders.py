"""Who is best in every world: the codes give back what the projection says of all."""

import base64

import numpy as np
import pytest
import xarray as xr

import forecast
from forecast.report.page.draw_encoding import EncodedDraws, Order


def order(value, takes=None, *, lowest=False, count=None):
    """A ranking of what every world, (draw, over) or (draw, use, over), says."""
    value = np.asarray(value, dtype=float)
    dims = ("draw", "use", "over")[:: 2 if value.ndim == 2 else 1]
    takes = np.ones(value.shape, dtype=np.int8) if takes is None else np.asarray(takes, dtype=np.int8)
    data = xr.Dataset({"value": (dims, value, {"units": "FLOP"}), "takes": (dims, takes)})
    return Order.of("q", "over", data, lowest=lowest, count=count or len(value))


def bests(made):
    """Who is best in every world, by the codes; None where a world cannot be compared."""
    return [made.sets[code] if code < len(made.sets) else None for code in made.best.tolist()]


def test_the_layout_of_arrays_does_not_matter():
    value = np.random.default_rng(0).random((5, 9))
    assert bests(order(np.asfortranarray(value), np.ones((5, 9), order="F"))) == bests(order(value))


@pytest.mark.parametrize("keep", [400, 100])
def test_codes_give_the_shares_of_the_projection(keep):
    """Where worlds are counted, those that are kept are the first, and say what they say."""
    asked = {
        "start": 2025,
        "until": 2026,
        "choices": {"machine": ["1", "2", "3"]},
        "quantities": {"gain": {"normal": [-0.5, 0.5], "unit": ""}, "speed": {"expression": "{machine}**gain"}},
        "questions": {"best": {"rank": "speed", "over": "machine", "subject_to": ["speed <= 1.2"]}},
    }
    tree, every = forecast.project(asked, draws=400, keep=keep), forecast.project(asked, draws=400)
    assert ("levels" in tree) == (keep == 100)
    made = EncodedDraws(tree).orders["best"]
    first = [np.mean([i in found for found in bests(made)]) for i in range(3)]
    wanted = every["rankings"].to_dataset()
    value, takes = (wanted[f"best_{part}"].values[:keep] for part in ("value", "takes"))
    score = np.where(takes, value, -np.inf)
    assert first == pytest.approx(((score == score.max(axis=1, keepdims=True)) & (takes > 0)).mean(axis=0).tolist())
    if keep == 400:
        assert first == pytest.approx(wanted["best_first"].values.tolist())
    assert 0.05 < first[0] < 0.95


@pytest.mark.slow
def test_a_file_without_worlds_keeps_its_table(tmp_path):
    """Files of earlier versions hold no value and no part of each world: the page says that it is of all."""
    from forecast import save
    from forecast.report.page import html

    tree = forecast.project("gpu-cluster", draws=64)
    held = tree["rankings"].to_dataset()
    tree.to_xarray()["rankings"] = xr.DataTree(
        held.drop_vars([f"cheapest_{part}" for part in ("value", "takes")]).drop_dims("draw", errors="ignore")
    )
    old = forecast.load(save(tree, tmp_path / "old.nc")).run
    assert EncodedDraws(old).orders == {}
    assert '<section class="rows">' in html(old)
    assert '<section class="rows">' not in html(forecast.project("gpu-cluster", draws=64))


def test_a_page_carries_the_worlds_of_the_best_and_of_all_that_are_ever_best(monkeypatch):
    monkeypatch.setattr("forecast.report.page.draw_encoding.MAX_PAGE_CONTESTANTS", 2)
    value = np.tile([5.0, 4.0, 3.0, 2.0, 1.0], (9, 1)) + np.arange(9)[:, None]
    value[0, 3] = 99
    made = order(value)
    assert made.leads.tolist() == [True, True, False, True, False]
    packed = made.packed()["values"]
    assert packed["cells"] == [0, 1, -1, 2, -1]
    assert len(base64.b64decode(packed["codes"])) == 3 * 9 * 2
    assert order(-value, lowest=True).leads.tolist() == made.leads.tolist()
