"""One proof of the user's pair: its answers, and samples of how answers begin."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from functools import cache
from math import exp, log
from time import perf_counter
from typing import Any, cast

from assistant.decoding.loops import Rejected, Sampled
from assistant.decoding.model import Logits, Model, max_proposals
from assistant.decoding.row import Row
from assistant.decoding.rules.rule import Rule
from assistant.decoding.sources.draft import Cascade, Source
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.warp import Warp, warp, warp_with
from assistant.engine.control import Control
from assistant.engine.load import load
from assistant.engine.reply import rule_of
from assistant.lab.protocol import FALSE_ALARM, Check, LabEvent, Meter, Prove, Proved
from assistant.lab.prove.pair import ProvedPair, RecordingModel, imagined_controller, rounds_of
from assistant.lab.prove.replay import check_noise, check_restored, check_texts, continue_text, ways
from assistant.request import RULES, Request, Sampling
from models.errors import Cancelled, ModelError

TOKENS = 3  # tokens of a sample: two may be proposed, and one follows
NARROW = 4  # tokens of a row, so that answers begin alike
LIKELIEST, HOTTEST = 0.5, 60.0
"""The highest probability of the first row's best token, so that much is left to chance, and the
highest temperature for that."""
Text = tuple[int, ...]


def narrow_warp(logits: Logits, sampling: Sampling) -> Warp:
    """Return a warp that keeps few tokens, and leaves much to chance after these logits."""
    warm = replace(sampling, temperature=max(sampling.temperature, 1.0), top_k=NARROW, top_p=1.0)
    while warp(logits, warm, ()).probs.max() > LIKELIEST and warm.temperature < HOTTEST:
        warm = replace(warm, temperature=1.5 * warm.temperature, min_p=0.0)
    return warp_with(warm)


class CachingTarget(RecordingModel):
    """A target whose rows are computed one token at a time, warped, and cached."""

    def __init__(self, model: Model, warp: Warp) -> None:
        super().__init__(model)
        self.row = cache(lambda text: warp(model.logits(text)[0], text))
        """Returns the row that follows a text."""

    def _evaluated(self, tokens: Sequence[int], rows: int) -> list[Row]:
        ends = range(len(tokens) - rows + 1, len(tokens) + 1)
        return [self.row(tuple(tokens[:end])) for end in ends]


def as_it_is(row: Any, _history: Sequence[int]) -> Row:
    """Return a row that is warped already."""
    return cast(Row, row)


def caching_source(source: Source, prompt: Sequence[int], warp: Warp) -> Source:
    """Return a source that caches each row that it computes after a prompt; or one that copies.

    It reads the prompt now: the controller would not wait for a draft model's prefill.
    """
    if not isinstance(source, ModelSource):
        return source
    source.read(prompt)
    source.row(prompt, warp)
    known, recalling_source = cache(lambda text: source.row(text, warp)), copy(source)
    vars(recalling_source)["row"] = lambda tokens, _warp: known(tuple(tokens))
    return recalling_source


class Sampler:
    """Answer one prompt again and again, with the sources of one chat.

    Nothing is seeded, as in most answers: they come from the rounds of mode auto, with its
    controller and all sources. The target's rows are computed token by token, once, and cached: so
    answers take no time, their law is known exactly, and no noise of batches is in it. If SpS is
    exact, they are independent, whatever the controller and the sources learn from one to the next.
    """

    def __init__(
        self, target: Model, sources: Sequence[Source], prompt: Sequence[int], warp: Warp
    ) -> None:
        self._target, self._prompt = CachingTarget(target, warp), tuple(prompt)
        self._drafter = Cascade(*(caching_source(source, prompt, warp) for source in sources))
        self.law: Mapping[Text, float] = dict(self._texts((), 1.0))
        """The probability of each text by the target's rows."""

    def _texts(self, text: Text, probability: float) -> Iterator[tuple[Text, float]]:
        if len(text) == TOKENS:
            yield text, probability
            return
        row = self._target.row((*self._prompt, *text))
        for token, share in zip(row.ids.tolist(), row.probs.tolist(), strict=True):
            yield from self._texts((*text, token), probability * share)

    def draw(self, rule: Rule, size: int) -> tuple[Counter[Text], Counter[str]]:
        """Answer `size` times; return how answers began, and how often each source proposed.

        `rule` is the randomness of all answers.
        """
        texts, proposed = Counter[Text](), Counter[str]()
        control, controller = Control("auto"), imagined_controller()
        for _ in range(size):
            tokens = list(self._prompt)
            for round_ in rounds_of(
                self._target, self._drafter, tokens, TOKENS, rule, as_it_is, control, controller,
                has_begun=True,
            ):  # fmt: skip
                judged: list[Sampled | Rejected] = [*round_.tokens, *round_.rejected]
                proposed.update(drawn.proposal.source for drawn in judged if drawn.proposal)
            texts[tuple(tokens[len(self._prompt) :][:TOKENS])] += 1
        return texts, proposed


def check_samples(what: str, sampler: Sampler, rule: Rule, size: int, tests: int) -> Check:
    """Check that samples follow the law: by their first token, by two, and by all.

    `tests` is the number of such checks. The p-value is corrected for them: all together give a
    false alarm with a probability of `FALSE_ALARM` at most.
    """
    texts, proposed = sampler.draw(rule, size)
    p_value = 1.0
    for length in range(1, TOKENS + 1):
        law, counts = dict[Text, float](), Counter[Text]()
        for text, probability in sampler.law.items():
            law[text[:length]] = law.get(text[:length], 0.0) + probability
        for text, times in texts.items():
            counts[text[:length]] += times
        p_value = min(p_value, p_bound(counts, law) * TOKENS * tests)
    figures = {"answers": size, **{f"proposed by {name}": n for name, n in proposed.items()}}
    if not proposed:
        return Check("samples", what, None, figures, note="nothing was proposed")
    return Check("samples", what, p_value > FALSE_ALARM, figures, p_value)


def p_bound(counts: Mapping[Text, int], law: Mapping[Text, float]) -> float:
    """Return the most that the probability of such counts, or worse ones, can be under a law.

    Worse are those with a larger Kullback-Leibler divergence D from the law. Of n independent
    samples of k outcomes, D exceeds d > (k - 1) / n with a probability of at most
    exp(-n d) (e n d / (k - 1))^(k - 1): Agrawal 2020, "Finite-Sample Concentration of the
    Multinomial in Relative Entropy", theorem 1.2. That holds for every n, however small.
    """
    total, freedom = sum(counts.values()), len(law) - 1
    if any(text not in law for text in counts):
        return 0.0  # an outcome of probability 0 was observed
    scaled = sum(times * log(times / total / law[text]) for text, times in counts.items())
    if scaled <= freedom or not freedom:
        return 1.0
    return exp(-scaled + freedom * (1 + log(scaled / freedom)))


TURNS = (
    ("Tell me a story.", "There was once"),
    ("It is warm.\nIt is warm.\nWhat is the weather like?", "It is"),
    ("Write a Python function.", "def"),
)
"""Questions, and the beginnings of answers that much may follow; the second has a copy."""
TASKS = (
    "Write a Python function that reverses the words of a sentence, and explain it.",
    "Why is the sky blue? Answer in a few sentences.",
    "List five rivers of Europe, each with the countries that it flows through.",
)
"""Questions that have longer answers; all together are a prompt that is worth a snapshot."""
QUICK, THOROUGH = (2500, 32, 2, 1), (10_000, 128, len(TURNS), len(TASKS))
"""The size of a sample, the length of a text, and how many turns and tasks there are."""
N_CTX = 1024  # tokens: for a task and its answer
USUAL_LOOKAHEAD = 3


def prove(job: Prove, control: Control, emit: Callable[[LabEvent], None]) -> Proved:
    """Make all comparisons; `emit` receives each when it is made, and the progress.

    A `ModelError` says that the target cannot be used, or that the draft cannot propose to it.
    """
    started, amounts = perf_counter(), THOROUGH if job.thorough else QUICK
    _, _, turns, tasks = amounts
    meter = Meter(5 + 3 * tasks + 1 + len(RULES) * turns, emit)
    n_ctx = min(N_CTX, job.setup.n_ctx)
    setup = replace(job.setup, n_ctx=n_ctx, snapshots=0, measure=False)
    with ExitStack() as opened:
        assistant, ready = load(setup, control, emit, opened)
        speculates = assistant.target.can_roll_back
        if speculates and setup.draft and not ready.draft:
            raise ModelError(f"The pair cannot be proved. {ready.no_draft}")
        if speculates:
            lookahead = min(job.lookahead or USUAL_LOOKAHEAD, max_proposals(assistant.target))
            pair = ProvedPair(assistant, job.sampling, lookahead, job.seed)
            for check in _checks(pair, *amounts):
                emit(check)
                meter.what = check.layer
                meter.step()  # they take about as long as each other
                if control.cancel.raised:
                    raise Cancelled
    paths = tuple(model.path for model in (ready.target, ready.draft) if model)
    return Proved(paths, ready.no_draft, speculates, job.seed, perf_counter() - started)


def _checks(pair: ProvedPair, size: int, length: int, turns: int, tasks: int) -> Iterator[Check]:
    target, long = pair.target, pair.prompt(" ".join(TASKS))
    text, widest = pair.start(pair.prompt(TASKS[0])), target.max_rows
    continue_text(pair, text, max(length, widest), ways(pair)[0], by_ars=True)
    widths, noise = sorted({2, pair.lookahead + 1, 8, widest}), 0.0
    for check in check_noise(target, text, widths):
        noise = max(noise, check.figures.get("largest difference", 0.0))
        yield check
    for task in TASKS[:tasks]:
        yield from check_texts(pair, f"“{task}”", pair.prompt(task), length, noise)
    yield check_restored(pair, long, length // 2, noise)
    for question, beginning in TURNS[:turns]:
        prompt = pair.prompt(question, beginning)
        warp = narrow_warp(target.logits(prompt)[0], pair.warm)
        sampler = Sampler(target, pair.sources, prompt, warp)
        for rule in RULES:
            what, chance = f"“{beginning} …” {rule} rule", rule_of(Request((), rule=rule))
            yield check_samples(what, sampler, chance, size, turns * len(RULES))
