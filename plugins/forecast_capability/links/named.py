"""The names of the links of published models that are code."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import FunctionSpec, ModelSpec

__all__ = ["functions", "models"]

METR = (
    "METR, Measuring AI Ability to Complete Long Tasks: METR/eval-analysis-public@52d6b56 and "
    "peterhurford/metr_graph@dde102f (no licence: figures only, no code)"
)

#: Windows, percent of success, bent or not. The one from 2024-05, GPT-4o, is the last of metr_graph's two pieces.
_TRENDS = (
    *((window, share, False) for window in ("2019", "2023", "2024", "2024-05") for share in (50, 80)),
    *((window, 50, True) for window in ("2019", "2023", "2024")),
)


def models() -> Iterator[ModelSpec]:
    """Bring the doubling time and the line of every window and success rate."""
    for window, share, bent in _TRENDS:
        name = f"{'bent-' if bent else ''}{window}{'' if share == 50 else f'-p{share}'}"
        about = f"METR time horizon at {share} % success, models from {window} on that led at their release"
        about += ", doublings getting shorter" if bent else ""
        yield ModelSpec(
            name=f"horizon-{name}",
            title=f"Doubling time: {about}",
            quantity="capability.horizon_doubling",
            unit="day",
            keeps="positive",
            target="forecast_capability.links.horizon:doubling",
            note="the interval is that of a regression on independent points; METR's own, 105 to 157 days from "
            "2023 on, resamples tasks, whose results are not published here",
            reference=METR,
        )
        yield ModelSpec(
            name=f"horizon-line-{name}",
            title=f"Line through the centre of the points: {about}",
            quantity="capability.time_horizon",
            unit="min",
            keeps="positive",
            target="forecast_capability.links.horizon:line",
            note="beyond 16 h METR calls its measurements unreliable",
            reference=METR,
        )


_FTM = "Davidson 2023; epoch-research/ftm@99dc907 (MIT; rebuilt from its equations, no code copied)"
_INPUTS = (
    "labour", "compute", "labour_start", "compute_start", "run", "need", "need_gap", "runtime", "runtime_gap", "trade",
    "trade_most", "rho",
)  # fmt: skip
_DOMAIN = {
    "labour": (1e6, 1e10),
    "compute": (1e26, 1e34),
    "labour_start": (1e6, 1e10),
    "compute_start": (1e26, 1e28),
    "run": (1e24, 1e36),
    "need": (1e33, 1e37),
    "need_gap": (10, 1e6),
    "runtime": (1e20, 1e25),
    "runtime_gap": (1, 100),
    "trade": (0.8, 3),
    "trade_most": (1, 1000),
    "rho": (-2, -0.2),
}

_CODING = {
    "people": (1, 1e6),
    "chips": (1e-3, 1e9),
    "progress": (0, 40),
    "now": (15, 25),
    "then": (26, 40),
    "automated": (0.01, 0.9),
    "rate": (0.01, 1),
    "slope": (0.1, 10),
    "rho": (-5, -1),
}


def functions() -> Iterator[FunctionSpec]:
    """Bring who does which task."""
    for name, title, target in (
        ("ftm-work", "Cognitive work of people and machines, relative to the start", "composite"),
        ("ftm-automated", "Share of a hundred tasks that machines do for the most part", "automated"),
    ):
        yield FunctionSpec(
            name=name,
            title=title,
            target=f"forecast_capability.links.tasks:{target}",
            unit="",
            inputs=dict.fromkeys(_INPUTS, ""),
            domain=_DOMAIN,
            reference=_FTM,
        )
    yield FunctionSpec(
        name="coding-labour",
        title="Coding by people and chips over a continuum of tasks, in people",
        target="forecast_capability.links.coding:labour",
        unit="",
        inputs=dict.fromkeys(_CODING, ""),
        domain=_CODING,
        reference="brendanhalstead/ai-progress-rates@786c665 (no licence: rebuilt from its equations, no code copied)",
    )
