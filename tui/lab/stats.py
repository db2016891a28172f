"""`specchat stats`: what speculation did for your conversations."""

import json
import textwrap
from collections.abc import Iterator
from datetime import date
from typing import Any

import click

from assistant.lab.answer_history import KINDS, AnswerHistory, Group, look_back, spans
from assistant.stats import Tally
from tui.safe import safe
from tui.shell.chats_command import as_json_option, opened
from tui.widgets.text_figures import MISSING, gauge, level, sparkline

WIDTH, NAME, GAUGE = 80, 33, 8  # cells
PLACES = 8  # in a round, that are told one by one


@click.command()
@as_json_option
def stats(as_json: bool) -> None:
    """Show how well speculation worked in your stored answers.

    Acceptance is accepted over tested proposals; tokens per evaluation is what one target
    evaluation yielded. The speed-up compares with your own answers of the same model, at about the
    same depth, in which nothing was proposed; without such answers it is left blank.

    What an answer is, its lines tell: code, when at least half of them stand between fences (```);
    mixed, when some do; a list, when at least half are items or rows of a table; else prose.
    """
    with opened() as store:
        history = look_back(store.answers.with_stats())
    if as_json:
        click.echo(json.dumps(report(history)))
    elif not history.whole.answers:
        click.echo("There are no stored answers yet.", err=True)
    else:
        click.echo("\n".join(map(safe, lines(history))))


def lines(history: AnswerHistory) -> Iterator[str]:
    """Yield the lines of a report, at most 80 cells wide."""
    whole, total = history.whole, history.whole.stats
    days = [date.fromtimestamp(when).isoformat() for when in (history.first, history.last)]
    yield (
        f"{_count(whole.answers, 'answer')} from {days[0]} to {days[1]}: "
        f"{_count(total.generated_tokens, 'token')} in {_count(total.rounds, 'evaluation')}"
    )
    if history.left_out:
        yield f"Left out, because its figures are impossible: {_count(history.left_out, 'answer')}"
    for title, groups in _tables(history).items():
        yield ""
        yield _line(title, "answers", "accepted", "tokens/eval", "speed-up")
        for name, group in groups.items():
            if len(name) > NAME:  # names are told whole
                yield from textwrap.wrap(name, WIDTH)
                name = ""
            yield _line(name, *_cells(group))
    yield ""
    yield from _plots(history)


def report(history: AnswerHistory) -> dict[str, Any]:
    """Return the same as plain values."""
    return {
        "first": history.first or None,
        "last": history.last or None,
        "left_out": history.left_out,
        **_values(history.whole),
        "pairs": [
            {"target": target, "draft": draft, **_values(group)}
            for (target, draft), group in history.pairs.items()
        ],
        "kinds": [{"kind": kind, **_values(group)} for kind, group in history.kinds.items()],
        "depths": [
            {"from_tokens": depth, **_values(group)}
            for depth, group in sorted(history.depths.items())
        ],
        "recent_tokens_per_eval": list(history.recent),
    }


def _tables(history: AnswerHistory) -> dict[str, dict[str, Group]]:
    by_answers = sorted(history.pairs.items(), key=lambda pair: -pair[1].answers)
    return {
        "Pair": {f"{target} + {draft}": group for (target, draft), group in by_answers},
        "Kind of answer": {kind: history.kinds[kind] for kind in KINDS if kind in history.kinds},
        "Tokens before the answer": {
            span: history.depths[depth]
            for depth, span in spans().items()
            if depth in history.depths
        },
    }


def _plots(history: AnswerHistory) -> Iterator[str]:
    whole = history.whole.stats
    if whole.positions:
        rates = [tally.rate or 0.0 for tally in whole.positions[:PLACES]]
        told = " ".join(f"{rate:.0%}" for rate in rates)
        yield f"Accepted by place in the round  {''.join(map(level, rates))}  {told}"
    for name, tally in sorted(whole.sources.items(), key=lambda source: -source[1].tested):
        if tally.tested:
            yield f"Accepted of {name[:20]:<20}{_share(tally)} of {tally.tested:,}"
    if len(history.recent) > 1:
        span = f"{min(history.recent):.1f} to {max(history.recent):.1f}"
        yield f"Tokens per evaluation, the last {len(history.recent)} answers: {span}"
        yield sparkline(history.recent)


def _line(name: str, answers: str, accepted: str, tokens: str, speedup: str) -> str:
    return f"{name:<{NAME}} {answers:>7}  {accepted:<14} {tokens:>11}  {speedup:>8}".rstrip()


def _cells(group: Group) -> tuple[str, str, str, str]:
    stats, speedup = group.stats, group.speedup
    return (
        f"{group.answers:,}",
        _share(Tally(stats.tested, stats.accepted)),
        f"{stats.tokens_per_eval:.2f}" if stats.rounds else MISSING,
        MISSING if speedup is None else f"{speedup:.2f}×",
    )


def _share(tally: Tally) -> str:
    return MISSING if tally.rate is None else f"{gauge(tally.rate, GAUGE)} {tally.rate:>4.0%}"


def _values(group: Group) -> dict[str, Any]:
    stats, names = group.stats, ("rounds", "drafted", "tested", "accepted", "decode_s")
    return {
        "answers": group.answers,
        "tokens": stats.generated_tokens,
        **{name: getattr(stats, name) for name in names},
        "acceptance_rate": stats.acceptance_rate,
        "tokens_per_eval": stats.tokens_per_eval if stats.rounds else None,
        "speedup": group.speedup,
        "speedup_of_answers": group.compared,
        "positions": [tally.rate for tally in stats.positions],
        "sources": {name: tally.rate for name, tally in stats.sources.items()},
    }


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
