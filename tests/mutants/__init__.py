"""Broken variants of the shipped code, each with the test that notices.

`python -m tests.mutants` runs them all and prints the table.
"""
