"""What one's own stored answers tell of speculation."""
