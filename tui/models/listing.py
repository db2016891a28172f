"""Models as lines for a terminal: what is here, what can be fetched, which draft serves."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from models.memory import MACHINES
from tui.models.facts import Facts
from tui.widgets.text_figures import size

WIDTH = 80  # cells
TESTED = (
    "* Run by those who listed it. The others were read about, not run; specchat models pair and "
    "specchat prove tell whether a pair works on this machine."
)
_ANSWERS = ("best", "yes", "no")


def here(models: Sequence[Facts]) -> Iterator[str]:
    """Yield the models on this machine, by what to call them; that is long, and comes last."""
    if not models:
        yield "No models are on this machine."
        return
    yield "On this machine (specchat --target MODEL):"
    for model in models:
        kind, store = model["file_type"] or "?", str(model["store"])
        yield f"{amount(model['size']):>9}  {kind!s:<8} {store:<12}  {name(model['reference'])}"
        for remark in _remarks(model):
            yield from _remark(remark, "            ")


def fetchable(models: Sequence[Facts]) -> Iterator[str]:
    """Yield the models that can be fetched by name, and are not here, by the memory they suit."""
    yield "To be fetched by name (specchat models pull NAME):"
    there = [model for model in models if model["path"] is None]
    for gigabytes in (*MACHINES, None):
        if group := [model for model in there if model["machine_gb"] == gigabytes]:
            yield f"With {gigabytes or 'more'} GB of memory: size, context, licence, name + draft"
            yield from map(_fetchable, group)
    yield from _remark(TESTED, "")


def _fetchable(model: Facts) -> str:
    context, draft = model["context"], model["draft"]
    tokens = f"{context // 1024}k" if isinstance(context, int) else "?"
    run = "*" if model["pair_tested" if draft else "tested"] else " "
    name = f"{model['name']} + {draft}" if draft else model["name"]
    return f"{amount(model['size']):>9}  {tokens:>4}  {model['licence']!s:<15} {run} {name}"


def drafts(target: str, verdicts: Sequence[Facts]) -> Iterator[str]:
    """Yield what each model is worth as a draft, and why."""
    yield f"Drafts for {name(target)}:"
    for fact in verdicts:
        answer = _ANSWERS[0] if fact["chosen"] else _ANSWERS[1 if fact["serves"] else 2]
        yield f"{answer:<5} {name(fact['draft'])}  {amount(fact['size'])}"
        yield from _remark("; ".join(_reasons(fact)), "      ")


def name(reference: object) -> str:
    """Return what to call a model, a path in the user's home by its short form."""
    path = Path(str(reference))
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


def amount(value: object) -> str:
    """Return bytes as a user reads them."""
    return size(value) if isinstance(value, int) else str(value)


def _remarks(model: Facts) -> Iterator[str]:
    if model["problem"]:
        yield str(model["problem"])
    if target := model.get("made_to_draft_for"):
        yield f"made to draft for {str(target).rpartition(',')[0]}"


def _reasons(fact: Facts) -> Iterator[str]:
    yield str(fact["reason"])
    if fact["serves"]:
        yield f"{amount(fact['memory_of_both_at_8192'])} of memory for both"
        yield _promise(fact["predicted"])
    if fact["chosen"]:
        yield str(fact["chosen"])


def _promise(predicted: object) -> str:
    """Return in words what was predicted for a draft."""
    if not isinstance(predicted, dict):
        return "not measured here yet (specchat tune)"
    rate, speedup, k = (predicted[name] for name in ("acceptance_rate", "speedup", "lookahead"))
    when, pays_from = f"when {rate:.0%} is accepted", predicted["pays_from_acceptance_rate"]
    if k:
        return f"{speedup:.2f}× here with lookahead {k} {when}"
    if pays_from is None:
        return "no gain here, whatever is accepted"
    return f"no gain here {when}, from {pays_from:.0%} on"


def _remark(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
