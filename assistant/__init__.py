"""The engine: warp, draft, verify, decode, chat. Knows nothing of terminals."""
