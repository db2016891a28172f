"""Load a pair of models into an assistant, or a target alone when the draft cannot serve it."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from assistant.decoding.lookahead.acceptance import Acceptance
from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.mapping import Mapping
from assistant.decoding.sources.draft import Source
from assistant.decoding.sources.model import HEADS, ModelSource, PrefillOption
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.sources.tail import TailSource
from assistant.engine.batch_check import limit_batch
from assistant.engine.engine_choice import EngineChoice, choose, leave
from assistant.engine.machine_cache import (
    cached_or_measured,
    known_acceptance,
    known_tuning,
    remember_acceptance,
    remember_attention,
)
from assistant.engine.policy import Control
from assistant.engine.reply import Assistant
from assistant.engine.resume import Resuming
from assistant.engine.sources.ngram import NgramSource, Tables
from assistant.engine.sources.ngram_store import recalled, shipped
from assistant.events import Event, Loading, ModelInfo, Ready, Role
from assistant.request import Setup
from models.errors import EngineRefused, ModelError, well_formed
from models.files import snapshots
from models.files.checksum import known_sha256
from models.gguf import read_vocabulary
from models.gguf.vocabulary import mismatch
from models.mapping import shared_tokens
from models.native import loaded
from models.native.engine import WeightSettings
from models.native.heads import HeadModel
from models.native.model import MAX_ROWS, NativeModel
from models.native.weights import Weights, shared


class Loader:
    """Load what a setup names, and own it until closed."""

    def __init__(self, setup: Setup, control: Control, emit: Callable[[Event], None]) -> None:
        self._setup = setup
        self._cancel = control.cancel
        self._emit = emit
        self._resources = ExitStack()
        self.keep_learnt: Callable[[], None] = lambda: None
        """Keep what answers have shown of the draft's worth, for the next load."""

    def load(self) -> tuple[Assistant, Ready]:
        """Load the models.

        Raises:
            ModelError: the target cannot be used.
            Cancelled: it was stopped.
        """
        choice = choose(self._setup)
        loaded.use(choice.engine)
        with ExitStack() as opened:
            target = self._target(choice, opened)
            draft, mapping, reason = self._draft(target, opened)
            source_of = HeadSource if self._setup.heads else ModelSource
            failures = (ModelError,)
            model = source_of(draft, mapping, failures=failures) if draft and mapping else None
            sources = self._sources(target, model)
            controller = self._controller(target, draft, source_of.name)
            about_draft = self._about("draft", draft) if draft else None
            assistant = Assistant(
                target,
                target.weights.vocab,
                sources,
                controller,
                resuming=self._resuming(target, opened),
                draft_name=about_draft.name if about_draft else None,
                engine=choice.engine,
            )
            self._resources = opened.pop_all()
        return assistant, Ready(
            self._about("target", target),
            about_draft,
            reason,
            target.can_roll_back,
            choice.engine,
            choice.reason,
            assistant.chat.thinks,
            assistant.chat.takes_effort,
        )

    def close(self) -> None:
        """Free everything that was loaded."""
        self._resources.close()

    def _target(self, choice: EngineChoice, opened: ExitStack) -> NativeModel:
        """Load the target, or leave it to another engine."""
        try:
            target = self._open("target", self._setup.target, MAX_ROWS, opened)
        except EngineRefused as error:
            leave(self._setup, choice, str(error))
            raise
        if limit_batch(target, self._setup.cache):
            title = target.weights.engine.title
            leave(self._setup, choice, f"{title} misreads prompts of {self._setup.target.name}.")
        return target

    def _open(self, role: Role, path: Path, max_rows: int, opened: ExitStack) -> NativeModel:
        setup = self._setup
        tuning = known_tuning(path, setup.gpu_layers, setup.cache)
        weights = opened.enter_context(
            shared(
                path,
                # A draft's step takes less time than the way to another machine.
                WeightSettings(
                    setup.gpu_layers, tuning.repack, local_only=role == "draft", heads=setup.heads
                ),
                self._cancel,
                lambda fraction: self._emit(Loading(role, path.name, fraction)),
            )
        )
        model = NativeModel(
            weights,
            n_ctx=setup.n_ctx,
            max_rows=max_rows,
            threads=setup.threads or tuning.threads,
            flash_attention=tuning.flash_attention,
            heads=setup.heads and _has_heads(weights),
            cancel=self._cancel,
        )
        opened.callback(model.close)
        return model

    def _draft(
        self, target: NativeModel, opened: ExitStack
    ) -> tuple[NativeModel | HeadModel | None, Mapping | None, str | None]:
        """Load the draft. Return it with its vocabulary mapping, or the reason it is unusable."""
        path = self._setup.draft
        if self._setup.heads:
            return self._heads(target, opened)
        if path is None:
            return None, None, "No draft model was chosen."
        with ExitStack() as refused:
            try:
                _check_rolls_back(target)
                draft = self._open("draft", path, 1, refused)
                limit_batch(draft, self._setup.cache)
                _check_rolls_back(draft)
                mapping = _mapping(target, draft)
                draft.logits([0])  # one that computes no numbers is refused here
            except ModelError as error:
                return None, None, str(error)
            opened.push(refused.pop_all())
        return draft, mapping, None

    def _heads(
        self, target: NativeModel, opened: ExitStack
    ) -> tuple[HeadModel | None, Mapping | None, str | None]:
        """Make the target's own heads the draft, or return why that cannot be."""
        try:
            _check_rolls_back(target)
            draft = HeadModel(target, self._cancel)
            opened.callback(draft.close)
            draft.logits([0])
        except ModelError as error:
            return None, None, str(error)
        return draft, Mapping.by_number(target.n_vocab, draft.n_vocab), None

    def _about(self, role: Role, model: NativeModel | HeadModel) -> ModelInfo:
        weights = model.weights
        size = weights.path.stat().st_size
        name = f"heads of {_name(model)}" if isinstance(model, HeadModel) else _name(model)
        return ModelInfo(role, name, weights.path, size, model.n_ctx, model.n_vocab, weights.load_s)

    def _resuming(self, target: NativeModel, opened: ExitStack) -> Resuming:
        path = target.weights.path.resolve()
        identity = f"{known_sha256(path) or path} {target.cache_identity}"
        resuming = Resuming(target, identity, snapshots.folder(), self._setup.snapshots)
        opened.callback(resuming.close)
        opened.callback(resuming.keep)
        return resuming

    def _sources(self, target: NativeModel, model: ModelSource | None) -> list[Source]:
        if not target.can_roll_back:
            return []
        sources: list[Source] = [SuffixSource(), TailSource()]
        if tables := self._tables(target):
            sources.append(NgramSource(target.n_vocab, *tables))
        if model:
            sources.append(model)
        return sources

    def _tables(self, target: NativeModel) -> list[Tables]:
        """Return the tables of the user's own answers, if they are wanted, and of others'."""
        own = [recalled(_name(target))] if self._setup.recalls else []
        others = shipped(target.weights.header.vocabulary)
        return [*own, others] if others else own

    def _controller(
        self, target: NativeModel, draft: NativeModel | HeadModel | None, draft_source: str
    ) -> Controller | None:
        if not self._setup.measure or not target.can_roll_back:
            return None
        folder = self._setup.cache
        costs = cached_or_measured(target, draft, folder)
        if folder is None:
            return Controller(costs, draft_source=draft_source)
        files = target.weights.path, draft.weights.path if draft else None
        acceptance = Acceptance(known_acceptance(*files, folder))

        def keep_learnt() -> None:
            remember_acceptance(acceptance.lasting, *files, folder)
            remember_attention(costs.attention, target, folder)

        self.keep_learnt = keep_learnt
        return Controller(costs, acceptance, draft_source)


class HeadSource(ModelSource):
    """Propose by prediction heads of the target.

    They read what the target has read, by its states: nothing is gained by beginning further on.
    """

    name = HEADS

    def read(self, tokens: Sequence[int]) -> None:
        """Do nothing: heads find themselves where to begin."""

    def prefill_options(self, tokens: Sequence[int]) -> list[PrefillOption]:
        """Return the one way: to go on."""
        return [PrefillOption(len(tokens), self.unread(tokens))]

    def begin(self, tokens: Sequence[int], context: int) -> None:
        """Do nothing: there is one way."""


def _name(model: NativeModel | HeadModel) -> str:
    """Return what a model calls itself, or its file's name, as text that can be stored."""
    return model.weights.header.name or well_formed(model.weights.path.stem)


def _has_heads(weights: Weights) -> bool:
    try:
        weights.heads()
    except ModelError:  # said when the heads are to be the draft
        return False
    return True


def _check_rolls_back(model: NativeModel) -> None:
    if not model.can_roll_back:
        raise ModelError(
            f"{model.weights.path.name} cannot roll back tokens with {model.weights.engine.title}."
        )


def _mapping(target: NativeModel, draft: NativeModel) -> Mapping:
    """Return how the draft's tokens are to be understood.

    Raises:
        ModelError: they are too few of the target's.
    """
    ours, theirs = target.weights, draft.weights
    if mismatch(ours.vocab, theirs.vocab) is None:
        return Mapping.by_number(target.n_vocab, draft.n_vocab)
    try:
        return Mapping(*shared_tokens(read_vocabulary(ours.path), read_vocabulary(theirs.path)))
    except ModelError as error:
        names = f"{theirs.path.name} cannot draft for {ours.path.name}"
        raise ModelError(f"{names}: {error}.") from error
