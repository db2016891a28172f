"""What a prediction head would gain: `python -m tests.tools.head_gains MACHINE [SHARE]`.

MACHINE is what `specchat bench predict` takes: a preset, or a JSON file with `verify`, the seconds
of the target by width. SHARE is the part of the target's weights that a step of its head reads:
a block, and the output over the vocabulary. Answers are as long as usual ones; each proposal is
accepted as often as the row says, if those before it in its round were.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace

from assistant.decoding.lookahead.controller import TYPICAL_ANSWER
from assistant.lab.bench.events import Judged, Profile
from assistant.lab.bench.simulator import Machine, Simulator, machine
from assistant.lab.bench.systems import parse

SHARE = 0.185
"""Of a target of 1.5B with a vocabulary of 151,936 tokens: (47 + 5 + 233) of 1,543 million."""
ACCEPTED = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9)
SYSTEMS = parse("ars,model=1,model=2,model=3")
ANSWERS, PROMPT, SURE = 20, 30, 9


def seconds(machine: Machine, accepted: float) -> list[float]:
    """Return how long each of the systems takes for the same answers."""
    judged = Judged((accepted,) * TYPICAL_ANSWER, (SURE,) * TYPICAL_ANSWER)
    answer = Profile(tuple(range(PROMPT + TYPICAL_ANSWER)), PROMPT, {"model": judged})
    took = []
    for system in SYSTEMS:
        simulator = Simulator(system, machine, ("model",))
        took.append(sum(simulator.replay(answer).decode_s for _ in range(ANSWERS)))
    return took


def table(machine: Machine, share: float) -> str:
    """Return the speed with K = 1 to 3, over ArS, by the acceptance of each place."""
    reading: Mapping[int, float] = {n: share * took for n, took in machine.verify.items()}
    with_head = replace(machine, draft=reading)
    lines = ["| accepted | K = 1 | K = 2 | K = 3 |", "|---|---|---|---|"]
    for accepted in ACCEPTED:
        plain, *others = seconds(with_head, accepted)
        lines.append(
            " | ".join([f"| {accepted}", *(f"{plain / each:.2f}" for each in others)]) + " |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(machine(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else SHARE))
