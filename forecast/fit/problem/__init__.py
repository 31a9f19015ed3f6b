"""What is minimised: the objective, the parameters' coordinates, and rows at which a law has no value."""
