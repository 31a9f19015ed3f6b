"""Growth that shocks move."""
