"""Run all mutants and print what kills them."""

import sys

import tests.conftest  # noqa: F401  # how hypothesis is set
from tests.mutants.everything import MUTANTS


def main() -> int:
    """Return 1 if one survives."""
    width = max(len(mutant.name) for mutant in MUTANTS)
    survivors = 0
    for mutant in MUTANTS:
        death = mutant.death()
        survivors += death is None
        verdict = f"killed by {mutant.test} ({death})" if death else "SURVIVES"
        print(f"{mutant.name:<{width}}  {verdict}", flush=True)
    print(f"{len(MUTANTS) - survivors} of {len(MUTANTS)} killed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
