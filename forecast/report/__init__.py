"""Answers for people: sentences, tables and figures from a projection."""
