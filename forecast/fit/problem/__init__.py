"""The problem that a solver gets from a law, data and an objective: coordinates, bounds, units and the target."""
