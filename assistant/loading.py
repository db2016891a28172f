"""Load a pair of models into an assistant, or a target alone when the draft cannot serve it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from assistant.assistant import Assistant
from assistant.control import Control
from assistant.drafting.model import ModelDrafter
from assistant.events import Event, Loading, ModelInfo, Ready, Role
from assistant.lookahead.adaptive import AdaptiveLookahead
from assistant.lookahead.costs import measure
from assistant.request import Setup
from models import pairing
from models.cancel import CancelFlag
from models.errors import ModelError
from models.llama.model import MAX_ROWS, LlamaModel
from models.llama.weights import Weights


class Pool:
    """The weights in memory, each file once however many loaders use it. For one thread."""

    def __init__(self) -> None:
        self._shared: dict[tuple[Path, int | None], tuple[Weights, int]] = {}

    @contextmanager
    def use(
        self,
        path: Path,
        gpu_layers: int | None,
        cancel: CancelFlag,
        progress: Callable[[float], None],
    ) -> Iterator[Weights]:
        """Load a file, unless it is loaded; it is freed when its last user has left.

        Raises what `Weights` raises.
        """
        key = path.resolve(), gpu_layers
        if key not in self._shared:
            weights = Weights(path, gpu_layers=gpu_layers, cancel=cancel, progress=progress)
            self._shared[key] = weights, 0
        weights, users = self._shared[key]
        self._shared[key] = weights, users + 1
        try:
            yield weights
        finally:
            weights, users = self._shared.pop(key)
            if users > 1:
                self._shared[key] = weights, users - 1
            else:
                weights.close()


class Loader:
    """Load what a setup names, and own it until closed."""

    def __init__(
        self, setup: Setup, control: Control, emit: Callable[[Event], None], pool: Pool
    ) -> None:
        self._setup = setup
        self._pool = pool
        self._cancel = control.cancel
        self._emit = emit
        self._resources = ExitStack()

    def load(self) -> tuple[Assistant, Ready]:
        """Load the models.

        Raises:
            ModelError: the target cannot be used.
            Cancelled: somebody stopped it.
        """
        with ExitStack() as opened:
            target = self._open("target", self._setup.target, MAX_ROWS, opened)
            draft, reason = self._draft(target, opened)
            assistant = Assistant(target, target.weights.vocab, *self._speculation(target, draft))
            self._resources = opened.pop_all()
        about_draft = self._about("draft", draft) if draft else None
        return assistant, Ready(self._about("target", target), about_draft, reason)

    def close(self) -> None:
        """Free everything that was loaded."""
        self._resources.close()

    def _open(self, role: Role, path: Path, max_rows: int, opened: ExitStack) -> LlamaModel:
        weights = opened.enter_context(
            self._pool.use(
                path,
                self._setup.gpu_layers,
                self._cancel,
                lambda fraction: self._emit(Loading(role, path.name, fraction)),
            )
        )
        model = LlamaModel(
            weights,
            n_ctx=self._setup.n_ctx,
            max_rows=max_rows,
            threads=self._setup.threads,
            cancel=self._cancel,
        )
        opened.callback(model.close)
        return model

    def _draft(self, target: LlamaModel, opened: ExitStack) -> tuple[LlamaModel | None, str | None]:
        """Load the draft; return it, or why there is none."""
        path = self._setup.draft
        if path is None:
            return None, "No draft model was chosen."
        with ExitStack() as refused:
            try:
                _check_rolls_back(target)
                draft = self._open("draft", path, 1, refused)
                _check_rolls_back(draft)
                _check_vocabulary(target, draft)
                draft.logits([0])  # one that computes no numbers is refused here
            except ModelError as error:
                return None, str(error)
            opened.push(refused.pop_all())
        return draft, None

    def _about(self, role: Role, model: LlamaModel) -> ModelInfo:
        weights = model.weights
        name = weights.header.name or weights.path.stem
        size = weights.path.stat().st_size
        return ModelInfo(
            role, name, str(weights.path), size, model.n_ctx, model.n_vocab, weights.load_s
        )

    def _speculation(
        self, target: LlamaModel, draft: LlamaModel | None
    ) -> tuple[ModelDrafter | None, AdaptiveLookahead | None]:
        if draft is None:
            return None, None
        adaptive = AdaptiveLookahead(measure(target, draft)) if self._setup.measure else None
        return ModelDrafter(draft, target.n_vocab), adaptive


def _check_rolls_back(model: LlamaModel) -> None:
    if not model.can_roll_back:
        raise ModelError(
            f"{model.weights.path.name} is a recurrent model, which cannot take tokens back."
        )


def _check_vocabulary(target: LlamaModel, draft: LlamaModel) -> None:
    if reason := pairing.mismatch(target.weights.vocab, draft.weights.vocab):
        name = draft.weights.path.name
        raise ModelError(f"{name} cannot draft for {target.weights.path.name}: {reason}.")
