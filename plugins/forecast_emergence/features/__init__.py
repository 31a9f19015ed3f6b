"""Outlier features: what they follow, when they shift, how large they are, and what one could have told in advance."""
