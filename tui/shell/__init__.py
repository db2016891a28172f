"""The command line: one module per command, those of `bench` in `tui/lab`."""
