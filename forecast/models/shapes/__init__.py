"""Around a shape: how it has done, a fitted one as a frontier, and one with parameters that are held."""
