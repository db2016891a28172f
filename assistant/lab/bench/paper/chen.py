"""Chen et al. 2023, "Accelerating Large Language Model Decoding with Speculative Sampling"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assistant.decoding.lookahead import theory
from assistant.lab.bench import sweep_report
from assistant.lab.bench.intervals import Interval, geometric_mean, mean, ratio_of_sums, sign_flip
from assistant.lab.bench.paper.plan import CHEN_K, GREEDY, NUCLEUS, parts
from assistant.lab.bench.report import ReportTable, Section, interval, number
from assistant.lab.bench.run_answers import (
    RunAnswer,
    Totals,
    kinds,
    matched,
    speedup,
    sums,
    together,
)
from assistant.lab.bench.systems import System

Scores = Mapping[tuple[str, str, str], float]
"""By kind, question and system: ROUGE-2 of a summary; 1 or 0 of code that passed or did not."""
HEADER = ("task", "method", "score [95 %]", "ms/token", "speed-up [95 %]", "estimate", "parity, p")
NOTE = (
    "Score: ROUGE-2 (F1, no stemming) of summaries, pass@1 of code. Parity: permutation test of "
    "the scores' differences by question; a small p would say that SpS changes the score. "
    "Estimate: the speed-up by N / (r (K + 1)) (K t_draft + t_target), r the share of its K + 1 "
    "tokens that a round yields, times as measured; it takes a batch to take as long as one token. "
    "Chen et al., Chinchilla 70B with a 4B draft, K = 4: XSum nucleus 0.112 and 0.114 at 1.92x, "
    "greedy 0.157 and 0.156 at 2.01x; HumanEval nucleus 45.1 % and 47.0 % at 2.46x."
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of table 1."""

    kind: str
    method: str
    score: Interval | None
    token_s: Interval
    speedup: Interval | None  # against ArS; None: it is ArS
    estimate: float | None  # of the speed-up, from the share of a round that comes
    parity: float | None


def table_1(answers: Sequence[RunAnswer], scores: Scores) -> list[Line]:
    """Return ArS and SpS by task and sampling."""
    ars, sps = "ars", f"model={CHEN_K}"
    wanted = [kind for kind in kinds(answers) if parts(kind)[1] in (GREEDY, NUCLEUS)]
    lines: list[Line] = []
    for kind in sorted(wanted, key=lambda kind: parts(kind)[0]):
        for system, name in ((ars, "ArS"), (sps, f"SpS K={CHEN_K}")):
            lines += _line(kind, system, name, answers, scores)
    return lines


def section(
    answers: Sequence[RunAnswer], scores: Scores, remark: str
) -> tuple[Section, list[Line]]:
    """Return table 1; `remark` says why scores are missing."""
    lines = table_1(answers, scores)
    rows = tuple(
        (
            each.kind,
            each.method,
            interval(each.score),
            number(1000 * each.token_s.value, 1),
            interval(each.speedup),
            number(each.estimate),
            number(each.parity),
        )
        for each in lines
    )
    table = ReportTable("Table 1: scores and speed", HEADER, rows, NOTE, names=2)
    text = (*_sentences(lines), *_same_texts(answers), *((remark,) if remark else ()))
    return Section("Chen et al. 2023", text, (table,)), lines


def figure_1(
    answers: Sequence[RunAnswer], ways: Sequence[System]
) -> tuple[Section, list[sweep_report.LookaheadStep]]:
    """Return the sweep of lookaheads."""
    greedy = [answer for answer in answers if parts(answer.kind)[1] == GREEDY]
    swept = [way for way in ways if way.target is None and way.mode != "auto"]
    found = sweep_report.steps(greedy, swept)
    table = sweep_report.table(found)
    return Section("Chen et al. 2023, figure 1", (), (table,), sweep_report.plots(found)), found


def _line(
    kind: str, system: str, name: str, answers: Sequence[RunAnswer], scores: Scores
) -> list[Line]:
    both = matched(sums(answers, system), sums(answers, "ars"), kind)
    if not both:
        return []
    scored = [
        (scores[(*place, system)], scores[(*place, "ars")])
        for place in both
        if (*place, system) in scores and (*place, "ars") in scores
    ]
    pairs = both.values()
    is_ars = system == "ars"
    return [
        Line(
            kind,
            name,
            mean([score for score, _ in scored]) if scored else None,
            ratio_of_sums([(o.stats.decode_s, o.stats.generated_tokens) for o, _ in pairs]),
            None if is_ars else geometric_mean([speedup(own, ars) for own, ars in pairs]),
            None if is_ars else _estimate(*map(together, zip(*pairs, strict=True))),
            None if is_ars or not scored else sign_flip([score - ref for score, ref in scored]),
        )
    ]


def _estimate(own: Totals, ars: Totals) -> float | None:
    """Return the speed-up by the estimate, from the times and the share that were measured."""
    if not own.stats.drafted:
        return None
    tokens = own.stats.generated_tokens
    step_s, token_s = (
        own.steps_s / own.stats.drafted,
        ars.stats.decode_s / ars.stats.rounds,
    )
    share = own.stats.tokens_per_eval / (CHEN_K + 1)
    return tokens * token_s / theory.estimated_seconds(tokens, share, CHEN_K, step_s, token_s)


def _same_texts(answers: Sequence[RunAnswer]) -> list[str]:
    """Compare the texts of ArS and SpS where both are greedy: nothing else makes them equal."""
    texts: dict[str, dict[tuple[str, str, int], str]] = {"ars": {}, f"model={CHEN_K}": {}}
    for each in answers:
        if each.measured and parts(each.kind)[1] == GREEDY and each.system in texts:
            texts[each.system][each.question, each.kind, each.repeat] = each.measured.text
    ars, sps = texts.values()
    same = [sps[place] == text for place, text in ars.items() if place in sps]
    if not same:
        return []
    return [
        f"At temperature 0 SpS K={CHEN_K} gave the text of ArS in {sum(same)} of {len(same)} "
        "answers; where two tokens are nearly tied, either may be chosen."
    ]


def _sentences(lines: Sequence[Line]) -> list[str]:
    tested = [line.parity for line in lines if line.parity is not None]
    if not tested:
        return []
    # Bonferroni: as many tests as there are lines
    least = min(1.0, len(tested) * min(tested))
    verdict = "agree with" if least > 0.05 else "speak against"
    return [
        f"The scores {verdict} SpS being lossless: the smallest p, corrected for {len(tested)} "
        f"tests, is {least:.2f}."
    ]
