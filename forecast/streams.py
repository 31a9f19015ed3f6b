"""Random streams, for plugins; see `forecast.base.streams`."""

from __future__ import annotations

from forecast.base.streams import DRAWS_PER_BLOCK, Streams, check_seed, choice, student_t

__all__ = ["DRAWS_PER_BLOCK", "Streams", "check_seed", "choice", "student_t"]
