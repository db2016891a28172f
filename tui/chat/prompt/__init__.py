"""Where the user types, and the attachments."""
