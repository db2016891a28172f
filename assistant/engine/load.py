"""Loads a target and its draft into an assistant, or only the target if the draft is no use."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.mapping import VocabularyMapping
from assistant.decoding.sources.draft import Source
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.sources.suffix import SuffixSource, TailSource
from assistant.engine.engine_choice import EngineChoice, choose, fall_back_to_llama
from assistant.engine.machine_cache import Learnt, kept_looks, limit_batch
from assistant.engine.policy import Control
from assistant.engine.prompt_cache import PromptCache
from assistant.engine.reply import Assistant
from assistant.engine.sources.ngram_store import bundled, recalled
from assistant.engine.times import typical_costs
from assistant.events import Event, Loading, ModelInfo, Ready, Role
from assistant.request import EngineArgs
from models.errors import EngineRefused, ModelError, SpecchatError, well_formed
from models.native import loaded, repacked
from models.native.model import MAX_ROWS, NativeModel
from models.native.weights import shared
from models.progress import CancelFlag

_Open = Callable[[Role, Path, int], NativeModel]
"""Opens a model, given its role, its file and `max_rows`."""


def load(
    setup: EngineArgs, control: Control, emit: Callable[[Event], None], opened: ExitStack
) -> tuple[Assistant, Ready]:
    """Load the models of a setup; `opened` closes them.

    Raises:
        ModelError: the target cannot be used.
        Cancelled: it was stopped.
    """
    choice = choose(setup)
    loaded.use(choice.engine)
    open_ = partial(_open, setup, control.cancel, emit)
    with ExitStack() as models:
        target = _target(setup, choice, partial(open_, models))
        draft, source, no_draft = None, None, None
        try:
            with ExitStack() as refused:
                draft, source = _draft(setup, target, partial(open_, refused))
                models.push(refused.pop_all())
        except ModelError as error:
            no_draft = str(error)
        about_draft = _about("draft", draft) if draft else None
        controller, learnt = _controller(setup, target, draft, source)
        assistant = Assistant(
            target,
            target.weights.vocab,
            _sources(setup, target, source),
            controller,
            prompt_cache=_prompt_cache(setup, target, models),
            draft_name=about_draft.name if about_draft else None,
            engine=choice.engine,
            learnt=learnt,
        )
        if learnt and target.rollback is None:
            with suppress(SpecchatError):  # the first answer reports the error
                assistant.prefill_common_prefix(control)
        opened.push(models.pop_all())
    return assistant, Ready(
        _about("target", target),
        about_draft,
        no_draft,
        target.can_roll_back,
        choice.engine,
        assistant.chat.thinks,
        assistant.chat.takes_effort,
    )


def _open(
    setup: EngineArgs,
    cancel: CancelFlag,
    emit: Callable[[Event], None],
    opened: ExitStack,
    role: Role,
    path: Path,
    max_rows: int,
) -> NativeModel:
    def report(fraction: float) -> None:
        emit(Loading(role, path.name, fraction))

    weights = opened.enter_context(shared(path, setup.gpu_layers, cancel, report))
    model = NativeModel(
        weights, n_ctx=setup.n_ctx, max_rows=max_rows, threads=setup.threads, cancel=cancel
    )
    opened.callback(model.close)
    if setup.copies:  # once nobody waits for an answer
        opened.callback(repacked.make_later, weights.engine, path)
    return model


def _target(setup: EngineArgs, choice: EngineChoice, open_: _Open) -> NativeModel:
    try:
        target = open_("target", setup.target, MAX_ROWS)
    except EngineRefused as error:
        fall_back_to_llama(setup, choice, str(error))
        raise
    if limit_batch(target, setup.cache):
        title = target.weights.engine.title
        fall_back_to_llama(setup, choice, f"{title} misreads prompts of {setup.target.name}.")
    return target


def _draft(setup: EngineArgs, target: NativeModel, open_: _Open) -> tuple[NativeModel, ModelSource]:
    """Load the draft.

    Raises:
        ModelError: there is none, or it cannot draft for the target.
    """
    if setup.draft is None:
        raise ModelError("No model was chosen to guess.")
    _check_rolls_back(target)
    draft = open_("draft", setup.draft, 1)
    limit_batch(draft, setup.cache)
    _check_rolls_back(draft)
    source = ModelSource(draft, _mapping(target, draft), failures=(ModelError,))
    draft.logits([0])  # raises if it computes no numbers
    return draft, source


def _about(role: Role, model: NativeModel) -> ModelInfo:
    weights, name = model.weights, _name(model)
    size = weights.path.stat().st_size
    return ModelInfo(role, name, weights.path, size, model.n_ctx, model.n_vocab, weights.load_s)


def _prompt_cache(setup: EngineArgs, target: NativeModel, opened: ExitStack) -> PromptCache:
    identity = f"{target.weights.path.resolve()} {target.cache_identity}"
    prompt_cache = PromptCache(target, identity, setup.snapshots)
    opened.callback(prompt_cache.close)
    opened.callback(prompt_cache.save)
    return prompt_cache


def _sources(setup: EngineArgs, target: NativeModel, model: ModelSource | None) -> list[Source]:
    if not target.can_roll_back:
        return []
    sources: list[Source] = [SuffixSource(), TailSource()]
    own = recalled(_name(target)) if setup.recalls else []
    if tables := [*own, *bundled(target.weights.header.vocabulary)]:
        from assistant.engine.sources.ngram import NgramSource

        sources.append(NgramSource(target.n_vocab, *tables))
    return [*sources, model] if model else sources


def _controller(
    setup: EngineArgs, target: NativeModel, draft: NativeModel | None, source: ModelSource | None
) -> tuple[Controller | None, Learnt | None]:
    """Return what decides on proposals, and what earlier answers have shown."""
    if not setup.measure or not target.can_roll_back:
        return None, None
    files = target.weights.path, draft.weights.path if draft else None
    looks = kept_looks(target, draft, setup.cache, typical_costs(target, draft))
    learnt = Learnt(looks, files, setup.cache)
    return Controller(learnt.costs, learnt.acceptance, (source or ModelSource).name), learnt


def _name(model: NativeModel) -> str:
    """Return a model's own name, or its file's, as text that can be stored."""
    return model.weights.header.name or well_formed(model.weights.path.stem)


def _check_rolls_back(model: NativeModel) -> None:
    if not model.can_roll_back:
        raise ModelError(
            f"{model.weights.path.name} cannot roll back tokens with {model.weights.engine.title}."
        )


def _mapping(target: NativeModel, draft: NativeModel) -> VocabularyMapping:
    """Return the mapping of the draft's vocabulary to the target's.

    Raises:
        ModelError: it lacks too many of the target's tokens.
    """
    ours, theirs = target.weights, draft.weights
    if ours.header.vocabulary == theirs.header.vocabulary:
        return VocabularyMapping.by_number(target.n_vocab, draft.n_vocab)
    from models.gguf import read_vocabulary
    from models.mapping import shared_tokens

    try:
        return VocabularyMapping(
            *shared_tokens(read_vocabulary(ours.path), read_vocabulary(theirs.path))
        )
    except ModelError as error:
        names = f"{theirs.path.name} cannot draft for {ours.path.name}"
        raise ModelError(f"{names}: {error}.") from error
