"""A text that goes along with what a person says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that was read or a long text that was pasted."""

    name: str
    text: str
