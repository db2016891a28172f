"""Load a pair of models into an assistant, or a target alone when the draft cannot serve it."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from assistant.assistant import Assistant
from assistant.control import Control
from assistant.drafting.model import ModelDrafter
from assistant.events import Event, Loading, ModelInfo, Ready, Role
from assistant.lookahead.adaptive import AdaptiveLookahead
from assistant.lookahead.costs import measure
from assistant.request import Setup
from models import pairing
from models.errors import ModelError
from models.llama.model import MAX_ROWS, LlamaModel
from models.llama.weights import Weights


class Loader:
    """Load what a setup names, and own it until closed."""

    def __init__(self, setup: Setup, control: Control, emit: Callable[[Event], None]) -> None:
        self._setup = setup
        self._cancel = control.cancel
        self._emit = emit
        self._resources = ExitStack()

    def load(self) -> tuple[Assistant, Ready]:
        """Load the models.

        Raises:
            ModelError: the target cannot be used.
            Cancelled: somebody stopped it.
        """
        with ExitStack() as undo:
            undo.callback(self.close)
            target = self._open("target", self._setup.target, MAX_ROWS)
            draft, reason = self._draft(target)
            assistant = Assistant(target, target.weights.vocab, *_speculation(target, draft))
            undo.pop_all()
        about_draft = self._about("draft", draft) if draft else None
        return assistant, Ready(self._about("target", target), about_draft, reason)

    def close(self) -> None:
        """Free everything that was loaded."""
        self._resources.close()

    def _open(self, role: Role, path: Path, max_rows: int) -> LlamaModel:
        weights = Weights(
            path,
            gpu_layers=self._setup.gpu_layers,
            cancel=self._cancel,
            progress=lambda fraction: self._emit(Loading(role, path.name, fraction)),
        )
        self._resources.callback(weights.close)
        model = LlamaModel(
            weights,
            n_ctx=self._setup.n_ctx,
            max_rows=max_rows,
            threads=self._setup.threads,
            cancel=self._cancel,
        )
        self._resources.callback(model.close)
        return model

    def _draft(self, target: LlamaModel) -> tuple[LlamaModel | None, str | None]:
        """Load the draft; return it, or why there is none."""
        path = self._setup.draft
        if path is None:
            return None, "No draft model was chosen."
        if not target.can_roll_back:
            return None, f"{target.weights.path.name} is recurrent and cannot take tokens back."
        try:
            draft = self._open("draft", path, max_rows=1)
        except ModelError as error:
            return None, str(error)
        if not draft.can_roll_back:
            return None, f"{path.name} is recurrent and cannot take tokens back."
        reason = pairing.mismatch(target.weights.vocab, draft.weights.vocab)
        return (
            (None, f"{path.name} cannot draft for this target: {reason}")
            if reason
            else (draft, None)
        )

    def _about(self, role: Role, model: LlamaModel) -> ModelInfo:
        weights = model.weights
        name = weights.header.name or weights.path.stem
        size = weights.path.stat().st_size
        return ModelInfo(
            role, name, str(weights.path), size, model.n_ctx, model.n_vocab, weights.load_s
        )


def _speculation(
    target: LlamaModel, draft: LlamaModel | None
) -> tuple[ModelDrafter | None, AdaptiveLookahead | None]:
    if draft is None:
        return None, None
    return ModelDrafter(draft, target.n_vocab), AdaptiveLookahead(measure(target, draft))
