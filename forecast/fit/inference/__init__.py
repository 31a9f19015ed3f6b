"""How well parameters are known: covariances, profiles, bootstraps, draws."""
