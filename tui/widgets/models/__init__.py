"""The list of models, and a download."""
