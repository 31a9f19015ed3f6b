"""Commands that list and show what plugins bring."""
