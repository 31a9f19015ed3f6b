"""How good forecasts are, and forecasts that say so: scores, backtests, one verb that extrapolates, and a ledger."""

from __future__ import annotations

import lazy_loader  # type: ignore[import-untyped]

# 'forecast.scores' is this module, imported at its first use
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules={"scores"})
