"""What a model returns is checked and copied; what it says of memory stays: one row where no date changes it."""

import numpy as np

from forecast.models.check_output import checked_draws


def test_rows_that_are_one_in_memory_stay_one_and_are_copied():
    row = np.arange(4.0)
    kept = checked_draws(np.broadcast_to(row, (3, 4)), (3, 4), "x")
    row[:] = 9
    assert kept.strides[0] == 0
    np.testing.assert_array_equal(kept, np.broadcast_to(np.arange(4.0), (3, 4)))


def test_rows_that_only_have_the_same_numbers_are_copied_one_by_one():
    assert checked_draws(np.ones((3, 4)), (3, 4), "x").strides[0] > 0
