"""`specchat prove`: losslessness, checked on the user's machine and pair."""

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from models.errors import SpecchatError
from tui.safe import safe
from tui.shell.options import settings, shared

if TYPE_CHECKING:
    from assistant.lab.protocol import LabEvent
    from tui.lab.prove_report import ProofOutcome
    from tui.settings.settings import Settings


@click.command()
@click.option("--thorough", is_flag=True, help="Run larger tests, which take minutes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@shared
def prove(thorough: bool, as_json: bool, **options: Any) -> None:
    """Check on this machine that speculation changes nothing but the speed.

    The shipped rules are enumerated on a small example, and deliberate mistakes in them must be
    found. Then your pair's answers with and without speculation are compared, also in a full turn
    with every source and the controller, for several answers at once, and from a snapshot on disk.
    It takes a minute or two. The exit code is 1 if a check fails.
    """
    chosen = settings(options)

    from tui.lab.prove_report import lines, report

    outcome = watch(chosen, thorough)
    if as_json:
        click.echo(json.dumps(report(outcome)))
    else:
        click.echo("\n".join(map(safe, lines(outcome))))
    if outcome.error is not None:
        raise outcome.error
    sys.exit(outcome.exit_code)


def watch(settings: "Settings", thorough: bool) -> "ProofOutcome":
    """Have the engine prove it for the pair that the settings ask for, and show how far it is.

    Raises:
        SpecchatError: the models cannot be found.
        KeyboardInterrupt: Ctrl-C before anything was compared, or twice.
    """
    from assistant.lab.protocol import LAB, Check, Measuring, Prove
    from tui.lab.prove_report import ProofOutcome
    from tui.shell.engine_console import EngineConsole, Stopped

    outcome = ProofOutcome(settings.sampling, thorough)
    console = EngineConsole("looking for the models", protocol=LAB)

    def hear(event: "LabEvent") -> None:
        match event:
            case Measuring(what, fraction, left_s):
                console.measuring(f"comparing {what}", fraction, left_s)
            case Check():
                outcome.checks.append(event)

    with console.shown():
        console.start()  # while the models are looked for
        setup, k, seed = console.pair(settings), settings.lookahead or None, settings.seed or 0
        try:
            outcome.proved = console.run(Prove(setup, settings.sampling, k, seed, thorough), hear)
        except Stopped:
            pass
        except SpecchatError as error:
            outcome.error = error
    outcome.interrupted = console.interrupted
    return outcome
