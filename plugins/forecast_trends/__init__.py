"""Shapes of a trend: laws in time, each with an honest noise law, that fit any series of any plugin."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import ShapeSpec, hookimpl


@hookimpl
def forecast_shapes() -> Iterator[ShapeSpec]:
    """Bring the exponential and the changepoint."""
    yield ShapeSpec(
        name="exponential",
        title="A straight line in log value over time",
        target="forecast_trends.exponential:Exponential",
        reference="Moore, G. E. (1965), Cramming more components onto integrated circuits, Electronics 38(8)",
    )
    yield ShapeSpec(
        name="changepoint",
        title="Two straight lines in log value that meet at a tested break",
        target="forecast_trends.changepoint:Changepoint",
        reference="Andrews, D. W. K. (1993), Tests for parameter instability and structural change with unknown change "
        "point, Econometrica 61(4), 821-856; null distribution by simulation with autocorrelated noise",
    )
