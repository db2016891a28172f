"""Have the engine prove it, and show on standard error how far it is."""

from dataclasses import dataclass, field

from assistant.lab.events import LabEvent
from assistant.lab.jobs import Prove
from assistant.lab.protocol import LAB
from assistant.lab.prove.events import Check, Proved
from assistant.lab.tune.events import Measuring
from assistant.request import Sampling
from models.errors import SpecchatError
from tui.settings.settings import Settings
from tui.shell.engine_console import EngineConsole, Stopped

BROKEN, INTERRUPTED = 1, 130


@dataclass(slots=True)
class ProofOutcome:
    """What came of it, as far as it came."""

    sampling: Sampling
    thorough: bool
    checks: list[Check] = field(default_factory=list)
    proved: Proved | None = None  # None: it was stopped, or failed
    interrupted: bool = False
    error: SpecchatError | None = None

    @property
    def broken(self) -> list[Check]:
        """What does not hold."""
        return [check for check in self.checks if check.holds is False]

    @property
    def exit_code(self) -> int:
        """What the command's end says."""
        return BROKEN if self.broken else INTERRUPTED if self.interrupted else 0


def watch(settings: Settings, thorough: bool) -> ProofOutcome:
    """Prove it for the pair that the settings ask for.

    Raises:
        SpecchatError: the models cannot be found.
        KeyboardInterrupt: Ctrl-C before anything was compared, or twice.
    """
    outcome, listening = (
        ProofOutcome(settings.sampling, thorough),
        EngineConsole("looking for the models", protocol=LAB),
    )

    def hear(event: LabEvent) -> None:
        match event:
            case Measuring(what, fraction, left_s):
                listening.measuring(f"comparing {what}", fraction, left_s)
            case Check():
                outcome.checks.append(event)

    with listening.shown():
        listening.start()  # while the models are looked for
        setup, k, seed = listening.pair(settings), settings.lookahead or None, settings.seed or 0
        try:
            outcome.proved = listening.run(Prove(setup, settings.sampling, k, seed, thorough), hear)
        except Stopped:
            pass
        except SpecchatError as error:
            outcome.error = error
    outcome.interrupted = listening.interrupted
    return outcome
