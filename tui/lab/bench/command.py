"""`specchat bench`: what speculation is worth with your pair, on your machine."""

import click

from tui.lab.bench.compare_command import compare
from tui.lab.bench.paper_command import paper
from tui.lab.bench.predict_command import predict
from tui.lab.bench.prompts_command import prompts
from tui.lab.bench.sweep_command import sweep


@click.group()
def bench() -> None:
    """Measure what speculation is worth with your pair, on your machine.

    Systems answer the same prompts together, a few tokens each in turn, so that the moods of a busy
    machine cancel; each has contexts of its own, which take memory. What is measured is kept at
    once: Ctrl-C stops, and the same command with --run FILE goes on.
    """


for command in (prompts, sweep, paper, compare, predict):
    bench.add_command(command)
