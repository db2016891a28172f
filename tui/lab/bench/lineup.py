"""From settings and systems to answers that can be measured."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import click

from assistant.lab.bench.environment import facts
from assistant.lab.bench.events import Compared, Measured
from assistant.lab.bench.llama_server import LlamaServer
from assistant.lab.bench.questions import Question
from assistant.lab.bench.run_answers import RunAnswer, key, plain
from assistant.lab.bench.systems import System, interleaved
from assistant.lab.protocol import Lockstep, Trial
from assistant.request import Message, Request, Sampling, Setup
from models.errors import ModelError
from models.files.progress import Report, silent
from tui.lab.bench.running import Task
from tui.models.locate_pair import NO_DRAFT, find_models, find_with
from tui.safe import safe
from tui.settings.settings import Settings

ANSWER_TOKENS = 128
"""Tokens of an answer, where the user sets no length: as many as Chen et al. time."""
NO_DRAFT_NEEDED = {"suffix", "tail", "ngram", "bigram", "unigram", "random"}


@dataclass(frozen=True, slots=True)
class Lineup:
    """Systems, and the models of each."""

    settings: Settings
    systems: tuple[System, ...]
    setups: tuple[Setup, ...]  # one for each system

    @property
    def setup(self) -> Setup:
        """What the settings ask for."""
        return self.setups[0]

    @property
    def profiled(self) -> tuple[str, ...]:
        """The sources to be judged along ArS's answers, so that the others can be predicted."""
        used = {name for system in self.systems for name in self.sources(system)}
        return tuple(
            name
            for name in ("suffix", "model", "bigram", "unigram", "random")
            if name in used | {"suffix"}
        )

    def sources(self, system: System) -> tuple[str, ...]:
        """Return the draft sources of a system."""
        return system.sources or self.settings.draft_sources

    def trial(
        self,
        system: System,
        question: Question,
        sampling: Sampling,
        seed: int | None,
        profiled: Sequence[str] = (),
    ) -> Trial:
        """Return what measures an answer."""
        settings = self.settings
        asked = (Message("system", settings.system),) if settings.system else ()
        request = Request(
            (*asked, Message("user", question.text)),
            sampling,
            system.mode,
            system.lookahead,
            settings.max_tokens or ANSWER_TOKENS,
            seed,
            sources=self.sources(system),
            rule=settings.rule,
        )
        setup = self.setups[self.systems.index(system)]
        return Trial(setup, f"{system.name} {sampling}", request, tuple(profiled))

    def facts(self, command: str, questions: Sequence[Question], **more: object) -> dict[str, Any]:
        """Return what the results of a run depend on."""
        settings = self.settings
        paths = {"target": self.setup.target, "draft": self.setup.draft}
        paths |= {
            system.target: setup.target
            for system, setup in zip(self.systems, self.setups, strict=True)
            if system.target
        }
        chosen = {
            "systems": [system.name for system in self.systems],
            "questions": len(questions),
            "questions_sha256": digest(questions),
            "sampling": asdict(settings.sampling),
            "seed": settings.seed,
            "max_tokens": settings.max_tokens or ANSWER_TOKENS,
            "sources": settings.draft_sources,
            "rule": settings.rule,
            "system": settings.system,
            "ctx": settings.n_ctx,
            "threads": settings.threads,
            "gpu_layers": settings.gpu_layers,
            "engine": settings.engine,
            **more,
        }
        files = {role: path for role, path in paths.items() if path is not None}
        return {"command": command, "settings": chosen, **facts(files)}


def line_up(systems: Sequence[System], settings: Settings, report: Report = silent) -> Lineup:
    """Find every system's models on this machine.

    Raises:
        ModelError: a target is missing, or the draft of a system that needs one.
    """
    usual, no_draft = find_models(settings, report)
    setups: list[Setup] = []
    for system in systems:
        own = find_with(system.target, settings, report)[0] if system.target else usual
        setups.append(replace(own, engine=system.engine or usual.engine))
        sources = system.sources or settings.draft_sources
        if not setups[-1].has_draft and system.mode == "sps" and not NO_DRAFT_NEEDED & {*sources}:
            raise ModelError(f"{no_draft} {system.name} needs a draft.")
    if no_draft and settings.draft != NO_DRAFT:
        click.echo(safe(no_draft), err=True)
    return Lineup(settings, tuple(systems), tuple(setups))


def answers(
    lineup: Lineup,
    questions: Sequence[Question],
    repeats: int = 1,
    predict: bool = True,
    peers: Sequence[LlamaServer] = (),
) -> Iterator[Task]:
    """Yield a task for every question to all systems, and one for each other program.

    Another program cannot be held between two tokens: it answers before or after the systems.
    """
    settings = lineup.settings
    ways: list[System | LlamaServer] = [*lineup.systems, *peers]

    def trial(repeat: int, question: Question, system: System) -> Trial:
        is_reference = system is lineup.systems[0]
        profiled = lineup.profiled if predict and is_reference and not repeat else ()
        seed = None if settings.seed is None else settings.seed + repeat
        return lineup.trial(system, question, settings.sampling, seed, profiled)

    for repeat, question, ordered in interleaved(questions, ways, repeats):
        systems = [way for way in ordered if isinstance(way, System)]
        lockstep = lockstep_task(
            question, repeat, {way.name: trial(repeat, question, way) for way in systems}
        )
        alone = [
            _peer_task(lineup, question, repeat, way)
            for way in ordered
            if isinstance(way, LlamaServer)
        ]
        yield from [lockstep, *alone] if ordered[0] is systems[0] else [*alone, lockstep]


def lockstep_task(question: Question, repeat: int, trials: Mapping[str, Trial]) -> Task:
    """Return the task of a question to several systems, by name, which advance together."""

    def keep(compared: Compared) -> list[Any]:
        answers = []
        for name, found in zip(trials, compared.found, strict=True):
            outcome = (None, found) if isinstance(found, str) else (found,)
            answers.append(RunAnswer(question.name, question.kind, repeat, name, *outcome))
        return list(map(plain, answers))

    keys = tuple(key(question.name, question.kind, repeat, name) for name in trials)
    return Task(keys, question.name, Lockstep(tuple(trials.values())), keep)


def _peer_task(lineup: Lineup, question: Question, repeat: int, server: LlamaServer) -> Task:
    settings = lineup.settings
    trial = lineup.trial(lineup.systems[0], question, settings.sampling, settings.seed)

    def keep(found: Measured) -> list[Any]:
        return [plain(RunAnswer(question.name, question.kind, repeat, server.name, found))]

    keys = (key(question.name, question.kind, repeat, server.name),)
    what = f"{server.name}, {question.name}"
    return Task(keys, what, partial(server.measure, trial.request), keep)


def digest(questions: Sequence[Question]) -> str:
    """Return a checksum of what is asked."""
    text = "\0".join(f"{each.name}\0{each.kind}\0{each.text}" for each in questions)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
