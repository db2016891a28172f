"""Loads models: weights first, while other modules are imported, then all that is around them."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from assistant.engine.control import Control
from assistant.engine.engine_choice import choose_engine
from assistant.events import Event, Loading, Ready
from assistant.request import EngineArgs
from models.errors import EngineRefused
from models.native import loaded
from models.native.weights import shared_weights

if TYPE_CHECKING:
    from assistant.engine.reply import Assistant


def load(
    setup: EngineArgs,
    control: Control,
    emit: Callable[[Event], None],
    opened: ExitStack,
    may_defer: bool = False,
) -> tuple["Assistant", Ready]:
    """Load the models of a setup; `opened` closes them.

    With `may_defer`, a draft that was used before, or whose costs are not to be measured, is left
    to `Assistant.load_draft`: an answer can begin without it. A `ModelError` says why the target
    cannot be used.
    """

    def report(fraction: float) -> None:
        emit(Loading("target", setup.target.name, fraction))

    report(0.0)  # a file that is mapped may come from a slow disk before it reports more
    choice = choose_engine(setup)
    loaded.use(choice.engine)
    with ExitStack() as ahead:
        with suppress(EngineRefused):  # the loader tries again, and chooses another engine
            weights = shared_weights(setup.target, setup.gpu_layers, control.cancel, report)
            ahead.enter_context(weights)
        from assistant.engine.loader import Loader  # numpy: `preload` has imported it by now

        return Loader(setup, choice, control, emit).load(opened, may_defer)


def preload() -> None:
    """Import the modules needed after the weights, in another thread than that of `load`."""
    import assistant.engine.loader  # noqa: F401 - `load` finds it imported
