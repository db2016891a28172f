"""`python -m tests.fuzz TARGET [SECONDS] [FOLDER]`; the targets are named when none is given.

The corpus and what broke the target lie in FOLDER, or under the system's temporary folder. Where
atheris is installed, it looks for inputs by the lines they reach.
"""

import importlib
import importlib.util
import sys
import tempfile
from pathlib import Path

SECONDS = 60.0


def main(arguments: list[str]) -> int:
    if importlib.util.find_spec("atheris"):
        return _guided(arguments)
    from tests.fuzz.targets import TARGETS

    if not arguments or arguments[0] not in TARGETS:
        print(f"usage: python -m tests.fuzz {{{','.join(TARGETS)}}} [SECONDS] [FOLDER]")
        return 2
    name, seconds, folder = _chosen(arguments)
    from tests.fuzz.hunt import Hunt

    hunt = Hunt(TARGETS[name], folder)
    hunt.run(seconds)
    print(f"{name}: {hunt.tried} inputs, {len(hunt.crashers)} broke it; see {folder}")
    for path in hunt.crashers:
        print(path.with_suffix(".txt").read_text().splitlines()[-1], path)
    return 1 if hunt.crashers else 0


def _chosen(arguments: list[str]) -> tuple[str, float, Path]:
    name, seconds, folder = [*arguments, None, None][:3]
    place = Path(folder or Path(tempfile.gettempdir()) / "specchat-fuzz" / str(name))
    return str(name), float(seconds or SECONDS), place


def _guided(arguments: list[str]) -> int:
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["models", "assistant", "tui"]):
        from tests.fuzz.targets import TARGETS
    name, seconds, folder = _chosen(arguments)
    target = TARGETS[name]
    folder.mkdir(parents=True, exist_ok=True)
    for i, seed in enumerate(target.seeds()):
        (folder / f"seed-{i}").write_bytes(seed)

    def attempt(data: bytes) -> None:
        try:
            target.run(data)
        except target.refusals:
            return

    options = [f"-max_total_time={seconds:.0f}", f"-artifact_prefix={folder}/crash-"]
    atheris.Setup(["fuzz", *options, str(folder)], attempt)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
