"""Commands about laws and data."""
