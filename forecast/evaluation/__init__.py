"""How good forecasts are, and forecasts that say so: scores, backtests, and one verb that extrapolates."""
