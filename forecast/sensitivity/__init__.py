"""Sensitivity of estimates and of answers."""
