"""Mutants of warping and drawing."""

from assistant.decoding import draw, row, warp
from tests.assistant.decoding import test_sampling as draws
from tests.assistant.decoding import test_warp as rows
from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "search the cumulative sum from the other side",
        draw._passes,
        'side="right"',
        'side="left"',
        draws.test_the_smallest_uniform_draws_the_first_token_and_a_boundary_the_next,
    ),
    Mutant(
        "fall off the end of the cumulative sum",
        draw._passes,
        'min(int(np.searchsorted(cumulative, point, side="right")), len(cumulative) - 1)',
        'int(np.searchsorted(cumulative, point, side="right"))',
        draws.test_a_product_that_rounds_up_to_the_total_draws_the_last_token,
    ),
    Mutant(
        "forget the blocks before the one that is searched",
        draw._place,
        "point - before",
        "point",
        draws.test_between_blocks_no_token_is_lost,
    ),
    Mutant(
        "top-k keeps everything that equals the last one kept",
        row.highest,
        "if len(places) > k:",
        "if False:",
        rows.test_ties_are_kept_by_id,
    ),
    Mutant(
        "the nucleus lacks the token that reaches its probability",
        warp.nucleus,
        "ordered[: least + 1]",
        "ordered[: max(least, 1)]",
        rows.test_the_nucleus_is_the_smallest_set_that_has_the_probability,
    ),
)
