"""How much memory a block of worlds takes, foreseen from its plan before anything is drawn.

The steps are walked in the order in which a block computes them: a value takes its room when it is computed and gives
it back after its last reader. What a step needs beside its value while it is computed is counted in whole paths.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from forecast.base.streams import DRAWS_PER_BLOCK
from forecast.projection.plan import DATES, DRAWS, Step

if TYPE_CHECKING:
    from forecast.projection.evaluate import Schedule

NUMBER_BYTES = 8
#: Operations that hand on what they read, unless a world fails.
PASSING = frozenset({"kept", "member", "quantity", "row"})
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
            return NUMBER_BYTES * draws
        case "bound_by":
            return (dates + NUMBER_BYTES) * draws
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
    every = schedule.steps.every
    sizes = [step_bytes(step, dates, draws) for step in every]
    holder: list[int] = []  # in which step's value that of each lies
    left = [0] * len(every)  # how often what holds a value is read, by what does not hand it on
    for place, step in enumerate(every):
        holder.append(place if sizes[place] or not step.inputs else holder[step.inputs[0]])
        for each in step.inputs if schedule.reads[place] and holder[place] == place else ():
            left[holder[each]] += 1
    for place in (*schedule.outputs, *schedule.answers):
        left[holder[place]] += 1
    there = set[int]()
    now = top = 0

    def read(places: Iterable[int]) -> None:
        nonlocal now
        for place in (holder[each] for each in places):
            left[place] -= 1
            if not left[place]:
                there.remove(place)
                now -= sizes[place]

    def run(place: int) -> None:
        nonlocal now, top
        missing, stack = set[int](), [place]
        while stack:
            at = holder[stack.pop()]
            if at not in missing and at not in there:
                missing.add(at)
                stack += every[at].inputs
        for at in sorted(missing):
            top = max(top, now + sizes[at] + work_bytes(every[at], dates, draws))
            now += sizes[at]
            there.add(at)
            read(every[at].inputs)

    for output in schedule.outputs:
        run(output)
        for answer in schedule.after.get(output, ()):
            run(answer)
        read([output])
    for answer in schedule.answers:
        run(answer)
        read([answer])
    return max(top, now)
