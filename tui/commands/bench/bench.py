"""`specchat bench`: what speculation is worth with your pair, on your machine."""

import click

from tui.commands.bench.compare import compare
from tui.commands.bench.paper import paper
from tui.commands.bench.predict import predict
from tui.commands.bench.prompts import prompts
from tui.commands.bench.sweep import sweep


@click.group()
def bench() -> None:
    """Measure what speculation is worth with your pair, on your machine.

    Systems answer the same prompts together, a few tokens each in turn, so that the moods of a busy
    machine cancel; each has contexts of its own, which take memory. What is measured is kept at
    once: Ctrl-C stops, and the same command with --run FILE goes on.
    """


for command in (prompts, sweep, paper, compare, predict):
    bench.add_command(command)
