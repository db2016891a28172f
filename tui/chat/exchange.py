"""Between the person and the engine: what is loaded, what is answered, and what waits for what."""

from collections.abc import Callable

from assistant.events import Ready
from assistant.request import Request, Setup
from assistant.service import Service


class Exchange:
    """Give the engine one thing to do at a time: models to load come before what waits."""

    def __init__(self) -> None:
        self.engine: Service | None = None
        self.ready: Ready | None = None
        self.preparing = True
        """Whether models are being looked for or loaded."""
        self.busy = False
        """Whether an answer is under way, also one that nobody waits for any more."""
        self._setup: Setup | None = None  # to be loaded when the answer under way has ended
        self._wish: Callable[[], Request] | None = None

    @property
    def waits(self) -> bool:
        """Whether something is to be answered as soon as that is possible."""
        return self._wish is not None

    @property
    def wants_model(self) -> bool:
        """Whether something waits that no model will ever answer."""
        return self.waits and not self.preparing and self.ready is None

    def prepare(self) -> None:
        """Note that models are being looked for."""
        self.ready, self.preparing = None, True

    def load(self, engine: Service, setup: Setup) -> None:
        """Have models loaded, after the answer under way has been stopped."""
        self.engine, self._setup = engine, setup
        self.stop()
        self.go_on()

    def loaded(self, ready: Ready | None) -> None:
        """Note that loading has ended, well or not, and do what waits."""
        self.ready, self.preparing = ready, False
        self.go_on()

    def wish(self, wish: Callable[[], Request]) -> None:
        """Have something answered; it is made a request when its turn comes."""
        self._wish = wish
        self.go_on()

    def unwish(self) -> None:
        """Let nothing wait any more."""
        self._wish = None

    def stop(self) -> None:
        """End the answer under way."""
        if self.busy and self.engine is not None:
            self.engine.cancel()

    def ended(self) -> None:
        """Note that an answer has ended, and do what waits."""
        self.busy = False
        self.go_on()

    def go_on(self) -> None:
        """Do what waits, if it can be done."""
        if self.engine is None or self.busy:
            return
        if self._setup is not None:
            setup, self._setup = self._setup, None
            self.engine.load(setup)
        elif self._wish is not None and self.ready is not None:
            wish, self._wish = self._wish, None
            self.busy = True
            self.engine.reply(wish())
