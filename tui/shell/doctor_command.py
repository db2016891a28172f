"""`specchat doctor`: what works on this machine, and the exact command that mends the rest."""

import json
import sys
from dataclasses import asdict

import click

from tui.safe import safe
from tui.shell.health_checks import Finding, checkup

MARKS = {"ok": ("✓", "green"), "note": ("·", "yellow"), "bad": ("✗", "red")}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(as_json: bool) -> None:
    """See what works on this machine, and how to mend the rest. Changes nothing."""
    findings = checkup()
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings]))
    else:
        for finding in findings:
            _print(finding)
    if any(finding.verdict == "bad" for finding in findings):
        sys.exit(3)


def _print(finding: Finding) -> None:
    mark, colour = MARKS[finding.verdict]
    click.echo(f"{click.style(mark, colour)} {finding.topic:<12} {safe(finding.text)}")
    if finding.mend:
        click.echo(f"{'':14} mend it with:  {safe(finding.mend)}")
