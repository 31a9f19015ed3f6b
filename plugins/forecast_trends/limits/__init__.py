"""Growth that ends, comes in steps, or is bounded from above."""
