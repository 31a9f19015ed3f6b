"""How numbers, dates and lists are said to people: the exact values are in ``--json``."""
