"""Where the person types, and what goes along."""
