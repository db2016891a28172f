"""A passage: whole paragraphs, a function or a section, and where it stands."""

from pathlib import Path
from typing import NamedTuple

UNITS = {".pdf": "page", ".docx": "paragraph"}
"""What the places in a file count, by its suffix; elsewhere lines."""


class Passage(NamedTuple):
    """A part of a file, of about 1,000 to 1,500 characters."""

    path: Path  # of the file
    first: int  # its first line, from 1; of a PDF the page, of a docx the paragraph
    last: int
    text: str
    heading: str = ""  # what it stands under: "Install > Linux", or the class of a function

    @property
    def unit(self) -> str:
        """What `first` and `last` count: line, page or paragraph."""
        return UNITS.get(self.path.suffix.lower(), "line")
