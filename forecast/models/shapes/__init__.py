"""Around a shape: its track record, a fitted shape as a frontier, and one with fixed parameters."""
