"""Mutants of the framework and the tests that kill them: ``python -m tests.mutation --help``."""
