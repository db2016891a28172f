"""One run: from settings and systems to answers that are measured, and to tables."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from time import monotonic
from typing import Any

import click

from assistant.engine.engine_choice import told_apart
from assistant.lab.bench.answers import Compared, RunAnswer
from assistant.lab.bench.plan import Asked
from assistant.lab.bench.reports import surroundings
from assistant.lab.protocol import LAB, Lockstep, Trial
from assistant.lab.table import ResultTable
from assistant.request import COPYING, EngineArgs, Message, Request
from assistant.settings.settings import Settings
from assistant.system import System
from models.errors import ModelError, ModelMissing, SpecchatError, StorageError
from models.files.locate import variant
from tui.lab.tables import show
from tui.shell.engine_console import EngineConsole, report_missing_draft
from tui.widgets.text_figures import left

ANSWER_TOKENS = 128
"""Tokens of an answer, where the user sets no length: as many as Chen et al. time."""
FILES = ("f16", "bf16", "mxfp4")
"""Quantisations that are compared where they are on this machine."""
LINE_EVERY_S = 30.0  # seconds between two lines of progress without a terminal


def measure(
    command: str,
    settings: Settings,
    systems: Sequence[System],
    asked: Iterable[Asked],
    report: Callable[[Sequence[RunAnswer]], list[ResultTable]],
    options: Mapping[str, Any],
) -> None:
    """Measure everything, and show the tables; of a run that is cut short, those of what was done.

    Raises:
        SpecchatError: a model is missing or fails, or the file cannot be written.
        KeyboardInterrupt: Ctrl-C.
    """
    if (json_file := options["json_file"]) and not json_file.parent.is_dir():
        raise StorageError(f"{json_file} cannot be written: no folder {json_file.parent}.")
    setups, all_asked = _setups(systems, settings), [*asked]
    about = _about(command, settings, systems, setups, all_asked)
    found: list[RunAnswer] = []
    try:
        for answers in _measured(all_asked, setups, settings):
            found += answers
    except (KeyboardInterrupt, SpecchatError):
        click.echo("Cut short: the tables are of what was done.", err=True)
        raise
    finally:
        if found:
            show(report(found), about, options)


def here(settings: Settings) -> list[str]:
    """Return the quantisations of the target that are on this machine."""
    target, found = settings.setup()[0].target, list[str]()
    for label in FILES:
        with suppress(ModelMissing):
            found += [label] if variant(target, label) != target else []
    return found


def _setups(systems: Sequence[System], settings: Settings) -> dict[str, EngineArgs]:
    usual, no_draft = settings.setup()
    setups: dict[str, EngineArgs] = {}
    for system in systems:
        named = system.target
        own, why_none = settings.setup(target=named) if named else (usual, no_draft)
        setups[system.name] = own = replace(own, engine=system.engine or usual.engine)
        sources = {*(system.sources or settings.draft_sources)}
        if system.mode == "sps" and own.draft is None and not COPYING & sources:
            raise ModelError(f"{system.name} needs a draft. {why_none}")
    report_missing_draft(no_draft, settings, is_measured=True)
    return dict(zip(setups, told_apart([*setups.values()]), strict=True))


def _about(
    command: str,
    settings: Settings,
    systems: Sequence[System],
    setups: Mapping[str, EngineArgs],
    asked: Sequence[Asked],
) -> dict[str, Any]:
    """Return what the results of a run depend on."""
    first = setups[systems[0].name]
    paths = {"target": first.target, "draft": first.draft}
    paths |= {each.target: setups[each.name].target for each in systems if each.target}
    text = "\0".join(f"{each.question}\0{each.repeat}" for each in asked)
    names = ("seed", "draft_sources", "rule", "system", "n_ctx", "threads", "gpu_layers", "engine")
    return {
        "command": command,
        "settings": {
            "systems": [system.name for system in systems],
            "questions_sha256": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            "sampling": asdict(settings.sampling),
            "max_tokens": settings.max_tokens or ANSWER_TOKENS,
            **{name: getattr(settings, name) for name in names},
        },
        **surroundings({role: path for role, path in paths.items() if path is not None}),
    }


def _measured(
    asked: Sequence[Asked], setups: Mapping[str, EngineArgs], settings: Settings
) -> Iterator[Iterator[RunAnswer]]:
    """Yield what came of each lockstep, and say how far it is."""
    console, started, said = EngineConsole("starting", protocol=LAB), monotonic(), 0.0
    with console.shown():
        for done, each in enumerate(asked):
            left_s = (monotonic() - started) / done * (len(asked) - done) if done else None
            due = not done or monotonic() - said > LINE_EVERY_S
            said = monotonic() if due else said
            place = f"{done + 1} of {len(asked)}{left(left_s)}"
            console.say(f"{place}: {each.question.name}", aloud=due)
            if console.interrupted:
                raise KeyboardInterrupt
            trials = [_trial(each, way, setups[way.name], settings) for way in each.systems]
            compared: Compared = console.run(Lockstep(tuple(trials)))
            yield each.answers(compared)


def _trial(asked: Asked, system: System, setup: EngineArgs, settings: Settings) -> Trial:
    told = (Message("system", settings.system),) if settings.system else ()
    request = Request(
        (*told, Message("user", asked.question.text)),
        asked.sampling,
        system.mode,
        system.lookahead,
        settings.max_tokens or asked.max_tokens or ANSWER_TOKENS,
        asked.seed,
        sources=system.sources or settings.draft_sources,
        rule=settings.rule,
    )
    return Trial(setup, f"{system.name} {asked.sampling}", request)
