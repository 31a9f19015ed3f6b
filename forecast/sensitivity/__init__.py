"""What moves an estimate, and what moves an answer."""
