"""How forecasts have done: scores, rolling-origin backtests, and the record of past accuracy."""
