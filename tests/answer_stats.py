"""`Stats` of two answers, and their sum."""

from assistant.stats import Stats, Tally

FIRST = Stats(
    "sps", rounds=10, drafted=30, tested=20, accepted=15, generated_tokens=25,
    prompt_tokens=50, cached_tokens=5, prefill_s=1.0, first_token_s=1.2, decode_s=2.0,
    draft_s=0.5, verify_s=1.4, guessing_s=0.5, lookahead_counts={3: 10},
    positions=(Tally(10, 8), Tally(10, 7)), sources={"model": Tally(20, 15)},
    masked_rows=30, mask_s=0.25, thought_tokens=9, thought_s=0.75,
)  # fmt: skip

MORE = Stats(
    "auto", rounds=2, drafted=3, tested=3, accepted=3, generated_tokens=5,
    prompt_tokens=75, cached_tokens=75, prefill_s=0.1, first_token_s=0.2, decode_s=0.5,
    draft_s=0.1, verify_s=0.3, guessing_s=0.4, lookahead_counts={3: 1, 0: 1},
    positions=(Tally(1, 1), Tally(1, 1), Tally(1, 1)), sources={"ngram": Tally(3, 3)},
    masked_rows=6, mask_s=0.5,
)  # fmt: skip

BOTH = Stats(
    "auto", rounds=12, drafted=33, tested=23, accepted=18, generated_tokens=30,
    prompt_tokens=50, cached_tokens=5, prefill_s=1.1, first_token_s=1.2, decode_s=2.5,
    draft_s=0.6, verify_s=1.7, guessing_s=0.9, lookahead_counts={3: 11, 0: 1},
    positions=(Tally(11, 9), Tally(11, 8), Tally(1, 1)),
    sources={"model": Tally(20, 15), "ngram": Tally(3, 3)},
    masked_rows=36, mask_s=0.75, thought_tokens=9, thought_s=0.75,
)  # fmt: skip
