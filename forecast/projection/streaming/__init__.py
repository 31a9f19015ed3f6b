"""Worlds reduced as they are drawn, in batches that add up."""
