"""What a fit minimises, by name, and the losses behind the names."""
