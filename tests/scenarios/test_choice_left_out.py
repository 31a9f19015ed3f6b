"""A value of a table's column that no choice has says what it lacks."""

import pytest

import forecast
from forecast.errors import UnknownNameError, UsageError


def test_a_device_that_lacks_a_figure_is_told_which():
    with pytest.raises(UsageError, match=r"'h100-nvl': no \w+ in datasets/[\w-]+.*; with all that is needed: .*b200"):
        forecast.project("gpu-cluster", draws=16, with_={"device": "h100-nvl"})
    with pytest.raises(UsageError, match=r"'h100-pcie': no power in datasets/accelerators of the 4 years before"):
        forecast.project("gpu-choice", draws=16, with_={"device": "h100-pcie"})
    with pytest.raises(UnknownNameError, match="did you mean 'h200-sxm'"):  # no row at all
        forecast.project("gpu-choice", draws=16, with_={"device": "h200-sxn"})
