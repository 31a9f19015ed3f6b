"""A row on another basis is refused, with the reason."""

import pytest

from forecast.errors import TableError


@pytest.mark.parametrize(
    ("table", "key", "cells", "says"),
    [
        ("interconnects", ("nvlink-4", "two-way", "marketed"), {"bandwidth": "450"}, "that of one direction"),
        ("interconnects", ("pcie-5-x16", "one-way", "data"), {"bandwidth": "126"}, "that of both directions"),
        ("interconnects", ("infiniband-qdr-4x", "one-way", "data"), {"bandwidth": "5.1"}, "before coding"),
        ("ai-clusters", ("microsoft-azure-eagle",), {"peak": "2.849e19"}, "twice that is sparse or 8-bit"),
        ("ai-clusters", ("microsoft-gpt-4-cluster",), {"peak": "1.56e19"}, "twice that is sparse or 8-bit"),
        ("ai-clusters", ("oak-ridge-nl-summit",), {"power": "13000"}, "in another unit"),
        ("fabs", ("intel-fab-32",), {"cost": "3000"}, "in thousands, millions or billions"),
        ("time-horizons", ("TH1.1", "gpt-4"), {"horizon_80": "4.5"}, "p50 and p80 are exchanged"),
        ("time-horizons", ("TH1.0", "gpt-4"), {"horizon": "0.089"}, "in another unit"),
    ],
)
def test_a_row_on_another_basis_is_refused(altered, table, key, cells, says):
    with pytest.raises(TableError, match=says):
        altered(table, table, key, **cells)
