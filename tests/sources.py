"""Our source files, and commands that must load little."""

from tests import ROOT
from tests.scripts import printed

PACKAGES = ("models", "assistant", "tui")

MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def light(*arguments: str, without: frozenset[str] = frozenset()) -> str:
    """Run a command that must load nothing heavy, and return what it prints."""
    heavy = {"llama_cpp", "numpy", "textual", "huggingface_hub", "jinja2", *without}
    code = (
        "import sys\nsys.argv[0] = 'specchat'\nfrom tui.shell.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"heavy = {heavy} & {{*sys.modules}}\n"
        "assert not heavy, heavy"
    )
    return printed(code, *arguments)
