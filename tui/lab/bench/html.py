"""A report as one HTML file that needs nothing else: no script, no font, no connection."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assistant.lab.bench.report import Plot, Report, ReportTable, Section
from tui.lab.bench.svg import series_colour, shown, svg

WORDS = (
    "ArS is autoregressive sampling, the usual way to decode: the target model is evaluated once "
    "for each token. SpS is speculative sampling: something cheaper proposes the next K tokens, "
    "and one evaluation of the target checks them all; answers keep the same distribution. "
    "model=4 is SpS with K = 4 tokens of the draft model, suffix copies from the conversation, "
    "and auto does what it measures to be fastest."
)
STYLE = Path(__file__).with_name("report.css")


def page(report: Report, facts: Mapping[str, Any]) -> str:
    """Return the file's text."""
    title = shown(report.title)
    body = "\n".join(part for section in report.sections for part in _section(section))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{STYLE.read_text("utf-8")}</style>
</head>
<body>
<header>
<h1>{title}</h1>
{"".join(f'<p class="about">{shown(line)}</p>' for line in about(facts))}
<p class="words">{shown(WORDS)}</p>
</header>
<main>
{body}
</main>
<footer>
<p class="about">Measured with specchat. Settings: {shown(_settings(facts))}</p>
</footer>
</body>
</html>
"""


def about(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was measured, and where, as lines of text."""
    for role, file in facts.get("files", {}).items():
        digest = f", sha256 {file['sha256'][:12]}…" if file.get("sha256") else ""
        yield f"{role}: {file['name']} ({file['size'] / 1e6:,.0f} MB{digest})"
    if machine := facts.get("machine"):
        memory = f"{machine['memory'] / 2**30:.0f} GiB"
        yield f"{machine['processor']}, {machine['cores']} cores, {memory}, {machine['system']}"
    yield ", ".join(f"{name} {version}" for name, version in facts.get("versions", {}).items())


def _settings(facts: Mapping[str, Any]) -> str:
    """Return what was asked for, without options left at their defaults."""
    settings = facts["settings"].items()
    return ", ".join(f"{name} {_setting(value)}" for name, value in settings if value is not None)


def _setting(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name} {_setting(item)}" for name, item in value.items()) + ")"
    if isinstance(value, list | tuple):
        return " ".join(map(_setting, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _section(section: Section) -> Iterator[str]:
    yield f"<section>\n<h2>{shown(section.title)}</h2>"
    yield from (f"<p>{shown(paragraph)}</p>" for paragraph in section.text)
    yield from map(_figure, section.plots)
    for table in section.tables:
        yield from _table(table)
    yield "</section>"


def _figure(plot: Plot) -> str:
    note = f'<p class="note">{shown(plot.note)}</p>' if plot.note else ""
    caption = f"<figcaption>{shown(plot.title)}</figcaption>"
    legend = _legend(plot) if len(plot.series) > 1 else ""
    return f"<figure>{caption}{legend}{_aside(plot.title, svg(plot))}{note}</figure>"


def _legend(plot: Plot) -> str:
    keys = "".join(
        f'<li class="{each.style}" style="color:{series_colour(i)}">'
        f"<span>{shown(each.name)}</span></li>"
        for i, each in enumerate(plot.series)
    )
    return f'<ul class="legend">{keys}</ul>'


def _table(table: ReportTable) -> Iterator[str]:
    yield f"<h3>{shown(table.title)}</h3>\n"
    yield _aside(table.title, "".join(_rows(table)))
    if table.note:
        yield f'<p class="note">{shown(table.note)}</p>'


def _rows(table: ReportTable) -> Iterator[str]:
    yield "<table>\n<thead><tr>"
    yield "".join(_cell("th", i, name, table.names) for i, name in enumerate(table.header))
    yield "</tr></thead>\n<tbody>"
    before = ""
    for row in table.rows:
        begins = table.names > 1 and before not in ("", row[0])
        yield '<tr class="first">' if begins else "<tr>"
        cells = ("", *row[1:]) if table.names > 1 and row[0] == before else row
        yield "".join(_cell("td", i, cell, table.names) for i, cell in enumerate(cells)) + "</tr>"
        before = row[0]
    yield "</tbody></table>"


def _aside(title: str, wide: str) -> str:
    """Return content that may be wider than the page; keys scroll it too."""
    label = f'role="region" tabindex="0" aria-label="{shown(title)}"'
    return f'<div class="scroll" {label}>{wide}</div>'


def _cell(tag: str, column: int, text: str, names: int) -> str:
    kind = ' class="name"' if column < names else ""
    return f"<{tag}{kind}>{shown(text)}</{tag}>"
