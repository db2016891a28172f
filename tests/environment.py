"""What tests find in their environment: the same in every shell, on every machine.

The user's variables decide where real weights are kept and how they are fetched, and nothing else.
To import this cleans the environment: pytest does so first, before any library has read it.
"""

import json
import os
import pwd
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHELL = "SPECCHAT_TEST_SHELL"
"""The variables that pytest was started with, in JSON: its workers see them through this one."""
KEPT = (
    *("PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    "IK_LLAMA_CPP_LIB_PATH",  # not what `make native` compiled, unless it is named
    *("PYTEST_", "TEXTUAL_SNAPSHOT_", "SPECCHAT_TEST_"),  # what pytest tells its workers, and we
    *("SPECCHAT_KILLS", "SPECCHAT_ARGUMENTS", "SPECCHAT_FUZZ"),  # how thorough tests are
)
"""How the names of all variables begin that tests may know of."""
USUAL = {
    "HOME": os.devnull,  # nothing can be written below it: a test has a home of its own, or none
    "LANG": "C.UTF-8",
    "TERM": "xterm-256color",
    "TZ": "UTC",
}
FOLDERS = (
    *("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
    *("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "SPECCHAT_MODELS"),
)
"""The variables of a shell that say where weights are kept."""


def clean() -> None:
    """Leave of the shell's environment what a test may know of it, and let files be read by all."""
    os.environ.setdefault(SHELL, json.dumps(dict(os.environ)))
    for name in [*os.environ]:
        if not name.startswith(KEPT):
            del os.environ[name]
    os.environ.update(USUAL)
    asked = json.loads(os.environ[SHELL])
    if asked.get("NO_COLOR") or asked.get("TERM") == "dumb":
        os.environ["PY_COLORS"] = "0"  # pytest itself does as its user wishes
    time.tzset()
    os.umask(0o022)
    from models.engines import PACKAGES, installed
    from models.files.places import hub_cache, models_dir

    if "ik" in installed():
        (library,) = (PACKAGES["ik"].folder / "lib").glob("libllama.*")
        os.environ.setdefault("IK_LLAMA_CPP_LIB_PATH", str(library))

    with shell():
        weights = {"HF_HUB_CACHE": str(hub_cache()), "SPECCHAT_MODELS": str(models_dir())}
    os.environ.update(weights)


@contextmanager
def shell() -> Iterator[None]:
    """Be in the environment that pytest was started in; a folder that cannot be written is none."""
    found = json.loads(os.environ[SHELL])
    unfit = [name for name in found if name.startswith("PYTHON")]  # pip has to work as it is
    unfit += [name for name in FOLDERS if name in found and not _can_be_written(Path(found[name]))]
    usable = {name: value for name, value in found.items() if name not in unfit}
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update({"HOME": pwd.getpwuid(os.getuid()).pw_dir, **usable})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _can_be_written(folder: Path) -> bool:
    """Say whether a folder is there, or can be made, and can be written."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    return there.is_dir() and os.access(there, os.W_OK)


clean()
