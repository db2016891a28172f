"""Find which faster draft made from a file pays with its target here."""
