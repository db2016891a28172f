"""The program's entry point: Ctrl-C while Python imports the command line gives no traceback."""

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
