"""A law, its data and an objective made into a problem: coordinates, bounds, units, and what a solver is asked."""
