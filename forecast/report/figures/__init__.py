"""Figures: of projections, fits, extrapolations, rankings and records; matplotlib is loaded where one is drawn."""

from forecast.base.plot_style import COLOURS, FORMATS, check_format
from forecast.report.figures.projections import PANELS, check_panel, plot

__all__ = ["COLOURS", "FORMATS", "PANELS", "check_format", "check_panel", "plot"]
