"""Settings of a run: what is set, swapped or wired, and what becomes of the graph."""
