"""`specchat bench`: the gain of speculation with your pair, on your machine."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from assistant.lab.bench import plan
from assistant.request import Sampling
from assistant.settings.settings import Settings
from assistant.system import System
from tui.shell import options as shell

FILE = click.Path(path_type=Path, dir_okay=False)
SPEC = (
    "Systems to compare, separated by commas: ars, auto, sps[=K], or sources and K, as in "
    "model=4 or suffix+model=3; after ENGINE: or TARGET: with another engine, target or "
    "quantisation, as in llama:ars or f16:ars."
)


@click.group()
@click.pass_context
def bench(context: click.Context) -> None:
    """Measure what speculation is worth with your pair, on your machine.

    Systems answer the same prompts together, a few tokens each in turn, so changes in the machine's
    speed cancel out. Each has its own contexts, which take memory.
    """
    # Options typed before a command apply to it.
    context.default_map = {str(context.invoked_subcommand): context.default_map}


def measuring_command(command: shell.Command) -> shell.Command:
    """Register a command of the group, with the shared options."""
    count = shell.NumberParameter(1)
    for option in (
        shell.shared_options,
        click.option("--markdown", is_flag=True, help="Print the tables as Markdown."),
        click.option("--json", "json_file", type=FILE, help="Write all figures as JSON."),
        click.option("--per-kind", type=count, metavar="N", help="Ask N of each kind only."),
    ):
        command = option(command)
    bench.command()(command)
    return command


def comparing_command(command: shell.Command) -> shell.Command:
    """Register a command that asks the questions in a file, or its own."""
    count = shell.NumberParameter(1, 100)
    repeats = click.option("--repeats", type=count, default=1, help="Ask everything N times.")
    file = click.argument("file", required=False, type=FILE)
    return measuring_command(repeats(file(command)))


def compare(
    settings: Settings,
    systems: Sequence[System],
    questions: Sequence[plan.Question],
    sampling: Sampling,
    options: dict[str, Any],
    *references: Mapping[str, str],
) -> None:
    """Have the systems answer the questions, and print the tables of the command."""
    from assistant.lab.bench import reports
    from tui.lab.bench_session import measure

    selected = plan.first_of_each(questions, options["per_kind"])
    order = plan.interleave(selected, systems, sampling, options["repeats"], settings.seed)
    report = getattr(reports, str(click.get_current_context().info_name))  # of the same name
    measure(settings, systems, order, lambda runs: report(runs, systems, *references), options)


@comparing_command
@click.option(
    "--systems", "spec", metavar="SPEC", default=plan.DEFAULT, show_default=True, help=SPEC
)
def prompts(file: Path | None, spec: str, **options: Any) -> None:
    """Answer prompts with every system, and compare speeds.

    FILE has JSON lines in the format of HumanEval or of Spec-Bench (only the first turn of
    conversations is asked). Without it, specchat's own prompts are asked: code, chat, summaries,
    questions, maths, translation and editing.
    """
    settings, systems = shell.settings(options), plan.parse_systems(spec)
    questions = plan.questions_of(file) if file else plan.bundled("tasks")
    compare(settings, systems, questions, settings.sampling, options)


@comparing_command
@click.option("--systems", "spec", metavar="SPEC", default="ars,auto", show_default=True, help=SPEC)
def infill(file: Path | None, spec: str, **options: Any) -> None:
    """Fill gaps in code as for an editor: how often it is right, and how fast.

    FILE has JSON lines in the format of HumanEval-Infilling. Without it, gaps in specchat's own
    files of six languages are filled. The answer is the likeliest text, of 24 tokens at most.
    """
    settings, systems = shell.settings(options), plan.parse_systems(spec)
    gaps = plan.questions_of(file) if file else plan.bundled("gaps")
    middles = {gap.name: gap.reference for gap in gaps if gap.suffix is not None and gap.reference}
    if len(middles) < len(gaps):
        raise click.UsageError(f"{file} has lines without a suffix and a canonical_solution.")
    compare(settings, systems, gaps, plan.SAMPLINGS[plan.GREEDY], options, middles)


@comparing_command
@click.option(
    "--lookaheads",
    metavar="LIST",
    default="1,2,3,4,5,6,8",
    show_default=True,
    help="The lookaheads to try, besides ArS.",
)
def sweep(file: Path | None, lookaheads: str, **options: Any) -> None:
    """Try lookaheads: time for 128 tokens, tokens per round, time of a round.

    That is figure 1 of Chen et al. 2023, for a code and a summarisation task, or for the prompts in
    FILE. Proposals are the draft model's; --source names another source.
    """
    settings = shell.settings(options)
    systems = plan.sweep_systems((settings.source or "model").replace(",", "+"), lookaheads)
    bundled = [task for task in plan.bundled("tasks") if task.kind in ("code", "summary")]
    questions = plan.questions_of(file) if file else bundled
    compare(settings, systems, questions, settings.sampling, options)


@measuring_command
@click.option("--code", type=FILE, help="Functions to complete, in HumanEval's format.")
@click.option("--summaries", type=FILE, help="Texts in Spec-Bench's format.")
@click.option(
    "--files",
    metavar="LIST",
    help="Other quantisations or files of the target to compare with, as in f16,q8_0, or none.  "
    "[f16, bf16 and mxfp4 where they are here]",
)
def paper(
    code: Path | None,
    summaries: Path | None,
    files: str | None,
    per_kind: int | None,
    **options: Any,
) -> None:
    """Reproduce the tables of the papers, with your pair on your machine.

    Chen et al. 2023: scores and speed, the lookahead sweep. Leviathan et al. 2023: acceptance rates
    of drafts, speed by lookahead against the formulas. Qualcomm: quantisation, speculation, both.
    Takes tens of minutes; --per-kind makes it shorter. Sampling follows the papers, not your
    settings. No code from answers is run.
    """
    from assistant.lab.bench.reports import tables
    from tui.lab.bench_session import installed_quantisations, measure

    settings = shell.settings(options | {"seed": None})  # with a seed, SpS is not the papers'
    texts = plan.questions_of(summaries) if summaries else plan.bundled("summaries")
    references = {text.name: text.reference for text in texts if text.reference}
    if not references:
        raise click.UsageError(f"{summaries} has no reference summary to compare with.")
    scored = [text for text in texts if text.reference]
    tasks = [*scored, *(plan.questions_of(code) if code else plan.bundled("code"))]
    named = [file for file in (files or "").split(",") if file != "none"]
    labels = installed_quantisations(settings) if files is None else named
    systems, mixed = plan.paper_systems(labels), plan.first_of_each(plan.bundled("tasks"), 1)
    order = plan.paper_questions(plan.first_of_each(tasks, per_kind), mixed, systems)
    measure(settings, systems, order, lambda runs: tables(runs, systems, references), options)
