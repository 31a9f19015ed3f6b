"""Eleven research tasks of the docs, with lawcast and with another tool: characters of code, seconds of CPU, ratios.

Characters are those of the code, without indentation and comments. Each pair runs in a process of its own, on the data
of the page; importing counts. A tool that is not installed leaves its CPU out: ``--python`` names an interpreter that
has it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "eleven-tasks.md"
#: Runs the first of the blocks unmeasured, those before the last as well, and prints the seconds of the last.
_TIMED = """
import sys, time, warnings
warnings.simplefilter("ignore")
space = {}
for code in sys.argv[1:-1]:
    exec(code, space)
start = time.process_time()
exec(sys.argv[-1], space)
print(time.process_time() - start)
"""


def pairs(text: str) -> tuple[str, list[tuple[str, str, str, str]]]:
    """Return the data of the page, and of each task its title, the other tool, our code and the tool's."""
    data, rest = re.findall(r"```python\n(.*?)```", text, re.S)[0], text.split("\n## ")[1:]
    found = []
    for part in rest:
        ours, theirs = re.findall(r"```python\n# with (\S+)\n(.*?)```", part, re.S)
        found.append((part.partition("\n")[0], theirs[0], ours[1], theirs[1]))
    return data, found


def n_characters(code: str) -> int:
    """Return the characters of code without indentation."""
    return sum(len(line.strip()) for line in code.splitlines())


def seconds(python: str, blocks: list[str]) -> float | None:
    """Return the CPU of the last of several blocks; None where a tool is missing."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, "-c", _TIMED, *blocks], cwd=folder, capture_output=True, text=True, check=False,
            env={"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    if done.returncode and "ModuleNotFoundError" not in done.stderr:
        raise SystemExit(done.stderr)
    return None if done.returncode else float(done.stdout.split()[-1])


def main() -> None:
    """Print a row a task, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="An interpreter that has the other tools.")
    python = parser.parse_args().python
    data, found = pairs(PAGE.read_text(encoding="utf-8"))
    sums = [0.0, 0.0, 0.0, 0.0]
    before: tuple[list[str], list[str]] = ([data], [data])  # what a task leaves, the last ones use
    print("| task | other tool | characters | ratio | CPU (s) | ratio |\n|---|---|---|---|---|---|")
    for title, tool, ours, theirs in found:
        cpu = seconds(sys.executable, [*before[0], ours]), seconds(python, [*before[1], theirs])
        if "pooled" in title:  # the answer that is saved and drawn
            before[0].append(ours), before[1].append(theirs)
        sizes = n_characters(ours), n_characters(theirs)
        told = "- | -" if None in cpu else f"{cpu[0]:.2f} : {cpu[1]:.2f} | {cpu[0] / cpu[1]:.2f}"
        print(f"| {title} | {tool} | {sizes[0]} : {sizes[1]} | {sizes[0] / sizes[1]:.2f} | {told} |")
        sums = [a + (b or 0.0) for a, b in zip(sums, (*sizes, *cpu), strict=True)]
    print(
        f"| all | | {sums[0]:.0f} : {sums[1]:.0f} | {sums[0] / sums[1]:.2f} | {sums[2]:.2f} : {sums[3]:.2f} |", end=""
    )
    print(f" {sums[2] / sums[3]:.2f} |" if sums[3] else " - |")


if __name__ == "__main__":
    main()
