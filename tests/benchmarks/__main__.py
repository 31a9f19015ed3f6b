"""What our work costs beside that of others: ``python -m tests.benchmarks [WORDS]``.

Each row is one piece of work and a peer's: scipy or numpy for as much, or, where nobody does as much, an ordinary piece
of work of numpy. Both are measured in turn, in CPU time of this process or of children, so that a slow or busy machine
slows both. The ratio says how many times our cost the peer's is: more is better. The word ``curves`` prints the
scores of forecasts of real curves as well.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from forecast.errors import ForecastWarning

from . import commands, curves, fits, worlds
from .timing import Benchmark, NotHereError, Result, measure

#: What is no cost but a score, by the word that prints it.
REPORTS = {"curves": curves.show}
BENCHMARKS = [*fits.BENCHMARKS, *worlds.BENCHMARKS, *commands.BENCHMARKS]
#: A row is named where its ratio fell to less than 1 / SLOWER of the one it is compared with; at 1 / BROKEN it fails.
SLOWER, BROKEN = 1.2, 2.0


def main(words: Sequence[str], rows: Iterable[Benchmark] = BENCHMARKS) -> int:
    """Measure the rows that are selected and print them; return 1 if one is twice as slow as in the file."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="measure the rows whose name has any of these in it")
    parser.add_argument("-k", metavar="TEXT", default="", help="and of them those whose name has this in it")
    parser.add_argument("--list", action="store_true", help="list the rows and measure nothing")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the ratios to a file, beside those it has")
    parser.add_argument(
        "--compare", type=Path, metavar="FILE",
        help="name the rows that became 20 %% slower than in the file; fail on one twice as slow, measured again first",
    )  # fmt: skip
    asked = parser.parse_args(words)
    rows = list(rows)
    chosen = [r for r in rows if (not asked.words or any(w in r.name for w in asked.words)) and asked.k in r.name]
    if not chosen:
        parser.error("no row has such a name: --list has them all")
    if asked.list:
        for row in chosen:
            print(f"{row.name}  (goal {row.goal:g} x {row.peer})")
        return 0
    for word in asked.words:
        if word in REPORTS:
            REPORTS[word]()
    if extras := [name for name in ("dask", "pyarrow") if find_spec(name)]:
        note = "installed: every command imports it; measure commands on a plain `pip install .`"
        print(" and ".join(extras), note, file=sys.stderr)
    warnings.simplefilter("ignore", ForecastWarning)
    before: dict[str, float] = {} if asked.compare is None else json.loads(asked.compare.read_text(encoding="utf-8"))
    found = _measured(chosen, before)
    if asked.save is not None:
        known = json.loads(asked.save.read_text(encoding="utf-8")) if asked.save.exists() else {}
        ratios = {row.name: known[row.name] for row in rows if row.name in known}
        ratios |= {name: float(f"{result.ratio:.3g}") for name, result in found.items()}
        asked.save.write_text(json.dumps(ratios, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return _compared(found, before)


def _measured(rows: Iterable[Benchmark], before: Mapping[str, float]) -> dict[str, Result]:
    """Measure and print each row; one that seems twice as slow as before is measured again, and the better counts."""
    print(f"{'':46} {'ours':>9} {'peer':>9} {'ratio':>7} {'goal':>6}  peer")
    found = {}
    for row in rows:
        try:
            result = measure(row)
            if result.ratio < before.get(row.name, 0.0) / BROKEN:
                result = max(result, measure(row), key=lambda each: each.ratio)
        except NotHereError as missing:
            print(f"{row.name:46} left out: {missing}", flush=True)
            continue
        found[row.name] = result
        ours, peer = (_shown(cost, row.unit) for cost in (result.ours, result.peer))
        missed = "" if result.ratio >= row.goal else ", below the goal"
        print(f"{row.name:46} {ours:>9} {peer:>9} {result.ratio:>7.3g} {row.goal:>6g}  {row.peer}{missed}", flush=True)
    return found


def _shown(cost: float, unit: str) -> str:
    if unit != "s":
        return f"{cost:.0f} {unit}"
    return f"{cost:.2f} s" if cost >= 1 else f"{1e3 * cost:.1f} ms" if cost >= 1e-3 else f"{1e6 * cost:.1f} µs"


def _compared(found: Mapping[str, Result], before: Mapping[str, float]) -> int:
    code = 0
    for name, result in found.items():
        times = before.get(name, 0.0) / result.ratio
        if times >= SLOWER:
            print(f"slower: {name}: ratio {result.ratio:.3g}, was {before[name]:.3g}")
        if times > BROKEN:
            print(f"FAILED: {name}: more than {BROKEN:g} times as slow, measured twice")
            code = 1
        if before and name not in before:
            print(f"new: {name}: the file has no ratio for it")
    return code


def _on_one_thread(words: Sequence[str]) -> None:
    """Start anew where BLAS may use several threads: one that waits for another costs CPU."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if any(os.environ.get(name) != value for name, value in threads.items()):
        os.execve(sys.executable, [sys.executable, "-m", "tests.benchmarks", *words], os.environ | threads)


if __name__ == "__main__":
    _on_one_thread(sys.argv[1:])
    raise SystemExit(main(sys.argv[1:]))
