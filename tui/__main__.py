"""The program's entry point: Ctrl-C while Python imports the command line gives no traceback."""

import os
import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line and exit."""
    root = os.path.dirname(os.path.dirname(__file__))
    specs = map(find_spec, ("assistant", "models"))
    if not all(spec and spec.origin and spec.origin.startswith(root) for spec in specs):
        sys.path.insert(0, root)  # PYTHONPATH has a package of the same name
    try:
        from tui.shell.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
