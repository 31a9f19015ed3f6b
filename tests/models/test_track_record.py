"""Track records: read from what a plugin ships, said, and turned into weights."""

import os
import sys

import pytest

import forecast
from forecast.contract import track_record
from forecast.contract.registry import get_registry
from forecast.errors import PluginError, UnknownNameError, UsageError
from toolkit import command

HEAD = "shape,kind,horizon,series,forecasts,score,held,over_last_value\n"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Shapes of a plugin of one file, with records of ten series each."""
    (tmp_path / "record.csv").write_text(
        HEAD + "mine/good,all,all,10,70,0.2,0.9,0.5\nmine/good,chip,0-2 years,4,20,0.1,0.85,0.6\n"
        "mine/bad,all,all,10,70,0.6,0.4,-0.5\n",
        encoding="utf-8",
    )
    (tmp_path / "broken.csv").write_text(HEAD + "mine/broken,all,all,ten,70,0.2,0.9,0.5\n", encoding="utf-8")
    path = tmp_path / "mine.py"
    specs = [("good", "record.csv"), ("bad", "record.csv"), ("broken", "broken.csv"), ("lost", "no.csv"), ("none", "")]
    lines = [
        f"    yield ShapeSpec(name={name!r}, target='forecast_trends.lines.exponential:Exponential', reference='ours', "
        f"record={str(tmp_path / file) if file else ''!r})\n"
        for name, file in specs
    ]
    path.write_text(
        "from forecast import ShapeSpec, hookimpl\n@hookimpl\ndef forecast_shapes():\n" + "".join(lines),
        encoding="utf-8",
    )
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # another test's
    monkeypatch.setenv("FORECAST_PLUGINS", str(path))
    get_registry.cache_clear()
    yield
    get_registry.cache_clear()
    sys.modules.pop("mine", None)


@pytest.mark.usefixtures("kept")
def test_a_record_is_read_and_one_that_cannot_be_says_whose():
    assert track_record.of_shape("mine/good")[1] == {
        "kind": "chip", "horizon": "0-2 years", "series": 4, "forecasts": 20, "score": 0.1, "held": 0.85,
        "over_last_value": 0.6,
    }  # fmt: skip
    assert track_record.of_shape("none") == []
    with pytest.raises(
        PluginError, match="shape 'mine/broken': its record of past forecasts cannot be read: ValueError"
    ):
        track_record.of_shape("broken")
    with pytest.raises(PluginError, match=r"shape 'mine/lost': .* FileNotFoundError"):
        track_record.of_shape("lost")
    with pytest.raises(UnknownNameError, match="did you mean 'mine/good'"):
        track_record.of_shape("goood")


@pytest.mark.usefixtures("kept")
def test_a_record_that_has_changed_is_read_anew_and_nobody_changes_what_others_read(tmp_path):
    before = track_record.of_shape("mine/good")
    before[0]["held"] = 0.0
    assert track_record.of_shape("mine/good")[0]["held"] == 0.9
    file = tmp_path / "record.csv"
    later = file.stat().st_mtime_ns + 10**9
    file.write_text(file.read_text(encoding="utf-8").replace("0.2,0.9,0.5", "0.2,0.8,0.5"), encoding="utf-8")
    os.utime(file, ns=(later, later))
    assert track_record.of_shape("mine/good")[0]["held"] == 0.8


@pytest.mark.usefixtures("kept")
def test_weights_are_the_inverse_of_the_score_shrunk_towards_equal():
    good, bad = track_record.record_weights(["good", "bad"])
    assert good == pytest.approx(0.5 * 0.75 + 0.5 * 0.5)  # 10 series count half
    assert good + bad == pytest.approx(1)
    with pytest.raises(UsageError, match="no record of past forecasts is kept for the shape 'none'"):
        track_record.record_weights(["good", "none"])


@pytest.mark.usefixtures("kept")
def test_the_sentence_names_each_shape_once_and_nothing_without_a_record():
    said = track_record.record_sentence(["x/a@good", "x/b@good", "x/c@bad", "x/d@none", "x/e@pooled", "brain/power"])
    assert said.endswith("than the last value: good 90%, +50%; bad 40%, -50%")
    assert track_record.record_sentence(["x/d@none", "brain/power"]) == ""


def test_rivals_are_weighed_by_their_record():
    record = {
        "until": 2030,
        "choices": {"trend": {"values": ["exponential", "random-walk"], "weights": "track-record"}},
        "quantities": {"machine": {"model": "hardware/linpack", "shape": "trends/{trend}"}},
        "questions": {"q": {"when": "machine >= 1e20"}},
    }
    choice = forecast.Scenario.from_dict(record).choices["trend"]
    assert choice.weights == track_record.record_weights(["exponential", "random-walk"])
    assert choice.weights[0] > choice.weights[1]


def test_every_shipped_shape_has_a_record_or_says_none_and_a_model_shows_it(capsys):
    for name in forecast.catalogue("shape"):
        rows = track_record.of_shape(name)
        # the first needs a further column; without a row at the limit those of capability are the shapes of trends
        if name != "trends/experience" and not name.startswith("capability/"):
            assert {"kind": "all", "horizon": "all"}.items() <= rows[0].items()
            assert all(0 <= row["held"] <= 1 and row["score"] > 0 for row in rows)
    shown = command("models", "show")(capsys, "hardware/linpack@random-walk", "--json").json["result"]
    assert shown["record"] == track_record.of_shape("random-walk")


def test_a_run_says_how_such_forecasts_have_done(capsys):
    said = command("run")(capsys, "brain-parity", "--set", "trend=exponential", "--draws", "100", "--json").json
    assert said["result"]["record"].startswith("past forecasts with these shapes, up to ten years ahead")
    assert "exponential" in said["result"]["record"]
