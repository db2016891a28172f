"""What `make` runs before there is an environment: Python's own library, and nothing of specchat.

It is written for older Pythons too, so that it can tell which one is needed.
"""
