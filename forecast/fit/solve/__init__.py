"""How the optimum is found: starts, Newton's method, variable projection, shared work."""
