"""Run code that a model wrote, where it can do no harm."""
