"""`specchat bench prompts`, `sweep` and `paper`: what has the engine answer, side by side."""

import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from tui.lab.bench.options import FILE, output, per_kind, repeats, settings
from tui.shell.options import shared


@click.command()
@click.argument("file", required=False, type=FILE)
@click.option(
    "--systems",
    "spec",
    metavar="SPEC",
    help="Systems to compare, separated by commas: ars, auto, sps[=K], or sources and K, as in "
    "model=4 "
    "or suffix+model=3; after TARGET: with another target or quantisation, as in f16:ars.  "
    "[ars,sps=4,auto]",
)
@per_kind
@repeats
@click.option(
    "--predict/--no-predict", default=True, help="Compare with the simulator's prediction."
)
@click.option(
    "--llama-server",
    "server",
    type=FILE,
    help="Also ask llama.cpp's server, with and without the draft; it is started for this, and "
    "listens only on 127.0.0.1.",
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

    FILE has JSON lines in the format of HumanEval or of Spec-Bench (only the first turn of
    conversations is asked). Without it, specchat's own prompts are asked: code, chat, summaries,
    questions, maths, translation and editing.
    """
    chosen = settings(context, options)

    from assistant.lab.bench import prompts_report as reporting
    from assistant.lab.bench import systems
    from assistant.lab.bench.llama_server import servers
    from assistant.lab.bench.questions import first_of_each, read, shipped
    from tui.lab.bench.lineup import answers, line_up
    from tui.lab.bench.output import brief, check_writable, show
    from tui.lab.bench.running import measured

    ways = systems.parse(spec or systems.DEFAULT)
    questions = first_of_each(read(file) if file else shipped("tasks"), per_kind)
    check_writable(json_file, html_file)
    lineup = line_up(ways, chosen)
    more = {"llama_server": str(server)} if server else {}
    facts = lineup.facts("prompts", questions, repeats=repeats, predict=predict, **more)
    with ExitStack() as started:
        lookaheads = [way.lookahead for way in ways]
        others = server and servers(server.absolute(), lineup.setup, lookaheads)
        peers = started.enter_context(others) if others else []
        found = measured(run_path, facts, answers(lineup, questions, repeats, predict, peers))
    compared = [*ways, *(systems.System(peer.name, "ars") for peer in peers)]
    report, standings = reporting.report(found, compared, chosen.draft_sources)
    show(report, facts, {"standings": standings, "answers": brief(found)}, json_file, html_file)


@click.command()
@click.argument("file", required=False, type=FILE)
@click.option(
    "--lookaheads",
    metavar="LIST",
    default="1,2,3,4,5,6,8",
    show_default=True,
    help="The lookaheads to try, besides ArS.",
)
@per_kind
@repeats
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
    chosen = settings(context, options)

    from assistant.lab.bench import sweep_report as reporting
    from assistant.lab.bench import systems
    from assistant.lab.bench.questions import first_of_each, read, shipped
    from tui.lab.bench.lineup import answers, line_up
    from tui.lab.bench.output import brief, check_writable, show
    from tui.lab.bench.running import measured

    ways = systems.sweep((chosen.source or "model").replace(",", "+"), lookaheads)
    usual = [each for each in shipped("tasks") if each.kind in ("code", "summary")]
    asked = read(file) if file else usual
    questions = first_of_each(asked, per_kind)
    check_writable(json_file, html_file)
    lineup = line_up(ways, chosen)
    facts = lineup.facts("sweep", questions, repeats=repeats)
    found = measured(run_path, facts, answers(lineup, questions, repeats, predict=False))
    report, steps = reporting.report(found, ways)
    show(report, facts, {"steps": steps, "answers": brief(found)}, json_file, html_file)


def split(context: click.Context, parameter: click.Parameter, value: str | None) -> list[str]:
    """Return the words of a command as a shell would read them; none if it is not given."""
    try:
        words = shlex.split(value or "")
    except ValueError as error:
        raise click.BadParameter(f"{value!r} has {str(error).lower()}.") from error
    if value is not None and not words:
        raise click.BadParameter("it is empty; name a command.")
    return words


@click.command()
@click.option("--code", "code_file", type=FILE, help="Problems in HumanEval's format.")
@click.option("--summaries", "summaries_file", type=FILE, help="Texts in Spec-Bench's format.")
@click.option(
    "--files",
    "labels",
    metavar="LIST",
    help="Other quantisations or files of the target to compare with, as in f16,q8_0; none.  "
    "[f16, bf16 and mxfp4 where they are here]",
)
@per_kind
@click.option(
    "--runner",
    metavar="COMMAND",
    callback=split,
    help="Run the answers' code with this: a command that runs the Python program on its standard "
    "input, such as 'podman run --rm -i --network none python:3 python -'.  [code is not run]",
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
    runner: list[str],
    run_path: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    **options: Any,
) -> None:
    """Reproduce the tables and figures of the papers, with your pair on your machine.

    Chen et al. 2023: scores and speed, the lookahead sweep. Leviathan et al. 2023: acceptance rates
    of drafts, speed by lookahead against the formulas. Qualcomm: quantisation, speculation, both.
    It also shows how close to the memory bandwidth decoding comes. Takes tens of minutes;
    --per-kind makes it shorter. Only --runner runs code from answers; without it their texts are
    compared. Sampling follows the papers, not your settings.
    """
    chosen = settings(context, options)

    from assistant.lab.bench.questions import read
    from tui.lab.bench.output import check_writable, show
    from tui.lab.bench.paper import Paper
    from tui.lab.bench.running import run_file

    files = None if labels is None else [each for each in labels.split(",") if each != "none"]
    code = read(code_file) if code_file else []
    texts = read(summaries_file) if summaries_file else []
    summaries = [each for each in texts if each.reference] or texts
    check_writable(json_file, html_file)
    whole = Paper(chosen, code, summaries, files, per_kind, runner)
    facts = whole.facts()
    with run_file(run_path, facts) as run:
        report, figures = whole.run(run)
    show(report, facts, figures, json_file, html_file)
