"""The program's entry point: Ctrl-C while Python imports the command line gives no traceback."""

import os
import sys


def main() -> None:
    """Run the command line and exit."""
    # A folder of PYTHONPATH may have a package named models, too.
    sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))
    try:
        from tui.shell.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
