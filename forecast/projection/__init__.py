"""A graph of quantities, drawn: worlds, their reduction, and what it takes to repeat them."""
