"""Which of the faster drafts that can be made of a file pays with its target here."""
