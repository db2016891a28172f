"""A run of `specchat bench`: it measures answers of systems, and prints tables."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from time import monotonic
from typing import Any

import click

from assistant.engine.engine_choice import with_engines
from assistant.lab.bench.answers import Compared, RunAnswer
from assistant.lab.bench.plan import BenchItem
from assistant.lab.bench.reports import surroundings
from assistant.lab.protocol import LAB, Lockstep, Trial
from assistant.lab.table import ResultTable
from assistant.request import COPYING, EngineArgs, Infill, Message, Request
from assistant.settings.settings import Settings
from assistant.system import System
from models.errors import ModelError, ModelMissing, SpecchatError, StorageError
from models.files.locate import variant
from tui.formatting import remaining
from tui.lab.tables import print_tables
from tui.shell.engine_console import EngineConsole, report_missing_draft

ANSWER_TOKENS = 128
"""Most tokens of an answer, unless the user sets a length: as in Chen et al."""
QUANTISATIONS = ("f16", "bf16", "mxfp4")
"""Quantisations that are compared if they are on this machine."""
LINE_EVERY_S = 30.0  # seconds between two lines of progress without a terminal


def measure(
    settings: Settings,
    systems: Sequence[System],
    questions: Iterable[BenchItem],
    report: Callable[[Sequence[RunAnswer]], list[ResultTable]],
    options: Mapping[str, Any],
) -> None:
    """Measure everything, and print the tables; those of a run that is cut short, too."""
    if (json_file := options["json_file"]) and not json_file.parent.is_dir():
        raise StorageError(f"{json_file} cannot be written: no folder {json_file.parent}.")
    setups, all_questions = _setups(systems, settings), [*questions]
    conditions = _conditions(settings, systems, setups, all_questions)
    results: list[RunAnswer] = []
    try:
        for answers in _measure_all(all_questions, setups, settings):
            results += answers
    except (KeyboardInterrupt, SpecchatError):
        click.echo("Cut short: the tables cover what was measured.", err=True)
        raise
    finally:
        if results:
            print_tables(report(results), conditions, options)


def installed_quantisations(settings: Settings) -> list[str]:
    """Return the quantisations of the target that are on this machine."""
    target, labels = settings.setup()[0].target, list[str]()
    for label in QUANTISATIONS:
        with suppress(ModelMissing):
            labels += [label] if variant(target, label) != target else []
    return labels


def _setups(systems: Sequence[System], settings: Settings) -> dict[str, EngineArgs]:
    usual, no_draft = settings.setup()
    setups: dict[str, EngineArgs] = {}
    for system in systems:
        target = system.target
        own, why_none = settings.setup(target=target) if target else (usual, no_draft)
        setups[system.name] = own = replace(own, engine=system.engine or usual.engine)
        sources = {*(system.sources or settings.draft_sources)}
        if system.mode == "sps" and own.draft is None and not COPYING & sources:
            raise ModelError(f"{system.name} needs a draft. {why_none}")
    report_missing_draft(no_draft, settings, is_measured=True)
    return dict(zip(setups, with_engines([*setups.values()]), strict=True))


def _conditions(
    settings: Settings,
    systems: Sequence[System],
    setups: Mapping[str, EngineArgs],
    questions: Sequence[BenchItem],
) -> dict[str, Any]:
    """Return everything that the results depend on."""
    first = setups[systems[0].name]
    paths = {"target": first.target, "draft": first.draft}
    paths |= {system.target: setups[system.name].target for system in systems if system.target}
    text = "\0".join(f"{item.question}\0{item.repeat}" for item in questions)
    names = ("seed", "draft_sources", "rule", "system", "n_ctx", "threads", "gpu_layers", "engine")
    return {
        "command": click.get_current_context().info_name,
        "settings": {
            "systems": [system.name for system in systems],
            "questions_sha256": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            "sampling": asdict(settings.sampling),
            "max_tokens": settings.max_tokens or ANSWER_TOKENS,
            **{name: getattr(settings, name) for name in names},
        },
        **surroundings({role: path for role, path in paths.items() if path is not None}),
    }


def _measure_all(
    questions: Sequence[BenchItem], setups: Mapping[str, EngineArgs], settings: Settings
) -> Iterator[Iterator[RunAnswer]]:
    """Yield the answers of each lockstep, showing the progress."""
    console, started, printed_at = EngineConsole(LAB), monotonic(), 0.0
    with console.open():
        for done, question in enumerate(questions):
            left_s = (monotonic() - started) / done * (len(questions) - done) if done else None
            due = not done or monotonic() - printed_at > LINE_EVERY_S
            printed_at = monotonic() if due else printed_at
            position = f"{done + 1} of {len(questions)}{remaining(left_s)}"
            console.show_progress(f"{position}: {question.question.name}", as_line=due)
            if console.interrupted:
                raise KeyboardInterrupt
            trials = (_trial(question, one, setups[one.name], settings) for one in question.systems)
            compared: Compared = console.run(Lockstep(tuple(trials)))
            yield question.answers(compared)


def _trial(question: BenchItem, system: System, setup: EngineArgs, settings: Settings) -> Trial:
    text, suffix = question.question.text, question.question.suffix
    instructions = settings.system if suffix is None else None
    system_message = (Message("system", instructions),) if instructions else ()
    request = Request(
        (*system_message, Message("user", text)),
        question.sampling,
        system.mode,
        system.lookahead,
        settings.max_tokens or question.max_tokens or ANSWER_TOKENS,
        question.seed,
        sources=system.sources or settings.draft_sources,
        rule=settings.rule,
        raw=suffix is not None,
        infill=None if suffix is None else Infill(suffix),
    )
    return Trial(setup, f"{system.name} {question.sampling}", request)
