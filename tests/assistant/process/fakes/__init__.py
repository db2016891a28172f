"""Workers that misbehave in one way each."""
