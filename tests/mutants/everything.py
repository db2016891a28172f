"""All mutants."""

from tests.mutants import decoding, lookahead, models, rules, sampling, several, text

ROOMS = (decoding, rules, lookahead, several, models, sampling, text)
MUTANTS = tuple(mutant for room in ROOMS for mutant in room.MUTANTS)
