"""Widgets that are laid out once when they grow."""

from textual.geometry import Size
from textual.reactive import Reactive
from textual.widget import Widget


class Still(Widget):
    """Let a new size pass without another layout.

    Textual lays the screen out a second time when a layout has changed a size. For text that grows
    with every round that is half of the work, and it changes nothing.
    """

    virtual_size = Reactive(Size(0, 0))
