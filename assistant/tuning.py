"""The settings of a file that speed hangs on. Plain frozen values: they may cross a process."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a file is run: the settings that shape its cost curve. The defaults are the usual."""

    repack: bool = True
    flash_attention: bool | None = None  # None: as llama.cpp likes
    threads: int | None = None  # None: one per physical core
