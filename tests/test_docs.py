"""The documentation names only links, files, commands, options and variables that exist."""

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import click
import pytest

from assistant.edit import kept_versions
from assistant.engine import reply
from assistant.prompt import infill
from assistant.request import EngineArgs
from assistant.serve import recent_answers
from assistant.session import attachments, folder_retriever
from assistant.settings.settings import KEYS, Settings
from assistant.tools import server
from assistant.tools.values import ToolSettings
from models.native import model as native_model
from models.native import repacked, repacking
from tests import ROOT
from tests.tools.manual import ENVIRONMENT
from tui.chat import chat_controller
from tui.shell import serve
from tui.shell.cli import COMMANDS, specchat

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
ROOMS = [path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] not in "._"]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^ *```\w*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`((?:[^`\n]|\n(?!\n))+)`")
ELSEWHERE = {"--hostile"}
"""Options that pages name alone and that are of `tests.tools`."""
SEPARATORS = set("();<>|&")


def faults(page: Path, text: str) -> Iterator[str]:
    """Say what a page with this text names that there is not."""
    yield from (fault for link in LINK.findall(text) if (fault := dead(page, link)))
    for name in re.findall(r"\bSPECCHAT_[A-Z_]+", text):
        if name not in variables():
            yield f"the variable {name}"
    blocks, prose = FENCED.findall(text), FENCED.sub("", text)
    spans = SPAN.findall(prose)
    for code in spans + "\n".join(blocks).replace("\\\n", " ").splitlines():
        for command in commands(code):
            yield from (f"the file {word}" for word in command if is_path(word) and not there(word))
            if fault := wrong(command):
                yield fault


def dead(page: Path, link: str) -> str | None:
    """Say that a link of a page leads nowhere; those to other machines are not followed."""
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if "://" in link:
        return None
    if not target.exists():
        return f"the link {link}"
    return f"the heading {link}" if anchor and anchor not in anchors(target) else None


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def there(path: str) -> bool:
    """Say whether the repository has a file or a folder whose path ends like this."""
    return path.strip("/") in files()


def is_path(text: str) -> bool:
    """Say whether code means a file or a folder of this repository."""
    return bool(re.fullmatch(r"[\w./-]+", text)) and (
        text.startswith(tuple(f"{room}/" for room in ROOMS)) or text.endswith((".py", ".md"))
    )


@cache
def files() -> frozenset[str]:
    """Every file and folder of the repository, by each end of its path."""
    found = [*ROOT.glob("*"), *(path for room in ROOMS for path in (ROOT / room).rglob("*"))]
    parts = (path.relative_to(ROOT).parts for path in found)
    return frozenset("/".join(each[start:]) for each in parts for start in range(len(each)))


@cache
def variables() -> frozenset[str]:
    """What the program and its tests read from the environment."""
    code = "".join(
        path.read_text() for path in [*(ROOT / "tests").rglob("*.py"), ROOT / "Makefile"]
    )
    ours = code.replace(Path(__file__).read_text(), "")
    return frozenset(
        {name for names, _ in ENVIRONMENT for name in names.split(", ")}
        | {key.environment for key in KEYS.values() if key.variable}
        | set(re.findall(r"\bSPECCHAT_[A-Z_]+", ours))
    )


def commands(line: str) -> Iterator[list[str]]:
    """Yield the commands of a line of a shell, without the variables in front of them."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # prose with an apostrophe
        words = line.split()
    command: list[str] = []
    for word in [*words, ";"]:
        if set(word) <= SEPARATORS:
            yield from [command] if command else []
            command = []
        elif command or not re.match(r"\w+=", word):
            command.append(word)


def wrong(command: list[str]) -> str | None:
    """Say what is wrong with a command, if it is one that this repository has."""
    program, *rest = Path(command[0]).name, *command[1:]
    if program == "make":
        targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        unknown = {word for word in rest if "=" not in word} - targets
        return f"make {min(unknown)}" if unknown else None
    if program == "python" and rest[:1] == ["-m"] and rest[1].startswith("tests"):
        module = ROOT / rest[1].replace(".", "/")
        found = module.with_suffix(".py").is_file() or (module / "__main__.py").is_file()
        return None if found else f"python -m {rest[1]}"
    return refusal(specchat, ["specchat"], rest) if program == "specchat" else None


def refusal(command: click.Command, names: list[str], words: list[str]) -> str | None:
    """Say why the command line refuses words; placeholders in capitals stand for any value."""
    context = click.Context(command, info_name=names[-1])
    try:
        values, rest, _ = command.make_parser(context).parse_args(list(words))
        for parameter in command.params:
            value = values.get(parameter.name or "")
            file = isinstance(parameter.type, click.Path)  # which need not be here
            if isinstance(value, str) and not value.isupper() and not file:
                parameter.type_cast_value(context, value)
    except click.UsageError as error:
        return f"{' '.join([*names, *words])}: {error.format_message()}"
    if not rest:
        return None
    below = None
    if isinstance(command, click.Group):
        with suppress(click.NoSuchCommand):
            _, below, _ = command.resolve_command(context, rest)
    if below is None:
        return f"{' '.join([*names, *words])}: nothing takes {rest[0]}"
    return refusal(below, [*names, rest[0]], rest[1:])


def options(command: click.Command) -> Iterator[str]:
    """Yield the options of a command and of those below it."""
    context = click.Context(command)
    for parameter in command.get_params(context):
        yield from (*parameter.opts, *parameter.secondary_opts)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from options(command.resolve_command(context, [name])[1] or command)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_only_what_there_is(page: Path) -> None:
    assert list(faults(page, page.read_text())) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_an_option_named_alone_is_one_of_some_command(page: Path) -> None:
    text = FENCED.sub("", page.read_text())
    named = set(re.findall(r"(?<=`)--?[a-z][\w-]*(?=[ `|])", text))
    if page.name != "CHANGELOG.md":  # which tells of options that are gone
        assert named - set(options(specchat)) - ELSEWHERE == set()


def test_the_readme_leads_to_every_page_and_every_command() -> None:
    readme = (ROOT / "README.md").read_text()
    linked = {link.partition("#")[0] for link in LINK.findall(readme)}
    assert {path.relative_to(ROOT).as_posix() for path in PAGES} - linked == {"README.md"}
    manual = (ROOT / "docs/commands/specchat.md").read_text()
    assert {f"{name}.md" for name in COMMANDS} <= set(LINK.findall(manual))


@pytest.mark.parametrize(
    ("text", "fault"), json.loads((ROOT / "tests/faults_of_pages.json").read_text())
)
def test_each_kind_of_fault_is_found(text: str, fault: str) -> None:
    (found,) = faults(ROOT / "README.md", text)
    assert found.startswith(fault)


def test_the_rows_of_the_table_of_faults_name_tests_that_exist() -> None:
    table = (ROOT / "docs/faults.md").read_text()
    rows = re.findall(r"^\| (?!fault|question).*$", table, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([\w/]+\.py)`", row)]
    assert len(named) >= len(rows) > 40
    assert [name for name in named if not (ROOT / "tests" / name).is_file()] == []


def test_the_picture_of_an_edit_has_nothing_that_a_terminal_shows_only_meanwhile() -> None:
    assert "of&#160;about" not in Path(ROOT, "docs/edit.svg").read_text()


def test_every_snippet_of_the_walk_through_the_decoding_library_runs_in_its_order() -> None:
    page = ROOT / "docs/decoding.md"
    snippets = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    assert len(snippets) == 10
    known: dict[str, object] = {}
    for snippet in snippets:
        exec(compile(snippet, str(page), "exec"), known)


@pytest.mark.parametrize(
    ("page", "promise", "kept"),
    [
        ("using.md", "more than ten seconds ends", chat_controller.LONG_S == 10),
        ("privacy.md", "at most 1 GiB", EngineArgs(Path("any")).snapshots == 1 << 30),
        ("privacy.md", "the last 200 files", kept_versions.MAX_VERSIONS == 200),
        ("models.md", "more than 200 MB", repacked.SMALLEST == 2 * 10**8),
        ("models.md", "Copies take at most 12 GB", repacked.LIMIT == 12 * 10**9),
        ("models.md", "leave 10 GB free", repacking.SPARE == 10**10),
        ("folders.md", "`about_seconds` (8)", Settings().about_seconds == 8),
        ("folders.md", "at\n  least two", folder_retriever.MIN_PASSAGES == 2),
        ("folders.md", "2,000 tokens", attachments.SHORT == 2_000),
        ("tools.md", "rounds = 8 ", ToolSettings().rounds == 8),
        ("faults.md", "it fails after 120 seconds", server.CALL_S == 120),
        ("faults.md", "given up after 60 seconds, and tried again a minute", server.START_S == 60),
        ("serving.md", "up to 512 MiB", serve.MEMORY == 512 << 20),
        ("serving.md", "next 24 tokens", infill.NEAR == 24),
        ("serving.md", "The 240 after those", infill.FAR == 240),
        ("serving.md", "its last 64 answers", recent_answers.MAX_ANSWERS_REMEMBERED == 64),
        ("how-it-works.md", "once an answer has 32 tokens", reply.DRAFT_AFTER == 32),
        ("how-it-works.md", "room for 2,048 tokens", native_model.FIRST_CELLS == 2_048),
    ],
)
def test_a_number_that_is_promised_is_the_programs(page: str, promise: str, kept: bool) -> None:
    assert promise in (ROOT / "docs" / page).read_text()
    assert kept
