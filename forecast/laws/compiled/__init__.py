"""Laws as programs over arrays."""
