"""What-ifs in projections: against closed forms, and what follows sees the changed path."""

import numpy as np
import pytest

import forecast
from forecast import save
from forecast.errors import DataError, ResultError, ScenarioError
from forecast.report.headline import opening_sentence

QUANTITIES = {
    "rate": {"normal": [0.1, 0.3], "unit": ""},
    "machine": {"expression": "exp(rate*(t - start))"},
    "twice": {"expression": "2*machine"},
    "grown": {"expression": "growth(machine, 1)"},
    "other": {"expression": "exp(rate*(t - start))"},
}


def project(*changes, draws=200, more=(), **options):
    quantities = {**QUANTITIES, "machine": {**QUANTITIES["machine"], "before": 0.8, **dict(more)}}
    questions = {"q": {"when": "machine >= 10"}}
    record = {"start": 2025, "until": 2045, "quantities": quantities, "questions": questions}
    return forecast.project(record, draws=draws, what_if=changes, **options)


def paths(tree):
    return {str(name): values.values for name, values in tree["projection"].to_dataset().items()}


HALF = {"of": "machine", "growth": "0.5*", "since": 2028.5, "until": 2032}


def test_growth_is_multiplied_from_its_date_on_and_what_was_lost_stays_so():
    free, made = paths(project()), paths(project(HALF))
    years = 2025 + np.arange(21.0)[:, np.newaxis]
    lost = np.clip(years - 2028.5, 0, 3.5) * 0.5
    np.testing.assert_allclose(made["machine"], np.exp(free["rate"] * (years - 2025 - lost)), rtol=1e-12)
    assert np.array_equal(made["machine"][:4], free["machine"][:4])
    assert np.array_equal(made["twice"], 2 * made["machine"])
    np.testing.assert_allclose(made["grown"][5:7], free["rate"][5:7] / 2, rtol=1e-9)
    assert np.array_equal(made["other"], free["other"])


def test_no_change_is_no_change():
    same = {"of": "machine", "growth": "1*", "since": 2028}
    assert np.array_equal(paths(project(same))["machine"], paths(project())["machine"])


def test_no_growth_at_all_holds_the_level():
    made = paths(project({"of": "machine", "growth": "0*", "since": 2030}))["machine"]
    np.testing.assert_allclose(made[5:], np.broadcast_to(made[5], made[5:].shape), rtol=1e-12)


def test_a_value_replaces_the_path_between_its_dates():
    free, made = paths(project()), paths(project({"of": "machine", "value": 7, "since": 2028, "until": 2030}))
    assert (made["machine"][3:5] == 7).all()
    kept = [0, 1, 2, *range(5, 21)]
    assert np.array_equal(made["machine"][kept], free["machine"][kept])
    assert (made["twice"][3:5] == 14).all()


def test_changes_follow_one_another_in_their_order():
    half, level = {**HALF, "until": 2045}, {"of": "machine", "value": "3*exp(t - start)", "since": 2025}
    both = paths(project(level, half))["machine"]
    years = np.arange(21.0)[:, np.newaxis]
    wanted = 3 * np.exp(years - 0.5 * np.clip(years - 3.5, 0, None))
    np.testing.assert_allclose(both, np.broadcast_to(wanted, both.shape), rtol=1e-12)


def test_a_limit_holds_on_the_changed_path():
    made = paths(project({"of": "machine", "growth": "9*", "since": 2026}, more={"limit": 20}.items()))["machine"]
    assert made.max() == 20


def test_any_path_can_be_changed_whatever_made_it():
    options = {"with_": {"metric": "hpcg", "trend": "exponential"}, "draws": 50, "until": 2060}
    free, made = (forecast.project("brain-parity", **options, what_if=c) for c in ((), [{**HALF, "until": 2060}]))
    logs = [np.log(tree["projection"]["machine"].values) for tree in (free, made)]
    before, after = (np.diff(each, axis=0)[-10:] for each in logs)
    free_of_limits = logs[0][-1] < np.log(6e25) - 1e-9  # TFLOP/s, the scenario's limit
    assert free_of_limits.mean() > 0.9
    np.testing.assert_allclose(after[:, free_of_limits], before[:, free_of_limits] / 2, rtol=1e-6, atol=1e-12)


def test_what_has_no_logarithm_has_no_growth():
    with pytest.raises(DataError, match=r"changes of machine: growth of what is not above 0"):
        project(HALF, more={"expression": "t - start - 10"}.items())


def test_what_is_fixed_has_no_growth():
    with pytest.raises(ScenarioError, match="'machine' does not change with time"):
        project(HALF, with_={"machine": 3})


def test_it_is_said_recorded_and_kept(tmp_path):
    tree = project(HALF)
    assert opening_sentence(tree).endswith("; with machine.growth*0.5 since 2028.5 until 2032.")
    assert tree.attributes["changes"] == [{"of": "machine", "growth": 0.5, "since": 2028.5, "until": 2032.0}]
    assert tree.attributes["scenario_hash"] != project().attributes["scenario_hash"]
    assert "changes" not in project().to_xarray().attrs
    assert forecast.load(save(tree, tmp_path / "p.nc")).run.identical(tree)
    changed = tree.to_xarray().copy()
    changed.attrs["changes"] = '[{"of": "machine"}]'
    with pytest.raises(ResultError, match=r"attributes\.changes\[0\]\.since: is missing; expected a finite number"):
        forecast.load(save(changed, tmp_path / "q.nc"))
