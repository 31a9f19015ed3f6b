"""Tables that are described and not shipped: fetched, verified, and kept."""
