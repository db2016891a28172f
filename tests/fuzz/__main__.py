"""`python -m tests.fuzz TARGET [SECONDS] [FOLDER]`; the targets are named when none is given.

The corpus and what broke the target lie in FOLDER, or under the system's temporary folder.
"""

import sys
import tempfile
from pathlib import Path
from time import monotonic

from tests.fuzz.hunt import Hunt
from tests.fuzz.targets import TARGETS

SECONDS = 60.0


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in TARGETS:
        print(f"usage: python -m tests.fuzz {{{','.join(TARGETS)}}} [SECONDS] [FOLDER]")
        return 2
    name, (seconds, folder) = arguments[0], [*arguments[1:], None, None][:2]
    place = Path(folder or Path(tempfile.gettempdir()) / "specchat-fuzz" / name)
    hunt = Hunt(TARGETS[name], place)
    end = monotonic() + float(seconds or SECONDS)
    hunt.run(lambda: monotonic() > end)
    print(f"{name}: {hunt.tried} inputs, {len(hunt.crashers)} broke it; see {place}")
    for path in hunt.crashers:
        print(path.with_suffix(".txt").read_text().splitlines()[-1], path)
    return 1 if hunt.crashers else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
