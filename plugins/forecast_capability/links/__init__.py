"""The links of published models that are code: each is a model of its own name, which any scenario can swap in."""
