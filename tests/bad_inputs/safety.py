"""Bad inputs: safety."""

from bad_inputs.table import Case, Row

ROWS: tuple[Row, ...] = ()
