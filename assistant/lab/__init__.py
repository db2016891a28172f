"""The laboratories, built on the core and loaded when asked for."""
