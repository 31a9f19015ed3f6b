"""Kinds of quantities, and what bounds and changes them: records, and how each is read from TOML."""
