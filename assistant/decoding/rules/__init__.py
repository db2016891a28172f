"""Which proposals are kept, and the row that the next token is drawn from."""
