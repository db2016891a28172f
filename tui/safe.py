"""The one door to the terminal for text from a model, a file, a download or a stored chat."""

import errno
import os

from models.errors import NO_MEMORY, OUT_OF_MEMORY

DEBUG = "SPECCHAT_DEBUG"
"""The environment variable that has bugs raised with their traceback."""
_REPLACEMENT = 0xFFFD

_GLYPHS: dict[int, int] = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: 0x2421,
    # C1 controls; marks and overrides of writing direction; line separators; lone surrogates
    **dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT),
    **dict.fromkeys((0x061C, 0x200E, 0x200F, 0x2028, 0x2029), _REPLACEMENT),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), _REPLACEMENT),
    **dict.fromkeys(range(0xD800, 0xE000), _REPLACEMENT),
    0xFDD0: _REPLACEMENT,  # no character; `tui.text.markdown_reading` uses it for itself
}


def safe(text: str) -> str:
    """Return the text with every character that could command a terminal made visible.

    It works character by character, so a sequence split over several calls is caught as well.
    """
    return text.translate(_GLYPHS)


def bug_report(error: BaseException) -> str:
    """Return the message for an error that nothing handled; its text may quote the conversation."""
    if OUT_OF_MEMORY.search(f"{type(error).__name__}: {error}"):
        return NO_MEMORY
    if "start new thread" in str(error):
        return "No thread can be started. Close other programs, or raise the limit (ulimit -u)."
    if str(error) == str(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))):  # of `getcwd`
        return "The current folder is gone. Change to another one, and start again."
    if isinstance(error, OSError) and error.filename:  # of the machine, as a folder of another user
        return f"{error.filename} cannot be used: {error.strerror}. {DEBUG}=1 shows where."
    return f"This is a bug in specchat: {type(error).__name__}. {DEBUG}=1 shows where."


def one_line(name: str) -> str:
    """Return the name of a file as it can be shown in a line."""
    return safe(name).replace("\n", "␊").replace("\t", "␉")
