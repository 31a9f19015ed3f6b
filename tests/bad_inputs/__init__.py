"""Bad inputs, and what must happen: a row each, in a file an area; `tests/test_bad_inputs.py` runs them all."""
