"""Makes an assistant of a target and its draft, or of the target alone if that cannot draft."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.sources.draft import Source
from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from assistant.decoding.sources.suffix import SuffixSource, TailSource
from assistant.engine.batch_check import limit_batch
from assistant.engine.control import Control
from assistant.engine.engine_choice import EngineChoice, fall_back_to_llama
from assistant.engine.model_profile import typical_costs
from assistant.engine.profile import Profile, profile_of
from assistant.engine.prompt_cache import PromptCache
from assistant.engine.reply import Assistant
from assistant.engine.sources import ngram_store
from assistant.events import Event, Loading, ModelInfo, Ready, Role, Warned
from assistant.request import EngineArgs
from models.errors import EngineRefused, ModelError, SpecchatError, well_formed
from models.files.model_file import chat_header
from models.gguf.header import Header
from models.native import repacked
from models.native.model import MAX_ROWS, NativeModel
from models.native.weights import shared_weights


@dataclass(frozen=True)
class Loader:
    """Loads the models of a setup; see `assistant.engine.load.load`."""

    setup: EngineArgs
    choice: EngineChoice
    control: Control
    emit: Callable[[Event], None]

    def load(self, opened: ExitStack, may_defer: bool) -> tuple[Assistant, Ready]:
        """Load the target, and the draft unless it is deferred."""
        with ExitStack() as models:
            target = self._target(models)
            source, draft_info, no_draft = None, None, None
            profile, is_deferred = self._profile(target, self.setup.draft), False
            try:
                is_deferred = may_defer and self._can_defer(target, profile)
                source = None if is_deferred else self._draft(target, profile, models)
                draft_info = self._draft_info()
            except ModelError as error:
                no_draft, is_deferred, profile = str(error), False, self._profile(target, None)
            if profile:
                profile.prepare(in_full=not may_defer)
            assistant = Assistant(
                target,
                target.weights.vocab,
                self._sources(target, source),
                Controller(profile.costs, profile.acceptance) if profile else None,
                prompt_cache=self._prompt_cache(target, models),
                draft_name=draft_info.name if draft_info else None,
                engine=self.choice.engine,
                profile=profile,
            )
            if is_deferred:
                assistant.deferred_draft = partial(self._draft, target, profile, opened)
            elif profile and target.rollback is None:
                with suppress(SpecchatError):  # the first answer reports the error
                    assistant.prefill_common_prefix(self.control)
            opened.push(models.pop_all())
        header = target.weights.header
        assistant.can_grow = target.n_ctx < target.weights.n_ctx_train
        return assistant, Ready(
            ModelInfo("target", _name(header), header.path, target.n_ctx),
            draft_info,
            no_draft,
            target.can_roll_back,
            self.choice.engine,
            assistant.chat.thinking.thinks,
            assistant.chat.thinking.takes_effort,
            profile_of(self.setup.target, "verify", self.setup.cache).prompt_token_s,
        )

    def open(self, role: Role, path: Path, max_rows: int, opened: ExitStack) -> NativeModel:
        """Open one of the models; `opened` closes it."""

        def report(fraction: float) -> None:
            self.emit(Loading(role, path.name, fraction))

        setup, cancel = self.setup, self.control.cancel
        weights = opened.enter_context(shared_weights(path, setup.gpu_layers, cancel, report))
        model = NativeModel(
            weights, n_ctx=setup.n_ctx, max_rows=max_rows, threads=setup.threads, cancel=cancel
        )
        opened.callback(model.close)
        if setup.copies:
            repacked.sources_to_copy.add(path)
        return model

    def _target(self, opened: ExitStack) -> NativeModel:
        setup, choice = self.setup, self.choice
        try:
            target = self.open("target", setup.target, MAX_ROWS, opened)
        except EngineRefused as error:
            fall_back_to_llama(setup, choice, str(error))
            raise
        if limit_batch(target, setup.cache):
            title = target.weights.engine.title
            fall_back_to_llama(setup, choice, f"{title} misreads prompts of {setup.target.name}.")
        if target.n_ctx < setup.n_ctx:
            used = f"The context is {target.n_ctx:,} tokens, not {setup.n_ctx:,}"
            self.emit(Warned(f"{used}: {_name(target.weights.header)} has no more."))
        return target

    def _prompt_cache(self, target: NativeModel, opened: ExitStack) -> PromptCache:
        identity = f"{target.weights.path.resolve()} {target.cache_identity}"
        prompt_cache = PromptCache(target, identity, self.setup.snapshots, memory=self.setup.memory)
        opened.callback(prompt_cache.close)
        opened.callback(prompt_cache.save)
        return prompt_cache

    def _sources(self, target: NativeModel, model: ModelSource | None) -> list[Source]:
        if not target.can_roll_back:
            return []
        sources: list[Source] = [SuffixSource(), TailSource()]
        header = target.weights.header
        learnt = [ngram_store.path_of(_name(header))] if self.setup.recalls else []
        paths = [*learnt, ngram_store.BUNDLED / f"{header.vocabulary}.ngrams"]
        if tables := [path for path in paths if path.exists()]:
            from assistant.engine.sources.ngram import NgramSource, open_tables

            sources.append(NgramSource(target.n_vocab, *map(open_tables, tables)))
        return [*sources, model] if model else sources

    def _profile(self, target: NativeModel, draft: Path | None) -> Profile | None:
        """Return the profile of the pair; None: it is not to be measured."""
        setup, conditions = self.setup, None
        if not setup.measure or not target.can_roll_back:
            return None
        if draft and draft.is_file():
            key = target.weights.engine.speed_key(draft, setup.gpu_layers)
            conditions = f"{key} threads={target.threads}"
        return Profile(target, conditions, setup.cache, typical_costs(target, draft))

    # The draft

    def _draft(
        self, target: NativeModel, profile: Profile | None, opened: ExitStack
    ) -> ModelSource:
        """Load the draft, and add it to the profile; it can be tried again after `Cancelled`.

        A `ModelError` says that it cannot draft for the target, or that there is none; then nothing
        stays open.
        """
        if self.setup.draft is None:
            raise ModelError("No model was chosen to guess.")
        _check_rolls_back(target)
        with ExitStack() as models:
            draft = self.open("draft", self.setup.draft, 1, models)
            limit_batch(draft, self.setup.cache)
            _check_rolls_back(draft)
            source = ModelSource(draft, self._mapping(target, draft), failures=(ModelError,))
            draft.logits([0])  # raises if it computes no numbers
            opened.push(models.pop_all())
        if profile:
            profile.add_draft(draft)
        return source

    def _can_defer(self, target: NativeModel, profile: Profile | None) -> bool:
        """Return whether an answer may begin without the draft.

        It may if the draft was used before. The first load of a draft takes seconds, as its batches
        are checked, and if it cannot draft, that is reported at once.
        """
        draft = self.setup.draft
        if not (draft and draft.is_file() and target.can_roll_back and target.rollback is None):
            return False
        if profile is None or profile.is_clear:
            return True
        return bool(profile.of_target.typical and profile.of_draft.plain_s)

    def _draft_info(self) -> ModelInfo:
        """Describe the draft, which may be loaded later."""
        header = chat_header(cast(Path, self.setup.draft))
        n_ctx = min(self.setup.n_ctx, header.n_ctx_train or self.setup.n_ctx)
        return ModelInfo("draft", _name(header), header.path, n_ctx)

    def _mapping(self, target: NativeModel, draft: NativeModel) -> VocabularyMapping:
        """Map the draft's vocabulary to the target's; ModelError if it lacks too many tokens."""
        large, small = target.weights.header, draft.weights.header
        if large.vocabulary == small.vocabulary:
            return VocabularyMapping.identity(target.n_vocab, draft.n_vocab)
        from models.gguf import read_vocabulary
        from models.mapping import shared_tokens

        try:
            vocabularies = read_vocabulary(large.path), read_vocabulary(small.path)
            return VocabularyMapping(*shared_tokens(*vocabularies))
        except ModelError as error:
            names = f"{small.path.name} cannot draft for {large.path.name}"
            raise ModelError(f"{names}: {error}.") from error


def _name(header: Header) -> str:
    """Return a model's own name, or its file's, as text that can be stored."""
    return header.name or well_formed(header.path.stem)


def _check_rolls_back(model: NativeModel) -> None:
    if not model.can_roll_back:
        raise ModelError(
            f"{model.weights.path.name} cannot roll back tokens with {model.weights.engine.title}."
        )
