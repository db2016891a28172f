"""Which proposals are kept, and what the token after them is drawn from."""
