"""The engine for other programs: OpenAI's chat completions over HTTP, on this machine alone.

It listens where it is told to and connects to nothing. Nothing that passes through is kept.
"""
