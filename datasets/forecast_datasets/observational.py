"""Readers of the scores of Observational Scaling Laws: from its files to our columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["benchmarks", "emergent"]

#: Ours to theirs, and the factor to our unit.
_BENCHMARKS: Mapping[str, tuple[str, float]] = {
    "params": ("Model Size (B)", 1e9),
    "tokens": ("Pretraining Data Size (T)", 1e12),
    "compute": ("FLOPs (1E21)", 1e21),
    "mmlu": ("MMLU", 1.0),
    "arc_c": ("ARC-C", 1.0),
    "hellaswag": ("HellaSwag", 1.0),
    "winograd": ("Winograd", 1.0),
    "truthfulqa": ("TruthfulQA", 1.0),
    "gsm8k": ("GSM8K", 1.0),
    "xwinograd": ("XWinograd", 1.0),
    "humaneval": ("HumanEval", 1.0),
}
_EMERGENT: Mapping[str, tuple[str, float]] = {
    "persian_qa": ("parsinlu_qa_2_acc", 1.0),
    "word_unscramble": ("word_unscrambling_2_exact_match", 1.0),
    "transliterate": ("ipa_transliterate_2_exact_match", 1.0),
    "transliterate_bleu": ("ipa_transliterate_2_bleu", 1.0),
    "subtract_3": ("arithmetic_3ds_2_acc", 1.0),
    "add_3": ("arithmetic_3da_2_acc", 1.0),
    "multiply_2": ("arithmetic_2dm_2_acc", 1.0),
    "add_2": ("arithmetic_2da_2_acc", 1.0),
}


def benchmarks(path: Path) -> dict[str, list[object]]:
    """Read size, tokens, compute and benchmark scores of base models."""
    return _read(path, {"model": "Model", "family": "Model Family"}, _BENCHMARKS)


def emergent(path: Path) -> dict[str, list[object]]:
    """Read scores on tasks that are said to emerge."""
    return _read(path, {"model": "Model"}, _EMERGENT)


def _read(path: Path, texts: Mapping[str, str], numbers: Mapping[str, tuple[str, float]]) -> dict[str, list[object]]:
    import csv

    from forecast.errors import DataError

    with path.open(encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream))
    for theirs in (*texts.values(), *(name for name, _ in numbers.values())):
        if not found or theirs not in found[0]:
            raise DataError(f"{path.name}: column '{theirs}' is missing: another file than the one described?")
    columns: dict[str, list[object]] = {ours: [row[theirs] for row in found] for ours, theirs in texts.items()}
    for ours, (theirs, factor) in numbers.items():
        columns[ours] = [None if row[theirs] == "" else float(row[theirs]) * factor for row in found]
    return columns
