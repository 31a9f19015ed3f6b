"""How good forecasts are, and forecasts that say so: scores, backtests, one verb that extrapolates, and a ledger."""
