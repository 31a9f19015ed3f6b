"""``forecast explore``: the page of an answer with the engine behind it, on this machine alone."""
