"""The passages of a folder: an index kept in the background, and the ones that fit a question."""
