"""Figures: of projections, fits, extrapolations, rankings and records; matplotlib is loaded where one is drawn."""

from forecast.base.plot_style import COLOURS, FIGURE_SUFFIXES, check_format
from forecast.report.figures.projection_figure import PANELS, check_panel, plot_projection

__all__ = ["COLOURS", "FIGURE_SUFFIXES", "PANELS", "check_format", "check_panel", "plot_projection"]
