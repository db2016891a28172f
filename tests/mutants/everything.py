"""All mutants."""

from tests.mutants import (
    calls,
    decoding,
    forms,
    lookahead,
    models,
    rules,
    sampling,
    several,
    text,
    thinking,
)

ROOMS = (decoding, forms, calls, rules, lookahead, several, models, sampling, text, thinking)
MUTANTS = tuple(mutant for room in ROOMS for mutant in room.MUTANTS)
