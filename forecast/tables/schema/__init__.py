"""What a table must hold: its descriptor, cells, conditions on rows, and what must stay apart."""
