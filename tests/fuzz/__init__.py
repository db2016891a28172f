"""A fuzzer for whoever has a night: `python -m tests.fuzz TARGET [SECONDS] [FOLDER]`."""
