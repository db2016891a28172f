"""The engine for other programs on this machine: OpenAI's chat completions; nothing is kept."""
