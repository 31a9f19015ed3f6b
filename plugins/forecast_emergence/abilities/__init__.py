"""Abilities: thresholds known only to lie between two sizes, chance, and jumps that only the metric makes."""
