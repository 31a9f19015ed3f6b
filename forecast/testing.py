"""The conformance kit, for a plugin's own tests; see `forecast.conformance.kit`."""

from __future__ import annotations

from forecast.conformance.kit import Check, Outcome, plugin_checks as checks, run_checks

__all__ = ["Check", "Outcome", "checks", "run_checks"]
