"""A scenario as a whole, as of dates in the past: what it said, beside rivals, against what came."""
