"""Scenarios: read, checked, and resolved to a graph of quantities."""
