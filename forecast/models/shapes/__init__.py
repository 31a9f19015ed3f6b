"""Around a shape: a fitted shape as a frontier, one on a scale, and one with fixed parameters."""
