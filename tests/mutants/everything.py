"""All mutants."""

from tests.mutants import (
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

ROOMS = (decoding, forms, rules, lookahead, several, models, sampling, text, thinking)
MUTANTS = tuple(mutant for room in ROOMS for mutant in room.MUTANTS)
