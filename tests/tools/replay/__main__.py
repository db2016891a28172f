"""Judges the shipped rounds by recorded answers: `python -m tests.tools.replay run`.

- `run [--fresh] [--lookahead K] [KIND ...]`: for each machine and kind, how fast the answers are
  against plain decoding on average and at worst, the share of their tokens that was proposed, what
  was staked on proposals, and by how much an answer was later than plain decoding at most, both in
  evaluations of one token. Answers come one after another from one controller, with `--fresh` each
  from a new one; a newcomer's always do.
- `expect`: write what rounds there are to `rounds.json`, which a test compares with. Only a change
  that is meant to change rounds does that.
- `record [NAME ...]`: make records again, those of some questions or all: a minute each, with the
  default target and its draft, which have to be on this machine.
"""

import json
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, geometric_mean

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.engine.control import Control
from models.drafts import find_draft, find_target
from tests.tools.replay.questions import NEWCOMER, questions
from tests.tools.replay.recording import FOLDER, answers, recorded
from tests.tools.replay.replaying import MACHINES, Replayed, WarpedAnswer, replayed

EXPECTED = FOLDER.with_name("rounds.json")
HEAD = (
    f"{'':20} {'kind':18} {'n':>2} {'speed':>6} {'worst':>6} {'lit':>5} {'staked':>6} {'lost':>5}"
)


def decoded(
    machine: str, texts: Sequence[WarpedAnswer], fresh: bool = False, control: Control | None = None
) -> Iterator[Replayed]:
    """Decode answers on a machine, one after another."""
    costs = MACHINES[machine]
    controller = Controller(Costs(*costs))
    for text in texts:
        is_new = fresh or text.answer.question.kind == NEWCOMER
        yield replayed(text, Controller(Costs(*costs)) if is_new else controller, costs, control)


def notes(machine: str, texts: Sequence[WarpedAnswer]) -> dict[str, str]:
    """Return the rounds of all answers on a machine, by answer."""
    return {each.answer.question.name: each.notes for each in decoded(machine, texts)}


def table(replays: Callable[[str], Iterator[Replayed]]) -> Iterator[str]:
    """Yield the lines of a table, by machine and kind."""
    yield HEAD
    for machine in MACHINES:
        kinds = defaultdict[str, list[Replayed]](list)
        for each in replays(machine):
            kinds[each.answer.question.kind].append(each)
        kinds["all"] = [each for some in kinds.values() for each in some]
        for kind, some in kinds.items():
            speeds, lost = [each.speedup for each in some], max(each.lost for each in some)
            lit, staked = fmean(each.lit for each in some), fmean(each.staked for each in some)
            yield (
                f"{machine:20} {kind:18} {len(some):2} {geometric_mean(speeds):6.3f} "
                f"{min(speeds):6.3f} {lit:5.0%} {staked:6.1f} {lost:5.1f}"
            )


def record(names: list[str]) -> None:
    """Record answers of the default pair, and write them beside this."""
    target = find_target(None, (), lambda *progress: None)
    draft, _ = find_draft(None, str(target), (), lambda *progress: None)
    for question in questions():
        if draft and (not names or question.name in names):
            recorded(question, target, draft).save(FOLDER / f"{question.name}.npz")
            print(question.name, flush=True)


def main() -> None:
    """Do what the arguments say."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "expect", "record"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--lookahead", type=int)
    given = parser.parse_args()
    if given.what == "record":
        record(given.names)
        return
    texts = [
        WarpedAnswer(answer)
        for answer in answers()
        if not given.names or answer.question.kind in given.names
    ]
    if given.what == "expect":
        expected = {machine: notes(machine, texts) for machine in MACHINES}
        EXPECTED.write_text(json.dumps(expected, indent=0) + "\n")
        return
    control = Control("auto", given.lookahead)
    for line in table(lambda machine: decoded(machine, texts, given.fresh, control)):
        print(line)


if __name__ == "__main__":
    main()
