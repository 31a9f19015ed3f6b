"""What becomes of a fitted shape: a frontier, or a shape with some parameters held."""
