"""`specchat race`: lanes side by side, on the screen or as a table."""
