"""The commands, one module each; those of `bench` have a room of their own."""
