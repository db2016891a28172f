"""One proof of the user's pair, by its answers."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from time import perf_counter

from assistant.decoding.model import most_proposals
from assistant.engine.control import Control
from assistant.engine.load import load
from assistant.engine.reply import rule_of
from assistant.lab.protocol import Check, LabEvent, Meter, Prove, Proved
from assistant.lab.prove.pair import ProvedPair
from assistant.lab.prove.replay import noise_checks, restored, texts, ways, written
from assistant.lab.prove.samples import Sampler, narrowed, sampled
from assistant.request import RULES, Request
from models.errors import Cancelled, ModelError

TURNS = (
    ("Tell me a story.", "There was once"),
    ("It is warm.\nIt is warm.\nWhat is the weather like?", "It is"),
    ("Write a Python function.", "def"),
)
"""Questions, and answers that have been begun so that much may follow; the second has a copy."""
TASKS = (
    "Write a Python function that reverses the words of a sentence, and explain it.",
    "Why is the sky blue? Answer in a few sentences.",
    "List five rivers of Europe, each with the countries that it flows through.",
)
"""What is answered at some length; all together are a prompt that is worth a snapshot."""
QUICK, THOROUGH = (2500, 32, 2, 1), (10_000, 128, len(TURNS), len(TASKS))
"""The size of a sample, the length of a text, and how many turns and tasks there are."""
N_CTX = 1024  # tokens: for a task and its answer
USUAL_LOOKAHEAD = 3


def prove(job: Prove, control: Control, emit: Callable[[LabEvent], None]) -> Proved:
    """Go through everything; `emit` gets each comparison when it is made, and the progress.

    Raises:
        ModelError: the target cannot be used, or the draft cannot propose to it.
        Cancelled: it was stopped.
    """
    started, amounts = perf_counter(), THOROUGH if job.thorough else QUICK
    _, _, turns, tasks = amounts
    meter = Meter(5 + 3 * tasks + 1 + len(RULES) * turns, emit)

    def check_all(checks: Iterable[Check]) -> None:
        for check in checks:
            emit(check)
            meter.what = check.layer
            meter.step()  # they take about as long as each other
            if control.cancel.raised:
                raise Cancelled

    n_ctx = min(N_CTX, job.setup.n_ctx)
    setup = replace(job.setup, n_ctx=n_ctx, snapshots=0, measure=False)
    with ExitStack() as opened:
        assistant, ready = load(setup, control, emit, opened)
        speculates = assistant.target.can_roll_back
        if speculates and setup.draft and not ready.draft:
            raise ModelError(f"The pair cannot be proved. {ready.no_draft}")
        if speculates:
            lookahead = min(job.lookahead or USUAL_LOOKAHEAD, most_proposals(assistant.target))
            check_all(_compared(ProvedPair(assistant, job.sampling, lookahead, job.seed), *amounts))
    paths = tuple(model.path for model in (ready.target, ready.draft) if model)
    return Proved(paths, ready.no_draft, speculates, job.seed, perf_counter() - started)


def _compared(pair: ProvedPair, size: int, length: int, turns: int, tasks: int) -> Iterator[Check]:
    target, long = pair.target, pair.prompt(" ".join(TASKS))
    text, widest = pair.start(pair.prompt(TASKS[0])), target.max_rows
    written(pair, text, max(length, widest), ways(pair)[0], alone=True)
    widths, noise = sorted({2, pair.lookahead + 1, 8, widest}), 0.0
    for check in noise_checks(target, text, widths):
        noise = max(noise, check.figures.get("largest difference", 0.0))
        yield check
    for task in TASKS[:tasks]:
        yield from texts(pair, f"“{task}”", pair.prompt(task), length, noise)
    yield restored(pair, long, length // 2, noise)
    for question, beginning in TURNS[:turns]:
        prompt = pair.prompt(question, beginning)
        warp = narrowed(target.logits(prompt)[0], pair.warm)
        sampler = Sampler(target, pair.sources, prompt, warp)
        for rule in RULES:
            what, chance = f"“{beginning} …” {rule} rule", rule_of(Request((), rule=rule))
            yield sampled("samples", what, sampler, chance, size, turns * len(RULES))
