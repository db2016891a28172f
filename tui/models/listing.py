"""Models as lines for a terminal: what is here, what can be fetched, which draft serves."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from models import catalog
from models.catalog import GGUF, HEADS
from models.files.model_file import ModelFile
from models.files.stores import find
from models.memory import MACHINES
from tui.models.facts import Facts, needed_gigabytes
from tui.widgets.text_figures import size

WIDTH = 80  # cells
TESTED = (
    "* Run by those who listed it. The others were read about, not run; specchat models pair and "
    "specchat prove tell whether a pair works on this machine."
)
_ANSWERS = ("best", "yes", "no")


def here(models: Sequence[ModelFile]) -> Iterator[str]:
    """Yield the models on this machine, by what to call them; that is long, and comes last."""
    if not models:
        yield "No models are on this machine."
        return
    yield "On this machine (specchat --target MODEL):"
    for model in models:
        header = model.header
        kind = (header and header.file_type) or "?"
        yield f"{size(model.size):>9}  {kind:<8} {model.store:<12}  {name(model.reference)}"
        served = header and header.serves
        for remark in (model.refusal, served and f"made to draft for {served.rpartition(',')[0]}"):
            yield from _remark(remark or "", "            ")


def fetchable() -> Iterator[str]:
    """Yield the models that can be fetched by name, and are not here, by the memory they suit."""
    yield "To be fetched by name (specchat models pull NAME):"
    groups: dict[int | None, list[str]] = {gigabytes: [] for gigabytes in (*MACHINES, None)}
    for entry in catalog.FILES.values():
        if find(entry) is None:
            groups[needed_gigabytes(entry)].append(_fetchable(entry))
    for gigabytes, lines in groups.items():
        if lines:
            yield f"With {gigabytes or 'more'} GB of memory: size, context, licence, name + draft"
            yield from lines
    yield from _remark(TESTED, "")


def _fetchable(entry: GGUF) -> str:
    pair = catalog.pair_of(entry)
    draft = HEADS if entry.heads else pair and pair.draft.name
    tokens = f"{entry.context // 1024}k" if entry.context else "?"
    run = "*" if (pair.tested if pair else entry.tested and not entry.heads) else " "
    name = f"{entry.name} + {draft}" if draft else entry.name
    return f"{size(entry.size):>9}  {tokens:>4}  {entry.licence:<15} {run} {name}"


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
