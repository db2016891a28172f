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

from assistant.events import Ready
from assistant.request import EngineArgs
from assistant.serve.guard import Guard
from assistant.settings.settings import Settings
from models.child_process import forbid_connections
from models.errors import StorageError, UsageError, well_formed
from models.machine import is_local
from tui import outlook
from tui.app.signals import ending_signals
from tui.labels import figures, model_name
from tui.safe import safe
from tui.shell.engine_console import EngineConsole
from tui.shell.options import FILE, NumberParameter, settings, shared_options

if TYPE_CHECKING:  # they import the server's libraries, which are slow to load
    from assistant.serve.endpoint import Endpoint
    from assistant.serve.exchange import Exchange

TOKEN = "SPECCHAT_TOKEN"
PORT = 8471
MEMORY = 1 << 29  # bytes for KV caches of several conversations
EDITORS = {
    "vim": ("llama.vim, in vimrc", "let g:llama_config = { 'endpoint_fim': 'ROOT/infill' }"),
    "vscode": ("llama.vscode, in settings.json", '"llama-vscode.endpoint": "ROOT",'),
    "continue": (
        "Continue, in config.yaml, under models",
        """- { name: specchat, provider: llama.cpp, model: MODEL, apiBase: "ROOT/",
    roles: [autocomplete] }""",
    ),
    "zed": (
        "Zed, in settings.json",
        """"edit_predictions": { "provider": "open_ai_compatible_api", "open_ai_compatible_api": {
  "api_url": "ROOT/v1/completions", "model": "MODEL", "max_output_tokens": 64 } },""",
    ),
    "minuet": (
        "minuet, in init.lua",
        """require('minuet').setup { provider = 'openai_fim_compatible', n_completions = 1,
  provider_options = { openai_fim_compatible = { name = 'specchat', api_key = 'TERM',
    end_point = 'ROOT/v1/completions', model = 'MODEL', optional = { max_tokens = 56 } } } }""",
    ),
}
"""By the names that `--editor` takes: the plugin and its file, and the lines for it."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port",
    type=NumberParameter(0, 65535),
    default=PORT,
    show_default=True,
    help="0 picks a free one.",
)
@click.option(
    "--token-file",
    type=FILE,
    metavar="FILE",
    help="Require the token in this file; SPECCHAT_TOKEN also sets one.",
)
@click.option("--strict-api", is_flag=True, help="Refuse what has no effect in a request.")
@click.option("--editor", type=click.Choice([*EDITORS]), help="Also print lines to set it up.")
@shared_options
def serve(
    host: str,
    port: int,
    token_file: Path | None,
    strict_api: bool,
    editor: str | None,
    **options: Any,
) -> None:
    """Serve OpenAI's chat completions to other programs on this machine.

    Use the printed address, http://127.0.0.1:8471/v1, as the base URL. Requests queue up; hanging
    up stops an answer. Nothing is kept, and specchat connects to nothing. On an address that other
    machines can reach, a token is required, and generated if you set none. Ctrl-C ends it.
    """
    chosen, address, token = settings(options), _address(host), _read_token(token_file)
    generated = None if token or is_local(address) else secrets.token_urlsafe(24)
    console = EngineConsole()
    with _bind(address, port) as listening, console.open():
        setup, no_draft = chosen.setup(console.show_check)
        # Stored conversations are private: they must not be proposed to clients either.
        setup = replace(setup, recalls=False, snapshots=0, memory=MEMORY)
        forbid_connections()  # sockets that are bound may still listen
        ready: Ready = console.run(setup, stoppable=False)
        console.hide_progress()
        listening.listen()
        name, request = served_name(chosen, setup), chosen.request()
        shown_address = f"[{address}]" if ":" in address else address
        root = f"http://{shown_address}:{listening.getsockname()[1]}"
        click.echo(f"{root}/v1")
        guesses = f", and {model_name(ready.draft.name)} guesses" if ready.draft else ""
        _log(f"{name} answers{guesses}. Ctrl-C stops the server.")
        if missing := outlook.missing_draft(no_draft, ready, chosen):
            _log(missing)
        if generated:
            _log(f"Others on the network can ask, with this token: {generated}")
        if editor:
            _log(f"For {EDITORS[editor][0]}:")
            click.echo(safe(lines_for(editor, root, name)))
        from assistant.serve.endpoint import Endpoint

        guard = Guard(token or generated, chosen.allow_origins)
        callbacks = _log_exchange, _log, lambda: chosen.may_read_ahead
        endpoint = Endpoint(console.engine, name, ready, request, guard, *callbacks, strict_api)
        console.wait(_serve(console, listening, endpoint))
    if console.interrupted:
        sys.exit(130)


async def _serve(console: EngineConsole, listening: socket.socket, endpoint: "Endpoint") -> None:
    """Answer requests until a signal."""
    from assistant.serve.connection import listen

    end = asyncio.Event()
    for number in {*ending_signals()} - {signal.SIGINT}:
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    console.stop_with(end.set)
    console.stoppable = True  # a second Ctrl-C does not wait
    await listen(endpoint, listening, end, endpoint.stop)


def lines_for(editor: str, root: str, model: str) -> str:
    """Return the lines for a server, such as `http://127.0.0.1:8471`, and its model."""
    return EDITORS[editor][1].replace("ROOT", root).replace("MODEL", model)


def served_name(settings: Settings, setup: EngineArgs) -> str:
    """Return the model name for clients: the target's short name, or that of its file."""
    reference = settings.target_name
    by_path = "/" in reference or setup.target.name in reference
    return well_formed(setup.target.stem if by_path else reference)


def _address(host: str) -> str:
    """Return the address to listen on; a host name would need a lookup."""
    with suppress(ValueError):
        return str(ip_address("127.0.0.1" if host == "localhost" else host.strip("[]")))
    raise UsageError(f"--host must be localhost or an address, such as 127.0.0.1: {host!r}")


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise UsageError(
            f"{host} port {port} cannot be used: {error.strerror}. Choose another --port or --host."
        ) from error
    return listening


def _read_token(file: Path | None) -> str | None:
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


def _log_exchange(exchange: "Exchange") -> None:
    parts = [f"{exchange.seconds:.1f} s"]
    if exchange.answer.end is not None:
        parts += figures(exchange.answer.end.stats)
    if exchange.remark:
        parts.append(exchange.remark)
    _log(f"{exchange.method} {exchange.path} {exchange.status} · {' · '.join(parts)}")


def _log(text: str) -> None:
    click.echo(safe(f"{datetime.now():%H:%M:%S}  {text}"), err=True)
