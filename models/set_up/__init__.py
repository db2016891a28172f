"""What `make` runs before there is an environment: it needs only Python's standard library.

Its syntax is that of older Pythons, so that it can say which one is needed.
"""
