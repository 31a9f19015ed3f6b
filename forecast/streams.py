"""Random streams, for plugins; see `forecast.base.streams`."""

from __future__ import annotations

from forecast.base.streams import BLOCK, Streams, check_seed, choice, student_t

__all__ = ["BLOCK", "Streams", "check_seed", "choice", "student_t"]
