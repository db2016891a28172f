"""All mutants."""

from tests.mutants import decoding, rules, sampling, text

MUTANTS = (*decoding.MUTANTS, *rules.MUTANTS, *sampling.MUTANTS, *text.MUTANTS)
