"""The options that every way of asking shares, and the settings they make."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tui.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])


class Lookahead(click.ParamType[int | None]):
    """A number of tokens, or `auto`."""

    name = "N|auto"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | None:
        """Return the number; None stands for auto."""
        if value is None or value == "auto":
            return None
        return click.IntRange(0, 31).convert(value, param, ctx)


_MODELS = "A path, a catalogue name, or repo:file"
_OPTIONS = (
    click.option("--target", metavar="MODEL", help=f"The model that answers. {_MODELS}."),
    click.option("--draft", metavar="MODEL", help="The model that proposes; 'none' for none."),
    click.option(
        "--mode",
        type=click.Choice(["ars", "sps", "auto"]),
        default="auto",
        show_default=True,
        help="Autoregressive, speculative, or whichever is faster here.",
    ),
    click.option(
        "--lookahead",
        "-k",
        type=Lookahead(),
        metavar="N|auto",
        default="auto",
        help="Tokens to propose per round, 0 to 31.",
    ),
    click.option(
        "--source",
        type=click.Choice(["auto", "model"]),
        default="auto",
        help="Where proposals come from.",
    ),
    click.option(
        "--rule", type=click.Choice(["token"]), default="token", help="How proposals are verified."
    ),
    click.option("--temperature", type=float, help="0 takes the most probable token.  [0.7]"),
    click.option("--top-k", type=int, help="Keep the k most probable tokens; 0 keeps all.  [40]"),
    click.option("--top-p", type=float, help="Keep the most probable tokens of this mass.  [0.95]"),
    click.option("--min-p", type=float, help="Keep tokens with this share of the best's.  [0]"),
    click.option("--repeat-penalty", type=float, help="Make recent tokens less likely.  [1: off]"),
    click.option("--seed", type=click.IntRange(min=0), help="Same seed and settings, same answer."),
    click.option("--max-tokens", type=click.IntRange(min=1), help="Stop after this many tokens."),
    click.option(
        "--ctx",
        "n_ctx",
        type=click.IntRange(256),
        default=8192,
        show_default=True,
        help="Context, tokens.",
    ),
    click.option("--threads", type=click.IntRange(1, 512), help="Default: one per physical core."),
    click.option(
        "--gpu-layers", type=click.IntRange(min=0), help="Default: all, if there is a GPU."
    ),
    click.option("--system", metavar="TEXT", help="The system prompt."),
    click.option("--no-save", is_flag=True, help="Keep nothing of this conversation on disk."),
    click.option("--offline", is_flag=True, help="Open no connection."),
)
_SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty")


def shared(command: Command) -> Command:
    """Add the shared options to a command; it takes them as keywords for `settings`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def settings(options: dict[str, Any]) -> "Settings":
    """Return the settings that the shared options ask for.

    Raises:
        UsageError: a value makes no sense.
    """
    from assistant.warp import Sampling
    from tui.settings import Settings

    given = {name: options[name] for name in _SAMPLING if options[name] is not None}
    return Settings(
        target=options["target"],
        draft=options["draft"],
        mode=options["mode"],
        lookahead=options["lookahead"],
        sampling=Sampling(**given),
        seed=options["seed"],
        max_tokens=options["max_tokens"],
        n_ctx=options["n_ctx"],
        threads=options["threads"],
        gpu_layers=options["gpu_layers"],
        system=options["system"],
        offline=options["offline"],
    )
