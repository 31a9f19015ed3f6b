"""How much memory a block of worlds takes, foreseen from its plan before anything is drawn.

The steps are walked in the order in which a block computes them: a value takes its room when it is computed and gives
it back after its last reader. What a step needs beside its value while it is computed is counted in whole paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forecast.base.streams import DRAWS_PER_BLOCK
from forecast.projection.plan import DATES, DRAWS

if TYPE_CHECKING:
    from forecast.projection.evaluate import Schedule
    from forecast.projection.plan import Step

__all__ = ["peak_bytes", "step_bytes", "work_bytes"]

NUMBER_BYTES = 8
#: Operations that hand on what they read, unless a world fails.
PASSING = frozenset({"kept", "member", "quantity", "row"})
#: Dates and whether they are there already, of a crossing.
CROSSING_BYTES = NUMBER_BYTES + 1
#: So many whole paths an operation holds beside its value: both sides in logarithms, increments, masks.
WORK_PATHS = {"grown": 6, "limit": 3, "bound_by": 4, "function_over_time": 3, "never_falls": 1, "crossed": 1}
#: So many whole paths of one block a model of a plugin may hold while it samples.
MODEL_WORK_PATHS = 4


def step_bytes(step: Step, dates: int, draws: int) -> int:
    """Return the bytes of the value of a step; of what is handed on, none."""
    path = NUMBER_BYTES * (dates if step.varies & DATES else 1) * (draws if step.varies & DRAWS else 1)
    match step.operation:
        case operation if operation in PASSING:
            return 0
        case "correlated":
            return path * len(step.inputs)
        case "crossed":
            return CROSSING_BYTES * draws
        case "bound_by":
            return (dates + CROSSING_BYTES) * draws
        case "at_dates":
            return NUMBER_BYTES * len(step.arguments[1]) * draws
        case "walked":
            graph, members, _, needed, _ = step.arguments
            return path * sum(needed is None or n in needed or bool(graph.nodes[n].limits) for n in members)
    return path


def work_bytes(step: Step, dates: int, draws: int) -> int:
    """Return what a step takes beside its value while it is computed."""
    if step.operation == "formula":  # a register for each quantity, and for what is made of them
        return NUMBER_BYTES * (dates if step.varies & DATES else 1) * draws * (1 + len(step.inputs))
    if step.operation == "model":  # block by block, and then side by side
        return MODEL_WORK_PATHS * NUMBER_BYTES * dates * min(draws, DRAWS_PER_BLOCK) + NUMBER_BYTES * dates * draws
    return WORK_PATHS.get(step.operation, 0) * NUMBER_BYTES * dates * draws


def peak_bytes(schedule: Schedule, dates: int, draws: int) -> int:
    """Return the most that some worlds hold at once."""
    every, left = schedule.steps.every, schedule.reads.copy()
    sizes: dict[int, int] = {}
    holders: dict[int, int] = {}  # of a value, how many steps are it or hand it on
    root = list(range(len(every)))
    now = top = 0

    def release(place: int) -> None:
        nonlocal now
        if place in root_of:
            own = root_of.pop(place)
            holders[own] -= 1
            if not holders[own]:
                now -= sizes.pop(own)

    root_of: dict[int, int] = {}

    def read(place: int) -> None:
        left[place] -= 1
        if left[place] == 0:
            release(place)

    def run(place: int) -> None:
        nonlocal now, top
        missing, stack = set[int](), [place]
        while stack:
            at = stack.pop()
            if at not in missing and at not in root_of:
                missing.add(at)
                stack += every[at].inputs
        for at in sorted(missing):
            step = every[at]
            size = step_bytes(step, dates, draws)
            top = max(top, now + size + work_bytes(step, dates, draws))
            own = at if size or not step.inputs else root[step.inputs[0]]
            root[at] = root_of[at] = own
            if own == at:
                sizes[at], holders[at] = size, 0
                now += size
            elif own not in sizes:  # given back already
                sizes[own], holders[own] = step_bytes(every[own], dates, draws), 0
                now += sizes[own]
            holders[own] += 1
            for each in step.inputs:
                read(each)

    for output in schedule.outputs:
        if output not in root_of:
            run(output)
        for answer in schedule.after.get(output, ()):
            if answer not in root_of:
                run(answer)
        read(output)
    for answer in schedule.answers:
        if answer not in root_of:
            run(answer)
        read(answer)
    return max(top, now)
