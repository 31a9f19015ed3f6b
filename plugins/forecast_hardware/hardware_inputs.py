"""Inputs of the hardware models, in short: a number that is fixed, and a number with a range."""

from __future__ import annotations

from forecast import Input

__all__ = ["CLUSTER", "DATA_PARALLEL", "GPU", "JUDGED", "MODEL_PARALLEL", "SPARSE", "between", "fixed"]

#: The essays that the figures come from.
GPU = "Dettmers 2023-01-30, Which GPU(s) to Get for Deep Learning"
SPARSE = "Dettmers 2019-07-11, Sparse Networks from Scratch"
DATA_PARALLEL = "Dettmers 2014-10-09, How to Parallelize Deep Learning on GPUs, Part 1: Data Parallelism"
MODEL_PARALLEL = "Dettmers 2014-11-09, How to Parallelize Deep Learning on GPUs, Part 2: Model Parallelism"
CLUSTER = "Dettmers 2014-09-21, How to Build and Use a Multi GPU System for Deep Learning"

#: What nobody has published for this purpose.
JUDGED = "our judgement, not a measurement"


def fixed(
    name: str, unit: str, value: float, source: str, title: str = "", *, lower: float = 0.0, **qualifiers: str
) -> Input:
    """Return an input that is one number, until somebody sets it, to no less than `lower`."""
    stated = {"value": value}
    return Input(
        name=name, unit=unit, distribution=stated, source=source, title=title, qualifiers=qualifiers, lower=lower
    )


def between(name: str, unit: str, low: float, high: float, source: str, title: str = "", *, family: str = "") -> Input:
    """Return an input, never negative, whose 90 % range is given: lognormal, or uniform between two ends."""
    stated: dict[str, float | str] = {"p05": low, "p95": high}
    if family:
        stated = {"low": low, "high": high, "family": family}
    return Input(name=name, unit=unit, distribution=stated, source=source, title=title, lower=0.0)
