"""What fills the terminal: the chat, the first run, the help."""
