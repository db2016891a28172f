"""The settings on the screen, in the editor, and in the command line."""
