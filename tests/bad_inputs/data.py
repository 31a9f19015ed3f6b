"""Bad inputs: data."""

from bad_inputs.table import Case, Row

ROWS: tuple[Row, ...] = ()
