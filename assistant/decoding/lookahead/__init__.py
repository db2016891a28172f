"""How many tokens to propose."""
