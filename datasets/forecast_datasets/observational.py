"""Readers of the scores of Observational Scaling Laws: from its files to our columns."""

from __future__ import annotations

from pathlib import Path

from forecast_datasets.rows import Columns, Numbers, numbers, read_rows, require

__all__ = ["benchmarks", "emergent"]

_BENCHMARKS: Numbers = {
    "params": (("Model Size (B)",), 1e9),
    "tokens": (("Pretraining Data Size (T)",), 1e12),
    "compute": (("FLOPs (1E21)",), 1e21),
    "mmlu": (("MMLU",), 1.0),
    "arc_c": (("ARC-C",), 1.0),
    "hellaswag": (("HellaSwag",), 1.0),
    "winograd": (("Winograd",), 1.0),
    "truthfulqa": (("TruthfulQA",), 1.0),
    "gsm8k": (("GSM8K",), 1.0),
    "xwinograd": (("XWinograd",), 1.0),
    "humaneval": (("HumanEval",), 1.0),
}
_EMERGENT: Numbers = {
    "persian_qa": (("parsinlu_qa_2_acc",), 1.0),
    "word_unscramble": (("word_unscrambling_2_exact_match",), 1.0),
    "transliterate": (("ipa_transliterate_2_exact_match",), 1.0),
    "transliterate_bleu": (("ipa_transliterate_2_bleu",), 1.0),
    "subtract_3": (("arithmetic_3ds_2_acc",), 1.0),
    "add_3": (("arithmetic_3da_2_acc",), 1.0),
    "multiply_2": (("arithmetic_2dm_2_acc",), 1.0),
    "add_2": (("arithmetic_2da_2_acc",), 1.0),
}


def benchmarks(path: Path) -> Columns:
    """Read size, tokens, compute and benchmark scores of base models."""
    return _read(path, {"model": "Model", "family": "Model Family"}, _BENCHMARKS)


def emergent(path: Path) -> Columns:
    """Read scores on tasks that are said to emerge."""
    return _read(path, {"model": "Model"}, _EMERGENT)


def _read(path: Path, texts: dict[str, str], figures: Numbers) -> Columns:
    rows = read_rows(path, "observational scores")
    require(rows, (*texts.values(), *(names[0] for names, _ in figures.values())), path, "observational scores")
    return {**{ours: [row[theirs] for row in rows] for ours, theirs in texts.items()}, **numbers(rows, figures)}
