"""The parts of the screen for several answers."""
