"""`specchat bench`: what speculation is worth with your pair, on your machine."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tui.options import settings, shared
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.bench.peers import Server
    from assistant.bench.runfile import RunFile
    from tui.bench.lineup import Lineup
    from tui.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, dir_okay=False)


def output(command: Command) -> Command:
    """Add the options that say where results go."""
    for option in (
        click.option("--html", "html_file", type=FILE, help="Write an HTML report, with plots."),
        click.option("--json", "json_file", type=FILE, help="Write all figures as JSON."),
        click.option(
            "--run",
            "run_path",
            type=FILE,
            help="Keep results in this file, and go on with those that it has.",
        ),
    ):
        command = option(command)
    return command


@click.group()
def bench() -> None:
    """Measure what speculation is worth with your pair, on your machine.

    Systems answer the same prompts in turns, so that drift cancels. What is measured is kept at
    once: Ctrl-C stops, and the same command with --run FILE goes on.
    """


@bench.command()
@click.argument("file", required=False, type=FILE)
@click.option(
    "--systems",
    "spec",
    metavar="SPEC",
    help="What answers, separated by commas: ars, auto, sps[=K], or sources and K, as in model=4 "
    "or suffix+model=3; behind TARGET: with another target or quantisation, as in f16:ars.  "
    "[ars,sps=4,auto]",
)
@click.option("--per-kind", type=click.IntRange(1), metavar="N", help="Ask N of each kind only.")
@click.option("--repeats", type=click.IntRange(1, 100), default=1, help="Ask everything N times.")
@click.option(
    "--predict/--no-predict", default=True, help="Compare with the simulator's prediction."
)
@click.option(
    "--llama-server",
    "server",
    type=FILE,
    help="Ask llama.cpp's server the same, with and without the draft; it is started for that, and "
    "reached through 127.0.0.1 alone.",
)
@output
@shared
@click.pass_context
def prompts(
    context: click.Context,
    /,
    file: Path | None,
    spec: str | None,
    per_kind: int | None,
    repeats: int,
    predict: bool,
    server: Path | None,
    run_path: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    **options: Any,
) -> None:
    """Answer prompts with every system, and compare speeds.

    FILE has JSON lines in the format of HumanEval or of Spec-Bench (of conversations the first turn
    is asked); without it, prompts that come with specchat are asked: code, chat, summaries,
    questions, maths, translation and editing.
    """
    chosen = _settings(context, options)

    from assistant.bench import prompts as reporting
    from assistant.bench import systems
    from assistant.bench.answers import kept
    from assistant.bench.questions import first_of_each, read, shipped
    from tui.bench.lineup import answers, line_up
    from tui.bench.output import brief, check_writable, show
    from tui.bench.running import Running

    ways = systems.parse(spec or systems.DEFAULT)
    questions = first_of_each(read(file) if file else shipped(), per_kind)
    check_writable(json_file, html_file)
    lineup = line_up(ways, chosen)
    more = {"llama_server": str(server)} if server else {}
    facts = lineup.facts("prompts", questions, repeats=repeats, predict=predict, **more)
    with _run_file(run_path, facts) as run, _peers(server, lineup) as peers:
        Running(run).run([*answers(lineup, questions, repeats, predict, peers)])
        found = [*kept(run.results)]
    others = [systems.System(peer.name, "ars") for peer in peers]
    report, standings = reporting.report(found, [*ways, *others], chosen.draft_sources)
    show(report, facts, {"standings": standings, "answers": brief(found)}, json_file, html_file)


@bench.command()
@click.argument("file", required=False, type=FILE)
@click.option(
    "--lookaheads",
    metavar="LIST",
    default="1,2,3,4,5,6,8",
    show_default=True,
    help="The lookaheads that are tried, besides ArS.",
)
@click.option("--per-kind", type=click.IntRange(1), metavar="N", help="Ask N of each kind only.")
@click.option("--repeats", type=click.IntRange(1, 100), default=1, help="Ask everything N times.")
@output
@shared
@click.pass_context
def sweep(
    context: click.Context,
    /,
    file: Path | None,
    lookaheads: str,
    per_kind: int | None,
    repeats: int,
    run_path: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    **options: Any,
) -> None:
    """Try lookaheads: time for 128 tokens, tokens per round, time of a round.

    That is figure 1 of Chen et al. 2023, for a code and a summarisation task, or for the prompts in
    FILE. Proposals are the draft model's; --source names another source.
    """
    chosen = _settings(context, options)

    from assistant.bench import sweep as reporting
    from assistant.bench import systems
    from assistant.bench.answers import kept
    from assistant.bench.questions import first_of_each, read, shipped
    from tui.bench.lineup import answers, line_up
    from tui.bench.output import brief, check_writable, show
    from tui.bench.running import Running

    ways = systems.sweep((chosen.source or "model").replace(",", "+"), lookaheads)
    asked = read(file) if file else [each for each in shipped() if each.kind in ("code", "summary")]
    questions = first_of_each(asked, per_kind)
    check_writable(json_file, html_file)
    lineup = line_up(ways, chosen)
    facts = lineup.facts("sweep", questions, repeats=repeats)
    with _run_file(run_path, facts) as run:
        Running(run).run([*answers(lineup, questions, repeats, predict=False)])
        found = [*kept(run.results)]
    report, steps = reporting.report(found, ways)
    show(report, facts, {"steps": steps, "answers": brief(found)}, json_file, html_file)


@bench.command()
@click.option("--code", "code_file", type=FILE, help="Problems in HumanEval's format.")
@click.option("--summaries", "summaries_file", type=FILE, help="Texts in Spec-Bench's format.")
@click.option(
    "--files",
    "labels",
    metavar="LIST",
    help="Other quantisations or files of the target to compare with, as in f16,q8_0; none.  "
    "[f16, bf16 and mxfp4 where they are here]",
)
@click.option("--per-kind", type=click.IntRange(1), metavar="N", help="Ask N of each kind only.")
@click.option(
    "--run-code/--no-run-code",
    default=False,
    help="Run the models' code even where the system cannot confine it.",
)
@output
@shared
@click.pass_context
def paper(
    context: click.Context,
    /,
    code_file: Path | None,
    summaries_file: Path | None,
    labels: str | None,
    per_kind: int | None,
    run_code: bool,
    run_path: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    **options: Any,
) -> None:
    """Measure the tables and figures of the papers again, with your pair on your machine.

    Chen et al. 2023: scores and speed, the lookahead sweep. Leviathan et al. 2023: acceptance rates
    of drafts, speed by lookahead against the formulas. Qualcomm: quantisation, speculation, both.
    And how near to memory's bandwidth it comes. Takes tens of minutes; --per-kind makes it shorter.
    Code is run in a sandbox. The samplings are the papers', not those of the settings.
    """
    chosen = _settings(context, options)

    from assistant.bench.questions import read
    from tui.bench.output import check_writable, show
    from tui.bench.paper import Paper

    files = None if labels is None else [each for each in labels.split(",") if each != "none"]
    code = read(code_file) if code_file else []
    texts = read(summaries_file) if summaries_file else []
    summaries = [each for each in texts if each.reference] or texts
    check_writable(json_file, html_file)
    whole = Paper(chosen, code, summaries, files, per_kind, run_code)
    facts = whole.facts()
    with _run_file(run_path, facts) as run:
        report, figures = whole.run(run)
    show(report, facts, figures, json_file, html_file)


def _settings(context: click.Context, options: dict[str, Any]) -> "Settings":
    """Return the settings, also those that were given in front of the command."""
    from tui.cli import given_before_the_command

    typed = {name: value for name, value in options.items() if value is not None}
    return settings({**given_before_the_command(context.find_root()), **typed})


@bench.command()
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
@click.option("--html", "html_file", type=FILE, help="Write an HTML report, with a plot.")
@click.option("--json", "json_file", type=FILE, help="Write all figures as JSON.")
def compare(a: Path, b: Path, json_file: Path | None, html_file: Path | None) -> None:
    """Compare two reports that --json has written: B against A, question by question."""
    from assistant.bench.compare import load, report
    from tui.bench.output import check_writable, show

    check_writable(json_file, html_file)
    first, second = load(a), load(b)
    shown, differences = report(first, second)
    show(shown, second.facts, {"differences": differences}, json_file, html_file)


@bench.command()
@click.argument("run", type=FILE)
@click.option(
    "--machine",
    "names",
    multiple=True,
    metavar="NAME",
    help="2-core-q4, 2-core-f16, flat-gpu, or a JSON file with seconds by width: "
    '{"verify": {"1": 0.044, "4": 0.118}, "draft": {"1": 0.02}, "host_s": 0}. May be repeated.  '
    "[all three]",
)
@click.option("--systems", "spec", metavar="SPEC", help="What is predicted.  [the run's own]")
@click.option("--json", "json_file", type=FILE, help="Write all figures as JSON.")
def predict(run: Path, names: tuple[str, ...], spec: str | None, json_file: Path | None) -> None:
    """Say how fast the systems of a run would be on another machine.

    RUN is the file of a run of `specchat bench prompts`. Its answers are replayed with the very
    code that plans rounds; evaluations take the time of the machine's cost curve.
    """
    from assistant.bench import machines, systems
    from assistant.bench.answers import kept
    from assistant.bench.prediction import report
    from assistant.bench.runfile import load
    from tui.bench.output import check_writable, show

    check_writable(json_file)
    known = {machines.machine(name).name: machines.machine(name) for name in names}
    facts, results = load(run)
    settings_ = facts["settings"]
    ways = systems.parse(spec or ",".join(settings_["systems"]))
    shown, figures = report(
        [*kept(results)], ways, settings_["sources"], {"here": None, **(known or machines.PRESETS)}
    )
    show(shown, facts, {"predictions": figures}, json_file, None)


@contextmanager
def _peers(binary: Path | None, lineup: "Lineup") -> "Iterator[list[Server]]":
    """Have other programs ready, and end them."""
    from tempfile import TemporaryFile

    from assistant.bench.peers import servers

    if binary is None:
        yield []
        return
    lookaheads = [system.lookahead for system in lineup.systems]
    with TemporaryFile() as log, ExitStack() as started:
        found = servers(binary.absolute(), lineup.setup, lookaheads, log)
        for server in found:
            started.callback(server.close)
        yield found


@contextmanager
def _run_file(path: Path | None, facts: dict[str, Any]) -> "Iterator[RunFile]":
    """Open the file of a run; without a path, a new one among what can be made again."""
    from assistant.bench.runfile import RunFile
    from models.files.places import cache_dir

    if path is None:
        now = datetime.now().strftime("%Y%m%d-%H%M%S")
        path = cache_dir() / "bench" / f"{facts['command']}-{now}.jsonl"
    with closing(RunFile(path, facts)) as run:
        click.echo(safe(f"Results are kept in {path}"), err=True)
        yield run
