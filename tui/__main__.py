"""The program's door: Ctrl-C while Python still imports the command line is no traceback."""

import sys


def main() -> None:
    """Run the command line and exit."""
    try:
        from tui.shell.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
