"""How fast answers come, as ratios to ArS: `python -m tests.tools.bars TARGET DRAFT [SYSTEM ...]`.

A SYSTEM is a mode, or sources and a lookahead: auto, suffix=15, suffix,model=3. Every system
answers every prompt from cold caches, ArS first and last and the others between, so that a slow
moment of the machine hits them alike. With a temperature the answers are seeded twins: the same
text in every system. DRAFT may be none; `specchat models list` names models.

SPECCHAT_TOKENS says how long answers are, SPECCHAT_TEMPERATURE how they are sampled, and
SPECCHAT_KINDS which kinds of prompts are asked.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from assistant.engine.load import Loader
from assistant.engine.policy import Control
from assistant.engine.reply import Assistant
from assistant.events import Finished, Stats
from assistant.lab.bench.questions import shipped
from assistant.request import SOURCES, Message, Mode, Request, Sampling, Setup
from models.files.checksum import ready

TOKENS = int(os.environ.get("SPECCHAT_TOKENS", "128"))
TEMPERATURE = float(os.environ.get("SPECCHAT_TEMPERATURE", "0"))
TASKS = shipped("tasks")
ALL = ",".join(dict.fromkeys(each.kind for each in TASKS))
KINDS = os.environ.get("SPECCHAT_KINDS", ALL).split(",")


@dataclass(frozen=True, slots=True)
class System:
    """One way to decode."""

    name: str
    mode: Mode
    lookahead: int | None = None
    sources: tuple[str, ...] = SOURCES


ARS = System("ars", "ars")


def system(name: str) -> System:
    """Return the system that a name describes."""
    match name.split("="):
        case ["auto"]:
            return System(name, "auto")
        case ["sps"]:
            return System(name, "sps")
        case [sources]:
            return System(name, "auto", sources=tuple(sources.split(",")))
        case [sources, lookahead]:
            return System(name, "sps", int(lookahead), tuple(sources.split(",")))
    sys.exit(f"{name} is not a system")


def answer(assistant: Assistant, prompt: str, way: System) -> Stats:
    """Answer from cold caches."""
    for model in (assistant.target, assistant.draft):
        if model:
            model.logits([0])  # forgets the prompt
    request = Request(
        (Message("user", prompt),),
        Sampling(TEMPERATURE),
        way.mode,
        way.lookahead,
        TOKENS,
        seed=1 if TEMPERATURE else None,
        sources=way.sources,
    )
    *_, last = assistant.reply(request, Control(way.mode, way.lookahead))
    assert isinstance(last, Finished)
    return last.stats


def bars(assistant: Assistant, systems: Sequence[System]) -> None:
    """Print a line for each prompt, each kind, and all."""
    print(f"{'':14}" + "".join(f"{way.name:>22}" for way in systems))
    kinds: dict[str, list[float]] = {way.name: [] for way in systems}
    worst = dict.fromkeys(kinds, 9.9)
    for kind in KINDS:
        here: dict[str, list[float]] = {way.name: [] for way in systems}
        for prompt in (each.text for each in TASKS if each.kind == kind):
            before = answer(assistant, prompt, ARS)
            stats = [answer(assistant, prompt, way) for way in systems]
            after = answer(assistant, prompt, ARS)
            ars = 2 / (1 / before.tokens_per_s + 1 / after.tokens_per_s)
            drift = after.tokens_per_s / before.tokens_per_s
            cells = []
            for way, each in zip(systems, stats, strict=True):
                ratio = each.tokens_per_s / ars
                here[way.name].append(ratio)
                worst[way.name] = min(worst[way.name], ratio)
                cells.append(f"{ratio:8.2f} ({each.tokens_per_eval:4.1f}/eval)")
            host = before.host_s / before.decode_s
            print(f"  {kind:12}" + "".join(f"{cell:>22}" for cell in cells), end="")
            print(f"   ars {ars:.1f}/s, drift {drift:.2f}, host {host:.1%}", flush=True)
        means = {name: geometric_mean(ratios) for name, ratios in here.items()}
        for name, mean in means.items():
            kinds[name].append(mean)
        print(f"{kind:14}" + "".join(f"{means[way.name]:13.2f}{'':9}" for way in systems))
    print(f"{'all':14}" + "".join(f"{geometric_mean(kinds[w.name]):13.2f}{'':9}" for w in systems))
    print(f"{'worst answer':14}" + "".join(f"{worst[way.name]:13.2f}{'':9}" for way in systems))


def main(target: str, draft: str, *names: str) -> None:
    """Load the pair and measure."""
    setup = Setup(ready(target), None if draft == "none" else ready(draft), n_ctx=2048)
    loader = Loader(setup, Control(), lambda event: None)
    assistant, about = loader.load()
    if about.no_draft:
        print(about.no_draft)
    bars(assistant, [system(name) for name in names or ("auto",)])
    loader.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
