"""Records come here."""
