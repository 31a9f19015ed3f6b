"""Where a run of many batches stands on disk, so that it goes on where it was stopped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.errors import DataError, one_line, printable
from forecast.projection.streaming.array_file import load_arrays, save_arrays
from forecast.projection.streaming.columns import to_arrays, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forecast.projection.streaming.batches import Job
    from forecast.projection.streaming.reduce import BatchResult

__all__ = ["Checkpoint"]


@dataclass(frozen=True)
class Checkpoint:
    """Where the sum of the batches so far stands on disk.

    Parameters
    ----------
    path : Path
    resume : bool
        Go on from what stands there, if anything does.
    """

    path: Path
    resume: bool = False

    def load(self, job: Job, whole: BatchResult, fingerprint: str) -> int:
        """Take up what stands there, and return the number of the next batch.

        Raises
        ------
        DataError
            If it is of another run, no checkpoint, damaged, or larger than the budget. Nothing is taken up then.
        """
        if not self.resume or not self.path.exists():
            return 0
        where = printable(self.path.name)

        def check(about: Mapping[str, Any], layout: object) -> None:
            if about.get("of") != fingerprint:
                raise DataError(f"{where}: is of another run: the scenario, its data, a setting or a version differs")

        try:
            about, arrays = load_arrays(self.path, what="checkpoint", check=check)
            unpack(whole.holdings(), arrays)
            whole.note(about["notes"])
            job.warn(about["warnings"])
            return int(about["next"])
        except (LookupError, ValueError, TypeError, AttributeError) as problem:
            raise DataError(f"{where}: is no checkpoint of this run: {one_line(problem, 200)}") from problem

    def save(self, job: Job, whole: BatchResult, fingerprint: str, following: int) -> None:
        """Write what there is so far, to a temporary name that is then renamed."""
        about = {"of": fingerprint, "next": following, "notes": whole.notes(), "warnings": job.warnings()}
        save_arrays(self.path, about, to_arrays(whole.holdings()))

    def remove(self) -> None:
        """Take it away: the run has ended."""
        self.path.unlink(missing_ok=True)
