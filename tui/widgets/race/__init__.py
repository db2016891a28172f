"""The parts of a race."""
