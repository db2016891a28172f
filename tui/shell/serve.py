"""`specchat serve`: an OpenAI-style endpoint for programs on this machine."""

import asyncio
import os
import secrets
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from assistant.events import Failed, Loading, Ready
from assistant.process.landlock import forbid_connections
from assistant.request import Setup
from assistant.serve.guard import Guard
from models import errors
from models.errors import StorageError, UsageError, well_formed
from models.machine import is_local
from tui.figures import figures
from tui.safe import safe
from tui.settings.settings import Settings
from tui.shell.engine_console import looking
from tui.shell.options import NumberParameter, settings, shared

if TYPE_CHECKING:  # they import the server's libraries, which --help does not wait for
    from assistant.process.engine_process import EngineProcess
    from assistant.serve.endpoint import Endpoint
    from assistant.serve.exchange import Exchange

INTERRUPTED = 130
TOKEN = "SPECCHAT_TOKEN"
PORT = 8471


@click.command()
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="The address of this machine to use."
)
@click.option(
    "--port",
    type=NumberParameter(0, 65535),
    default=PORT,
    show_default=True,
    help="0 picks a free one.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Require the token in this file; SPECCHAT_TOKEN also sets one.",
)
@shared
def serve(host: str, port: int, token_file: Path | None, **options: Any) -> None:
    """Serve OpenAI's chat completions to other programs on this machine.

    Use the printed address, http://127.0.0.1:8471/v1, as the base URL. Requests queue up; hanging
    up stops an answer. Nothing is kept, and specchat connects to nothing. On an address that other
    machines can reach, a token is required, and generated if you set none. Ctrl-C ends it.
    """
    sys.exit(_run(settings(options), host, port, token_file))


def _run(settings: Settings, host: str, port: int, token_file: Path | None) -> int:
    """Serve until a signal says to end, and return the exit code.

    Raises:
        SpecchatError: the address cannot be used, or the models cannot.
    """
    address, token = _address(host), _token(token_file)
    made = None if token or is_local(address) else secrets.token_urlsafe(24)
    with _bound(address, port) as listening:
        with looking() as report:
            setup, _ = settings.setup(report)
        # Stored conversations are private here, even as proposals.
        setup = replace(setup, recalls=False, snapshots=0)
        forbid_connections()  # from here on; what is bound may listen
        serving = Serving(settings, setup, Guard(address, token or made), made)
        return asyncio.run(serving.run(listening))


class Serving:
    """One run of the endpoint; its log goes to standard error."""

    def __init__(
        self, settings: Settings, setup: Setup, guard: Guard, made_token: str | None
    ) -> None:
        self._settings, self._setup, self._guard = settings, setup, guard
        self._made_token = made_token
        self._end = asyncio.Event()
        self._code = 0

    async def run(self, listening: socket.socket) -> int:
        """Load the models, serve until a signal, and return the exit code."""
        from assistant.process.engine_process import EngineProcess
        from assistant.serve.connection import listen

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._stop, INTERRUPTED)
        loop.add_signal_handler(signal.SIGTERM, self._stop, 0)
        engine = EngineProcess()
        try:
            ready = await self._load(engine)
            if ready is not None:
                listening.listen()
                self._tell(ready, listening.getsockname()[1])
                endpoint = self._endpoint(engine, ready)
                await listen(endpoint, listening, self._end, endpoint.stop)
        finally:
            await engine.close()
        return self._code

    def _stop(self, code: int) -> None:
        self._code = code
        self._end.set()

    async def _load(self, engine: "EngineProcess") -> Ready | None:
        """Load the models; None if that was interrupted."""
        loading = asyncio.create_task(self._loaded(engine))
        ending = asyncio.create_task(self._end.wait())
        await asyncio.wait({loading, ending}, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if loading.done():
            return loading.result()
        loading.cancel()
        return None

    async def _loaded(self, engine: "EngineProcess") -> Ready:
        with Console(stderr=True).status("loading") as status:
            async for event in engine.do(self._setup):
                match event:
                    case Loading(role, name, fraction):
                        status.update(Text(f"loading {role} {safe(name)}: {fraction:.0%}"))
                    case Failed(message, kind):
                        raise getattr(errors, kind)(message)
                    case Ready():
                        return event
        raise AssertionError("loading ends in one or the other")

    def _endpoint(self, engine: "EngineProcess", ready: Ready) -> "Endpoint":
        from assistant.serve.endpoint import Endpoint

        name, usual = name_of(self._settings, self._setup), self._settings.request()
        return Endpoint(engine, name, ready, usual, self._guard, _report, _say)

    def _tell(self, ready: Ready, port: int) -> None:
        host = f"[{self._guard.host}]" if ":" in self._guard.host else self._guard.host
        click.echo(f"http://{host}:{port}/v1")
        name, draft = name_of(self._settings, self._setup), ready.draft
        how = f", with {draft.name} as its draft." if draft else f". {ready.no_draft}"
        _say(f"{name} answers{how} Ctrl-C ends it.")
        if self._made_token:
            _say(f"Others on the network can ask, with this token: {self._made_token}")


def name_of(settings: Settings, setup: Setup) -> str:
    """Return the target's name for clients: its short name, or its file's."""
    reference = settings.target_name
    by_path = "/" in reference or setup.target.name in reference
    return well_formed(setup.target.stem if by_path else reference)


def _address(host: str) -> str:
    """Return the address to listen at; a host name would need a lookup.

    Raises:
        UsageError: it is not an address.
    """
    with suppress(ValueError):
        return str(ip_address("127.0.0.1" if host == "localhost" else host.strip("[]")))
    raise UsageError(f"--host must be localhost or an address, such as 127.0.0.1: {host!r}")


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise UsageError(
            f"{host} port {port} cannot be used: {error.strerror}. Choose another with --port."
        ) from error
    return listening


def _token(file: Path | None) -> str | None:
    """Return the token from a file or the environment; None if there is none."""
    if file is None:
        token, where = os.environ.get(TOKEN, "").strip(), TOKEN
    else:
        try:
            token, where = file.read_text("utf-8").strip(), str(file)
        except (OSError, ValueError) as error:
            raise StorageError(f"{file} cannot be read as a token.") from error
        if not token:
            raise UsageError(f"{file} holds no token; write one into it.")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(f"{where} must be one word of ASCII, because HTTP allows no other token.")
    return token or None


def _report(exchange: "Exchange") -> None:
    answers = exchange.ends
    parts = [f"{exchange.seconds:.1f} s"]
    if len(answers) > 1:
        parts.append(f"{len(answers)} answers")
    for finished in answers:
        parts += figures(finished.stats)[: 1 if len(answers) > 1 else None]
    if exchange.remark:
        parts.append(exchange.remark)
    _say(f"{exchange.method} {exchange.path} {exchange.status} · {' · '.join(parts)}")


def _say(text: str) -> None:
    with suppress(OSError):  # the reader has gone; others still get answers
        click.echo(safe(f"{datetime.now():%H:%M:%S}  {text}"), err=True)
