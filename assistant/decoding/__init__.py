"""Exact decoding: rows, warps, loops, rules, draft sources, the lookahead."""
