"""Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding"."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from assistant.decoding.lookahead import theory
from assistant.lab.bench.intervals import Interval, geometric_mean, ratio_of_sums
from assistant.lab.bench.paper.plan import DRAFTS, GREEDY, LOOKAHEADS, parts
from assistant.lab.bench.report import (
    Plot,
    Point,
    ReportTable,
    Section,
    Series,
    interval,
    number,
    share,
)
from assistant.lab.bench.run_answers import (
    RunAnswer,
    Totals,
    kinds,
    matched,
    speedup,
    sums,
    together,
)

NAMES = {"suffix": "copy"}
TABLE_3 = ("task", "draft", "α [95 %]", "proposes")
NOTE_3 = (
    "α: probability that a proposal is accepted, Σ min(target, draft), over all positions of ArS's "
    "answers; 0 where a draft proposes nothing. Unigram, bigram and copy see only the "
    "conversation. Leviathan et al., translation and summaries: unigram 0.08 and 0.13, bigram "
    "0.20 and "
    "0.23, T5-small for T5-XXL 0.75 and 0.65 at T=0, 0.62 and 0.53 at T=1."
)
TABLE_2 = ("task", "K", "/round", "eq. 1", "× ArS [95 %]", "th. 3.8", "+ t(n)", "ops", "th. 3.11")
NOTE_2 = (
    "/round: tokens of a round, and equation 1 with α of the model. × ArS: speed, theorem 3.8 with "
    "c as measured, which takes a batch to take as long as one token, and with the batch's "
    "measured time, + t(n); neither counts what the draft takes to read the prompt. ops: "
    "arithmetic operations per token as a multiple of ArS's, and theorem 3.11."
)
RATES = [i / 50 for i in range(1, 50)]
RATIOS = (0.01, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True, slots=True)
class Alpha:
    """How good a draft is at a task."""

    kind: str
    draft: str
    alpha: Interval
    proposes: float  # the share of places where it has anything to propose


@dataclass(frozen=True, slots=True)
class Speed:
    """A lookahead at a task: what was measured, and what the formulas say."""

    kind: str
    lookahead: int
    alpha: float
    cost_ratio: float  # c: a draft step over one token of the target
    batch_ratio: float  # t(K + 1) / t(1)
    tokens_per_round: float
    expected_tokens: float
    speedup: Interval
    formula: float
    formula_with_batch: float
    operations: float
    operations_formula: float


def table_3(answers: Sequence[RunAnswer]) -> list[Alpha]:
    """Return each draft's acceptance rate by task, at T=0 and T=1."""
    found: list[Alpha] = []
    for kind in kinds(answers):
        profiles = [
            answer.measured.profile
            for answer in answers
            if answer.kind == kind and answer.measured and answer.measured.profile
        ]
        for draft in DRAFTS:
            judged = [each.sources[draft] for each in profiles if draft in each.sources]
            if not judged:
                continue
            places = sum(len(each.overlaps) for each in judged)
            proposed = sum(value >= 0 for each in judged for value in each.overlaps)
            pairs = [
                (sum(max(0.0, value) for value in each.overlaps), len(each.overlaps))
                for each in judged
            ]
            alpha = ratio_of_sums(pairs)
            found.append(Alpha(kind, NAMES.get(draft, draft), alpha, proposed / places))
    return found


def table_2(
    answers: Sequence[RunAnswer], alphas: Sequence[Alpha], operations_ratio: float
) -> list[Speed]:
    """Return every lookahead of the model at temperature 0, by task."""
    rates = {each.kind: each.alpha.value for each in alphas if each.draft == "model"}
    ars = sums(answers, "ars")
    found: list[Speed] = []
    for kind in kinds(answers):
        if parts(kind)[1] != GREEDY or kind not in rates:
            continue
        for k in LOOKAHEADS:
            both = matched(sums(answers, f"model={k}"), ars, kind).values()
            if any(own.stats.drafted for own, _ in both):
                found.append(_speed(kind, k, rates[kind], both, operations_ratio))
    return found


def section(
    answers: Sequence[RunAnswer], operations_ratio: float
) -> tuple[Section, list[Alpha], list[Speed]]:
    """Return tables 3 and 2, and figures 2 and 3 with what was measured in them."""
    alphas = table_3(answers)
    speeds = table_2(answers, alphas, operations_ratio)
    rows_3 = tuple(
        (each.kind, each.draft, interval(each.alpha), share(each.proposes)) for each in alphas
    )
    rows_2 = tuple(map(_row, speeds))
    tables = (
        ReportTable("Table 3: acceptance rates of drafts", TABLE_3, rows_3, NOTE_3, names=2),
        ReportTable("Table 2: speed by lookahead, greedy", TABLE_2, rows_2, NOTE_2, names=2),
    )
    figures = (figure_2(alphas, speeds), figure_3(speeds))
    return Section("Leviathan et al. 2023", _costs(speeds), tables, figures), alphas, speeds


def figure_2(alphas: Sequence[Alpha], speeds: Sequence[Speed]) -> Plot:
    """Return the expected tokens of a round by acceptance rate."""
    curves = [
        Series(
            f"K = {k}",
            tuple(Point(rate, theory.expected_tokens(rate, k)) for rate in RATES),
            "dashed",
        )
        for k in LOOKAHEADS
    ]
    measured = tuple(Point(each.alpha, each.tokens_per_round) for each in speeds)
    return Plot(
        "Figure 2: tokens of a round",
        "acceptance rate α",
        "tokens per round",
        (*curves, Series("measured", measured, "points")),
        note="α: the probability that a proposal is accepted. Curves: equation 1. Points: the same "
        "lookaheads of each task, measured, the lowest first.",
    )


def figure_3(speeds: Sequence[Speed]) -> Plot:
    """Return the optimal lookahead by acceptance rate, for several cost ratios."""
    curves = [
        Series(
            f"c = {ratio:g}",
            tuple(Point(rate, theory.optimal_lookahead(rate, ratio, 20)) for rate in RATES),
            "dashed",
        )
        for ratio in RATIOS
    ]
    best: list[Speed] = []
    for kind in dict.fromkeys(each.kind for each in speeds):
        here = [each for each in speeds if each.kind == kind]
        best.append(max(here, key=lambda each: each.speedup.value))
    points = tuple(
        Point(each.alpha, each.lookahead if each.speedup.value > 1 else 0) for each in best
    )
    cost = f"c = {best[0].cost_ratio:.2f}" if best else "none"
    return Plot(
        "Figure 3: the optimal lookahead",
        "acceptance rate α",
        "fastest K",
        (*curves, Series(f"best measured, {cost}", points, "points")),
        note="c: time of a step of the draft over that of one token of the target. The curves "
        "take a batch to take as long as one token; where it takes longer, the best lookahead is "
        "smaller. Measured at 0: no lookahead was faster than ArS.",
    )


def _speed(
    kind: str,
    k: int,
    alpha: float,
    both: Collection[tuple[Totals, Totals]],
    operations_ratio: float,
) -> Speed:
    own, ars = (together(sides) for sides in zip(*both, strict=True))
    rounds, drafted = own.stats.rounds, own.stats.drafted
    token_s = ars.stats.decode_s / ars.stats.rounds
    cost_ratio = own.steps_s / drafted / token_s
    batch_ratio = (own.stats.decode_s - own.stats.draft_s) / rounds / token_s
    expected = theory.expected_tokens(alpha, k)
    evaluated = drafted + rounds + operations_ratio * drafted
    return Speed(
        kind,
        k,
        alpha,
        cost_ratio,
        batch_ratio,
        own.stats.tokens_per_eval,
        expected,
        geometric_mean([speedup(each, reference) for each, reference in both]),
        theory.wall_clock_factor(alpha, k, cost_ratio),
        expected / (k * cost_ratio + batch_ratio),
        evaluated / own.stats.generated_tokens,
        theory.operations_factor(alpha, k, operations_ratio),
    )


def _row(each: Speed) -> tuple[str, ...]:
    figures = (each.formula, each.formula_with_batch, each.operations, each.operations_formula)
    return (
        each.kind,
        str(each.lookahead),
        number(each.tokens_per_round),
        number(each.expected_tokens),
        interval(each.speedup),
        *map(number, figures),
    )


def _costs(speeds: Sequence[Speed]) -> tuple[str, ...]:
    if not speeds:
        return ()
    ratios = [each.cost_ratio for each in speeds]
    batches = sorted({(each.lookahead + 1, each.batch_ratio) for each in speeds})
    least, most = batches[0], batches[-1]
    return (
        f"A step of the draft takes c = {min(ratios):.2f} to {max(ratios):.2f} of a token of the "
        f"target; a batch of {least[0]} takes {least[1]:.2f} times as long as one token, and one "
        f"of {most[0]} tokens {most[1]:.2f} times as long.",
    )
