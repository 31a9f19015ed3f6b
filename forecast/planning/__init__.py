"""What to do with a fit: split a budget, invert a law, compare efficiencies."""
