"""Opening an address in the browser, where there is one that leaves the terminal alone."""

import os
import re
import sys
from collections.abc import Mapping

from textual.widget import Widget

from tui.app.clipboard import copy_and_say
from tui.safe import safe

WEB = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)
"""What may be opened; parsers of addresses would pass over tabs in one."""
DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
"""Variables of which one is set where a browser has a window."""


def open_address(widget: Widget, address: str) -> None:
    """Open an address that the person has read; where that is not possible, copy it."""
    if not WEB.fullmatch(address):
        text = f"Not opened, it is no web address: {safe(address)}"
        widget.notify(text, severity="warning", markup=False)
    elif has_window(os.environ, sys.platform):
        widget.app.open_url(address)
        widget.notify(f"The browser was asked to open {safe(address)}", markup=False)
    else:  # a browser for terminals would paint over this one
        widget.notify("No browser has a window here, so the address is copied.", timeout=4)
        copy_and_say(widget, address)


def has_window(environment: Mapping[str, str], platform: str) -> bool:
    """Return whether a browser would open a window in front of the person."""
    if environment.get("SSH_CONNECTION"):
        return False
    return platform in ("darwin", "win32") or any(environment.get(name) for name in DESKTOP)
