"""Exports of trackers and logs of trainers: one row for a run and a step."""

import gzip
import json
import math

import numpy as np
import pytest

import forecast
from forecast.errors import DataError
from toolkit import command

RUNS = {"wee": 2.75, "vast - lr 1e-3": 1.75}
STEPS = (0, 100, 200, 400, 800, 1600, 3200, 6400, 12800)


def loss(run: str, step: int) -> float:
    return round(RUNS[run] + 9 * (step + 1) ** -0.375, 4)


def wandb(path, *, every=lambda run, step: True, bounds=0.0, metric="train/loss"):
    """Write a line plot as W&B exports it: quoted, a column for each run and two for its bounds, empty cells."""
    names = [f"{run} - {metric}" for run in RUNS]
    lines = [",".join(f'"{name}"' for name in ("Step", *(n + end for n in names for end in ("", "__MIN", "__MAX"))))]
    for step in STEPS:
        cells = [str(step)]
        for run in RUNS:
            y = loss(run, step)
            cells += [f"{y}", f"{y - bounds}", f"{y + bounds}"] if every(run, step) else ["", "", ""]
        lines.append(",".join(f'"{cell}"' for cell in cells))
    path.write_text("\n".join(lines))
    return path


def test_a_wandb_export_has_a_row_for_each_run_and_step(tmp_path):
    data = forecast.read(wandb(tmp_path / "x.csv", every=lambda run, step: run == "wee" or step % 400 == 0))
    assert data.notes.line() == "Read x.csv as a W&B export (steps above 0): 14 rows."
    wee = data["run"] == "wee"
    assert set(data["run"]) == set(RUNS)
    assert data["Step"][wee].tolist() == list(STEPS[1:])
    assert data["train/loss"][wee].tolist() == [loss("wee", step) for step in STEPS[1:]]
    assert data["train/loss"][~wee].tolist() == [loss("vast - lr 1e-3", step) for step in STEPS[3:]]
    # bounds that say nothing are left out; the columns of the file are still there
    assert list(data) == ["Step", "run", "train/loss", *(f"{run} - train/loss" for run in RUNS)]
    assert np.array_equal(data["wee - train/loss"][wee], data["train/loss"][wee])
    assert np.isnan(data["wee - train/loss"][~wee]).all()


def test_bounds_of_binned_steps_stay(tmp_path):
    data = forecast.read(wandb(tmp_path / "x.csv", bounds=0.125))
    assert np.allclose(data["train/loss__MAX"] - data["train/loss__MIN"], 0.25)


def test_an_export_of_one_run_has_no_column_of_runs(tmp_path):
    rows = ['"Step","loss","loss__MIN","loss__MAX"', *(f'"{s}","{9 - s}","{9 - s}","{9 - s}"' for s in range(4))]
    (tmp_path / "x.csv").write_text("\n".join(rows))
    data = forecast.read(tmp_path / "x.csv")
    assert {name: data[name].tolist() for name in data} == {"Step": [1, 2, 3], "loss": [8, 7, 6]}


@pytest.mark.parametrize("y", [["train/loss", "--where", "run is wee"], ["wee - train/loss"]])
def test_a_run_of_an_export_is_extrapolated(tmp_path, capsys, y):
    words = [str(wandb(tmp_path / "x.csv")), "--x", "Step", "--y", *y, "--to", "30000", "--json"]
    said = command("extrapolate")(capsys, *words)
    assert said.code == 0, said.err
    (point,) = said.json["result"]["points"]
    assert point["lower"] < loss("wee", 30000) < point["upper"]


def test_two_runs_are_not_averaged(tmp_path, capsys):
    words = [str(wandb(tmp_path / "x.csv")), "--x", "Step", "--y", "train/loss", "--to", "30000"]
    refusal = command("extrapolate")(capsys, *words).refusal
    assert "run" in refusal
    assert "--by run" in refusal


def test_an_export_is_fitted(tmp_path):
    path = wandb(tmp_path / "x.csv")
    runs = forecast.read(path)
    one = runs.take(runs["run"] == "wee")
    fit = forecast.Law("a + b*(Step + 1)**-c", variables=["Step"]).fit(one, y="train/loss")
    assert fit.params["a"] == pytest.approx(2.75, rel=2e-3)
    assert fit.params["c"] == pytest.approx(0.375, rel=5e-3)


def test_an_export_without_a_shared_column_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("a - loss,a - loss__MIN,a - loss__MAX\n1,1,1\n2,2,2\n")
    with pytest.raises(DataError, match=r"^x\.csv: expected a column that all runs share, such as Step$"):
        forecast.read(tmp_path / "x.csv")


def test_an_export_of_step_0_alone_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("Step,a - loss,a - loss__MIN,a - loss__MAX\n0,1,1,1\n")
    with pytest.raises(DataError, match="no run has a value at a 'Step' above 0"):
        forecast.read(tmp_path / "x.csv")


# --- TensorBoard ------------------------------------------------------------------------------------------------------


def scalars(path, steps):
    lines = ["Wall time,Step,Value", *(f"{1.7e9 + 10 * i!r},{step},{value}" for i, (step, value) in enumerate(steps))]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_scalars_know_their_run_and_tag(tmp_path):
    path = scalars(tmp_path / "run-wee_train-tag-loss_total.csv", [(0, 9.0), (10, 4.5), (20, 4.25)])
    data = forecast.read(path)
    assert data.notes.line().endswith("as TensorBoard scalars (steps above 0): 2 rows.")
    assert (data["Step"].tolist(), data["Value"].tolist()) == ([10, 20], [4.5, 4.25])
    assert (set(data["run"]), set(data["tag"])) == ({"wee_train"}, {"loss_total"})
    assert data.kind("Wall time") == "time"
    renamed = forecast.read(scalars(tmp_path / "mine.csv", [(10, 4.5), (20, 4.25)]))
    assert list(renamed) == ["Step", "Value", "Wall time"]


def test_what_a_restart_logged_again_is_read_once(tmp_path):
    """Steps 20 and 30 ran, the program stopped, and began again after 10."""
    data = forecast.read(
        scalars(tmp_path / "x.csv", [(10, 5.0), (20, 4.0), (30, 3.0), (20, 4.5), (30, 3.5), (40, 3.0)])
    )
    assert (data["Step"].tolist(), data["Value"].tolist()) == ([10, 20, 30, 40], [5, 4.5, 3.5, 3])


# --- trainer states and JSON lines ------------------------------------------------------------------------------------

TRAIN = [
    {"epoch": s / 400, "grad_norm": 1.5, "learning_rate": 1e-4, "loss": 4 + 100 / s, "step": s} for s in (100, 200)
]
TEST = {"epoch": 0.5, "eval_loss": 4.625, "eval_runtime": 2.5, "eval_samples_per_second": 40.0, "step": 200}
SUMMARY = {"epoch": 0.5, "step": 200, "total_flos": 1e15, "train_loss": 4.75, "train_runtime": 60.0}


def state(path, history, *, pack=bytes):
    control = {"TrainerControl": {"args": {"should_log": False}, "attributes": {}}}
    document = {"best_metric": None, "epoch": 0.5, "global_step": 200, "log_history": history, "max_steps": 200,
                "stateful_callbacks": control, "trial_params": None}  # fmt: skip
    path.write_bytes(pack(json.dumps(document, indent=2, sort_keys=True).encode()))
    return path


@pytest.mark.parametrize(("name", "pack"), [("trainer_state.json", bytes), ("mine.json.gz", gzip.compress)])
def test_a_trainer_state_has_a_row_for_each_step(tmp_path, name, pack):
    """Training and evaluation at step 200 are one row; the mean loss of the whole run is none."""
    data = forecast.read(state(tmp_path / name, [*TRAIN, TEST, SUMMARY], pack=pack))
    assert "as a Hugging Face trainer state" in data.notes.line()
    assert (data["step"].tolist(), data["loss"].tolist()) == ([100, 200], [5.0, 4.5])
    assert math.isnan(data["eval_loss"][0])
    assert data["eval_loss"][1] == 4.625
    assert "train_loss" not in data
    assert data.column("log_history.*.loss").tolist() == [5.0, 4.5]


def test_a_second_evaluation_at_a_step_is_a_row_of_its_own(tmp_path):
    """The best checkpoint is evaluated again at the end: neither value replaces the other."""
    data = forecast.read(state(tmp_path / "trainer_state.json", [*TRAIN, TEST, TEST | {"eval_loss": 4.5}]))
    assert data["eval_loss"][1:].tolist() == [4.625, 4.5]
    assert data["step"].tolist() == [100, 200, 200]


def test_an_empty_history_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"trainer_state\.json"):
        forecast.read(state(tmp_path / "trainer_state.json", []))


def test_a_log_of_json_lines_merges_what_agrees(tmp_path):
    """Runs and splits are told apart by their text; a nested record is read by its path."""
    records = [
        {"run": "wee", "global_step": 10, "train": {"loss": 3.0}, "lr": 1e-3},
        {"run": "vast", "global_step": 10, "train": {"loss": 2.0}, "lr": 1e-3},
        {"run": "vast", "global_step": 10, "eval": {"loss": 2.25}},
        {"global_step": 10, "eval": {"loss": 9.0}},
        {"note": "checkpoint saved"},
        {"run": "wee", "global_step": 20, "train": {"loss": float("nan")}, "lr": 1e-3},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, records)) + '\n{"run": "wee", "glo')  # stopped as it wrote
    data = forecast.read(path)
    assert data.notes.line() == "Read log.jsonl as a training log (steps above 0): 4 rows."
    assert data["run"].tolist() == ["wee", "vast", "", "wee"]
    assert data["global_step"].tolist() == [10, 10, 10, 20]
    assert np.array_equal(data["train.loss"], [3, 2, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(data["eval.loss"], [np.nan, 2.25, 9, np.nan], equal_nan=True)


def test_json_lines_of_something_else_are_read_as_they_are(tmp_path):
    path = tmp_path / "sizes.jsonl"
    path.write_text('{"params": 1, "loss": 3}\n{"params": 1, "loss": 4}\n')
    assert forecast.read(path).notes.line() == "Read sizes.jsonl: 2 rows."


def test_a_line_of_two_megabytes_is_a_cell_and_a_deep_one_an_error(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"step": 1, "loss": 2.0, "note": "x" * 2_000_000}) + '\n{"step": 2, "loss": 1.5}\n')
    assert forecast.read(path)["loss"].tolist() == [2, 1.5]
    path.write_text('{"step": 1, "loss": 2, "a": ' + "[" * 10_000 + "]" * 10_000 + '}\n{"step": 2, "loss": 1.5}\n')
    with pytest.raises(DataError, match=r"^log\.jsonl: nested more than 64 deep$"):
        forecast.read(path)
