"""How long a test waits for what has to come.

A busy machine may take minutes for the work of a moment. A test that is right never waits so long,
and one that is wrong may: this is no measure of speed.
"""

WAIT_S = 200.0
