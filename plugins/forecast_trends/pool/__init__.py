"""The pool: what several shapes say together, as wide as the record of such forecasts asks for."""
