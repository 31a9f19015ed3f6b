"""Batches drawn by processes, by a cluster or here, ended and resumed: the same bytes."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import forecast
from forecast.cli import main
from forecast.errors import DataError, UsageError
from forecast.projection.engine import MAX_SAMPLE_DRAWS
from forecast.projection.streaming import batches
from forecast.projection.streaming.histograms import BIN_RTOL, DATE_BINS
from forecast.report import result_data
from forecast.report.headline import opening_sentence
from toolkit import forked, sample

#: Three batches and a part of a block.
DRAWS = 3 * batches.DRAWS_PER_BATCH + 100
RECORD = {
    "start": 2025,
    "until": 2060,
    "choices": {
        "pace": {"values": ["0.7", "1"], "kind": "rival", "weights": [0.25, 0.75]},
        "counted": {"values": ["1", "0.5"], "kind": "definition"},
    },
    "quantities": {
        "growth": {"normal": [0.1, 0.4], "unit": "1/year"},
        "amount": {"expression": "where(kind == 'often', 1.1, 1)*chosen*share"},
        "chosen": {"expression": "exp({pace}*growth*(t - start))"},
        "share": {"expression": "1*{counted}"},
        "goal": {"lognormal": [10, 1000], "unit": "", "limit": "300", "how": "hard"},
        "kind": {"draw": {"often": 0.7, "seldom": 0.3}},
        "edge": {"expression": "log(chosen + 0.9)"},
    },
    "questions": {
        "there": {"when": "amount >= goal", "dates": [2040]},
        "soon": {"when": "amount >= 2"},
        "how_far": {"value": "amount", "dates": [2030, 2045]},
        "how_fast": {"growth": "amount", "dates": [2030]},
        "race": {"first": ["there", "soon"]},
    },
}
SEEN = {"goal": {"log_likelihood": "-(log(goal) - 5)**2/2"}}


def record(**more):
    return {**RECORD, **more}


def same(one, other):
    assert one.attributes == other.attributes
    assert [n.path for n in one.to_xarray().subtree] == [n.path for n in other.to_xarray().subtree]
    for node in one.to_xarray().subtree:
        assert node.to_dataset().identical(other[node.path].to_dataset()), node.path


@pytest.fixture(scope="module")
def counted():
    return forecast.project(record(), draws=DRAWS)


@pytest.fixture(scope="module")
def exact():
    return forecast.project(record(), draws=DRAWS, keep=DRAWS)


@pytest.mark.slow
def test_the_first_worlds_are_kept_as_a_sample(counted, exact):
    few = forecast.project(record(), draws=MAX_SAMPLE_DRAWS)
    assert counted.settings.kept == MAX_SAMPLE_DRAWS
    for name, values in few["projection"].to_dataset().items():
        np.testing.assert_array_equal(values.values, counted["projection"][name].values)
    assert exact["projection"].sizes["draw"] == DRAWS


@pytest.mark.parametrize("update", [None, pytest.param(SEEN, marks=pytest.mark.slow)])
def test_counts_say_what_all_worlds_say(counted, exact, update):
    if update:
        counted = forecast.project(record(update=update), draws=DRAWS)
        exact = forecast.project(record(update=update), draws=DRAWS, keep=DRAWS)
        assert counted.effective_draws == pytest.approx(exact.effective_draws, rel=1e-9)
    for one, other in zip(result_data.quantity_rows(counted), result_data.quantity_rows(exact), strict=True):
        assert (one["name"], one["choices"]) == (other["name"], other["choices"])
        for level in ("p05", "p25", "p50", "p75", "p95"):
            np.testing.assert_allclose(one[level], other[level], rtol=BIN_RTOL, atol=1e-12)
    for ask in (result_data.date_rows, result_data.pooled_rows):
        rows = ask(counted)
        assert rows
        for row, other in zip(rows, ask(exact), strict=True):
            assert row["choices"] == other["choices"]
            for part in ("already", "never"):
                assert row["crossing"][part] == pytest.approx(other["crossing"][part], abs=1e-12)
            for level in ("p05", "p50", "p95"):
                near(row["crossing"][level], other["crossing"][level], 35 / DATE_BINS)
            for by, other_by in zip(row.get("dates", ()), other.get("dates", ()), strict=True):
                assert by["probability"] == pytest.approx(other_by["probability"], abs=1e-12)
    for row, other in zip(result_data.value_answers(counted), result_data.value_answers(exact), strict=True):
        if "weights" in row:  # over rivals of the worlds that are kept
            continue
        for date, other_date in zip(row["dates"], other["dates"], strict=True):
            assert date["p50"] == pytest.approx(other_date["p50"], rel=BIN_RTOL / 2)
    for row, other in zip(result_data.first_answers(counted), result_data.first_answers(exact), strict=True):
        assert row["first"] == pytest.approx(other["first"], abs=1e-12)
    for row, other in zip(result_data.regime_rows(counted), result_data.regime_rows(exact), strict=True):
        assert row["shares"] == pytest.approx(other["shares"], abs=1e-12)
    for row, other in zip(result_data.limit_rows(counted), result_data.limit_rows(exact), strict=True):
        assert row["ever"] == pytest.approx(other["ever"], abs=1e-12)
        np.testing.assert_allclose(row["binds"], other["binds"], atol=1e-12)


def near(one, other, years):
    assert (one is None) == (other is None)
    if one is not None:
        apart = np.abs(np.datetime64(one, "s") - np.datetime64(other, "s")) / np.timedelta64(1, "s")
        assert apart <= 1.01 * years * 366 * 86400


def test_the_error_of_a_median_shrinks_with_the_worlds(counted):
    few = {
        str(r["choices"]): r["crossing"]["error"]
        for r in result_data.pooled_rows(forecast.project(record(), draws=1024))
    }
    many = {str(r["choices"]): r["crossing"]["error"] for r in result_data.pooled_rows(counted)}
    assert all(0 < many[key] < few[key] / 2 for key in many)


@pytest.mark.slow
def test_a_counted_projection_is_saved_and_comes_back(counted, tmp_path):
    from forecast import save

    forecast.load(save(counted, tmp_path / "many.nc"))
    assert opening_sentence(counted) == opening_sentence(forecast.load(tmp_path / "many.nc").run)


@pytest.mark.slow
def test_more_processes_than_cores_give_the_same_bytes_of_weighed_worlds():
    here = forecast.project(record(update=SEEN), draws=DRAWS)
    same(here, forecast.project(record(update=SEEN), draws=DRAWS, workers=4))


@pytest.mark.slow
def test_two_workers_of_a_cluster_give_the_same_bytes(counted):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        same(counted, forecast.project(record(), draws=DRAWS, client=client))
        same(counted, forecast.project(record(), draws=DRAWS, client=cluster.scheduler_address))


def test_an_address_where_nobody_answers_is_refused():
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match="cluster: no scheduler answers at 'nonsense://nowhere'"):
        forecast.project(record(), draws=DRAWS, client="nonsense://nowhere")


ENDS = """
import os, sys, pathlib, forecast
@forecast.function(unit="", x="")
def fatal(x):
    mark = pathlib.Path(sys.argv[1])
    if not {again} and mark.exists():
        return x
    if os.getpid() != int(os.environ["FIRST"]):
        mark.touch()
        os._exit(3)
    return x
os.environ["FIRST"] = str(os.getpid())
x = forecast.uncertain(low=1.0, high=3.0, name="x")
try:
    answer = (fatal(x=x) >= 2).when(start=2025, until=2026, draws=40_000, workers=2)
    print(round(float(answer.already), 2))
except forecast.errors.ForecastError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("again", "says"), [(False, "0.5"), (True, "their process ended twice without an answer")])
def test_a_batch_whose_process_ends_is_drawn_again_alone(tmp_path, again, says):
    script = tmp_path / "ends.py"
    script.write_text(ENDS.format(again=again))
    done = subprocess.run(
        [sys.executable, script, tmp_path / "mark"], capture_output=True, text=True, timeout=120, check=False
    )
    assert says in done.stdout, done.stderr


SLOW = """
start = 2025
until = 2060
[quantities]
growth = {normal = [0.1, 0.4], unit = "1/year"}
amount = {expression = "exp(growth*(t - start))"}
goal = {lognormal = [10, 1000], unit = ""}
[questions]
there = {when = "amount >= goal"}
"""


LONG = ("run", "slow.toml", "--draws", "600000", "--out", "run.nc")


@pytest.mark.parametrize("times", sample([2, 10], 0, 2))
def test_bad_input_020_a_run_killed_many_times_ends_with_the_same_bytes(tmp_path, monkeypatch, times):
    monkeypatch.setattr(batches, "CHECKPOINT_SECONDS", 0)  # a checkpoint after every batch
    (tmp_path / "slow.toml").write_text(textwrap.dedent(SLOW))
    monkeypatch.chdir(tmp_path)
    assert main([*LONG]) == 0  # everything is imported now
    whole = (tmp_path / "run.nc").read_bytes()
    (tmp_path / "run.nc").unlink()
    kills, ended = 0, None
    for _ in range(60):
        part = tmp_path / "run.nc.part"
        before = part.stat().st_mtime_ns if part.exists() else 0
        process = forked(tmp_path, *LONG, "--resume")
        while kills < times and process.is_alive():
            if part.exists() and part.stat().st_mtime_ns > before:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.005)
        process.join(300)
        ended = process.exitcode
        if ended == 0:
            break
        assert not (tmp_path / "run.nc").exists()
    assert (ended, kills) == (0, times)
    assert (tmp_path / "run.nc").read_bytes() == whole
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.nc", "slow.toml"]


def test_a_checkpoint_of_another_run_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "CHECKPOINT_SECONDS", 0)
    place = tmp_path / "part"

    class Stop(Exception):
        pass

    def stop(done, of):
        if done >= 2 * batches.DRAWS_PER_BATCH and place.exists():
            raise Stop

    with pytest.raises(Stop):
        forecast.project(record(), draws=DRAWS, checkpoint=place, progress=stop)
    with pytest.raises(
        DataError, match="part: is of another run: the scenario, its data, a setting or a version differs"
    ):
        forecast.project(record(), draws=DRAWS, seed=1, checkpoint=place, resume=True)
    for stored in ({"ends": True}, {"paths": ()}):  # it holds what this run does not store
        with pytest.raises(DataError, match="part: is of another run"):
            forecast.project(record(), draws=DRAWS, **stored, checkpoint=place, resume=True)
    place.write_bytes(b"nothing")
    with pytest.raises(DataError, match="part: is no checkpoint, or one of another version"):
        forecast.project(record(), draws=DRAWS, checkpoint=place, resume=True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"keep": 0}, "keep: expected a whole number from 1"),
        ({"draws": 10**10}, "draws: expected a whole number from 1 to 1000000000"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, says):
    with pytest.raises(UsageError, match=says):
        forecast.project(record(), **options)


@pytest.mark.parametrize("scenario", sample(["gpu-limits", "brain-parity", "chain"], 3))
def test_what_a_block_holds_is_foreseen(scenario, monkeypatch):
    """The most that is traced while a block is computed is what its plan says, and never much more."""
    import tracemalloc

    from forecast.projection.evaluate import Block
    from forecast.projection.paths.run_cache import RunCache
    from forecast.projection.streaming.foresight import peak_bytes

    jobs, fill = [], batches.Job.fill
    monkeypatch.setattr(batches.Job, "fill", lambda job, *rest: jobs.append(job) or fill(job, *rest))
    forecast.project(scenario, draws=64, cache=RunCache(0))
    (job,) = jobs
    block = Block(job.plan, range(2), job.schedule)
    tracemalloc.start()
    for place in (*job.schedule.outputs, *job.schedule.answers):
        block.take(place)
    traced = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.8 * traced < peak_bytes(job.schedule, len(job.years), 1024) < 2 * traced
