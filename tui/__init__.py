"""What a user sees: the command line and the Textual app. Knows no numerics."""
