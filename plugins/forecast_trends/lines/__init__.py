"""Straight lines in log value: one, or two that meet at a break."""
