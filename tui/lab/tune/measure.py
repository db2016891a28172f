"""Have the engine measure, and show on standard error how far it is."""

from assistant.lab.events import LabEvent
from assistant.lab.jobs import Tune
from assistant.lab.protocol import LAB
from assistant.lab.tune.events import Measuring, Tuned
from models.files.variants import siblings
from tui.settings.settings import Settings
from tui.shell.engine_console import EngineConsole


def measure(settings: Settings) -> Tuned:
    """Tune for the pair that the settings ask for.

    Raises:
        SpecchatError: the models cannot be used, or what was found cannot be kept.
        KeyboardInterrupt: Ctrl-C; nothing was kept.
    """
    listening = EngineConsole("looking for the models", protocol=LAB)

    def hear(event: LabEvent) -> None:
        if isinstance(event, Measuring):
            listening.measuring(f"measuring {event.what}", event.fraction, event.left_s)

    with listening.shown():
        listening.start()  # while the models are looked for
        setup = listening.pair(settings)
        tuned: Tuned = listening.run(Tune(setup, tuple(siblings(setup.target))), hear)
    return tuned
