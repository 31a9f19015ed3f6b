"""Experience curves: cost from what was ever made, and the production to come."""
