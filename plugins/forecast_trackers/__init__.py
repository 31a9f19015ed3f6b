"""Readers of the files that training runs, evaluations and trackers of the field write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import ReaderSpec, hookimpl

_EXAMPLES = Path(__file__).with_name("examples")
_EPOCH = "Epoch AI (epoch.ai/data), the CSV files of its pages, CC BY 4.0"
_INSPECT = "inspect_ai.log.EvalLog, version 2 (inspect.aisi.org.uk/eval-logs.html)"


@hookimpl
def forecast_readers() -> Iterator[ReaderSpec]:
    """Bring a reader for each format; `columns` tells a format whose file name people choose."""
    yield from (*_runs(), *_evaluations(), *_trackers())


def _spec(name: str, target: str, example: str, title: str, reference: str, **patterns: tuple[str, ...]) -> ReaderSpec:
    path = str(_EXAMPLES / example)
    code = f"forecast_trackers.{target}"
    return ReaderSpec(name=name, target=code, title=title, reference=reference, example=path, **patterns)


def _runs() -> Iterator[ReaderSpec]:
    """Logs of training runs: one row for a run and a step."""
    yield _spec(
        "wandb-export", "wandb_export:read_export", "wandb.csv", "a W&B export (steps above 0)",
        "Weights & Biases, CSV export of a line plot", columns=("*__MIN", "*__MAX"),
    )  # fmt: skip
    yield _spec(
        "tensorboard-scalars", "tensorboard_scalars:read_scalars", "run-wee-tag-loss.csv",
        "TensorBoard scalars (steps above 0)", "tensorboard.plugins.scalar.scalars_plugin, its CSV download",
        columns=("Wall time", "Step", "Value"),
    )  # fmt: skip
    yield _spec(
        "trainer-state", "step_records:read_records", "trainer_state.json",
        "a Hugging Face trainer state (steps above 0)", "transformers.TrainerState.save_to_json",
        columns=("log_history", "global_step"),
    )  # fmt: skip
    yield _spec(
        "training-log", "step_records:read_records", "training.jsonl", "a training log (steps above 0)",
        "JSON lines of step and loss, as training programs write them", matches=("*.jsonl", "*.ndjson"),
        columns=("*step", "*loss*"),
    )  # fmt: skip


def _evaluations() -> Iterator[ReaderSpec]:
    """Results of evaluations: one row for a model, a task and a way of scoring."""
    yield _spec(
        "lm-eval-results", "lm_eval_results:read_results", "results_lm_eval.json", "lm-evaluation-harness results",
        "lm_eval.result_schema.EvalResults (github.com/EleutherAI/lm-evaluation-harness)",
        columns=("results", "versions", "config"),
    )  # fmt: skip
    yield _spec("inspect-eval", "inspect_log:read_log", "inspect.eval", "an Inspect log", _INSPECT, matches=("*.eval",))
    yield _spec(
        "inspect-json", "inspect_log:read_log", "inspect.json", "an Inspect log", _INSPECT,
        columns=("status", "eval", "plan", "stats"),
    )  # fmt: skip


def _trackers() -> Iterator[ReaderSpec]:
    """Files of those who follow the field."""
    yield _spec(
        "metr-horizons", "metr_horizons:read_horizons", "metr_benchmark.yaml", "METR's time horizons",
        "METR, benchmark_results.yaml and benchmark_results_1_1.yaml (metr.org/time-horizons)",
        columns=("benchmark_name", "doubling_time_in_days", "results"),
    )  # fmt: skip
    yield _spec(
        "top500-list", "top500_list:read_list", "top500.tsv", "a TOP500 list",
        "TOP500 (top500.org), a list as TSV, XLS or XLSX",
        columns=("Rank", "R[Mm]ax*", "R[Pp]eak*", "Site", "Country"),
    )  # fmt: skip
    for name, title, columns in (
        ("models", "Epoch's models", ("Model", "Publication date", "Training compute (FLOP)")),
        ("hardware", "Epoch's hardware", ("Hardware name", "Manufacturer", "Release date")),
        ("benchmarks", "Epoch's benchmark scores", ("Model version", "Release date", "Organization", "Country")),
        ("chips", "Epoch's chip counts", ("Name", "Chip manufacturer", "Start date", "End date")),
        ("data-centers", "Epoch's data centers", ("Data center", "Date", "H100 equivalents")),
    ):
        yield _spec(
            f"epoch-{name}", "epoch_tables:read_table", f"epoch_{name}.csv", title, _EPOCH, columns=columns,
        )  # fmt: skip
