"""Constrained answers: which tokens a schema, a regular expression or a grammar allows next."""
