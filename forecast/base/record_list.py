"""Lists of records, which show as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from forecast.base.notebook_html import HtmlText
from forecast.errors import printable

if TYPE_CHECKING:
    import pandas as pd

_MAX_CELL = 60


class RecordList(HtmlText, list[dict[str, Any]]):
    """Records as mappings, which show as a table below a sentence.

    Parameters
    ----------
    rows : iterable of dict
    headline : str
        The sentence.
    columns : sequence of str
        The keys that are shown; by default all of the first record.

    Examples
    --------
    >>> RecordList([{"name": "x", "unit": "FLOP"}], headline="One match.")
    One match.
    name  unit
    x     FLOP
    """

    def __init__(self, rows: Iterable[dict[str, Any]] = (), *, headline: str = "", columns: Sequence[str] = ()) -> None:
        super().__init__(rows)
        self.headline, self.columns = headline, tuple(columns)

    def __repr__(self) -> str:
        """Return the sentence and the table."""
        heads = self.columns or tuple(self[0] if self else ())
        cells = [heads, *([_cell(row.get(head, "")) for head in heads] for row in self)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(c.ljust(width) for c, width in zip(row, widths, strict=True)).rstrip() for row in cells]
        return "\n".join([*([self.headline] if self.headline else []), *(lines if self else [])])

    def to_pandas(self) -> pd.DataFrame:
        """Return the records as a frame of pandas, a row each."""
        import pandas as pd

        return pd.DataFrame(list(self))

    def to_polars(self) -> Any:
        """Return the records as a frame of polars, a row each."""
        import narwhals as nw

        names = dict.fromkeys(name for row in self for name in row)
        return nw.from_dict({n: [row.get(n) for row in self] for n in names}, backend="polars").to_native()


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else printable("" if value is None else value, _MAX_CELL)
