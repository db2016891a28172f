"""A report as one HTML file that needs nothing else: no script, no font, no connection."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from assistant.lab.bench.report import Plot, Report, Section, Table
from tui.lab.bench.svg import series_colour, svg
from tui.safe import safe

WORDS = (
    "ArS is autoregressive sampling, the usual way to decode: the target model is evaluated once "
    "for each token. SpS is speculative sampling: something cheaper proposes the next K tokens, "
    "and one evaluation of the target checks them all; answers keep the same distribution. "
    "model=4 is SpS with K = 4 tokens of the draft model, suffix copies from the conversation, "
    "and auto does what it measures to be fastest."
)
STYLE = """
:root { color-scheme: light dark;
  --ink: #1d2733; --soft: #5b6b7c; --line: #d5dce4; --ground: #ffffff; --card: #f6f8fa;
  --shade: #1d273338;
  --s0: #2563a8; --s1: #c2571a; --s2: #2b8a5a; --s3: #8b4fb3; --s4: #b3324f; --s5: #6b7a16;
  --s6: #13808f; --s7: #7a5c3e; }
@media screen and (prefers-color-scheme: dark) { :root {
  --ink: #e4eaf1; --soft: #9aabbd; --line: #33404e; --ground: #12181f; --card: #1a222b;
  --shade: #e4eaf138;
  --s0: #6ea8e8; --s1: #ee9a5e; --s2: #62c796; --s3: #c394e6; --s4: #ee7f98; --s5: #b9c95a;
  --s6: #5cc6d4; --s7: #c9a783; } }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.5rem 4rem; background: var(--ground);
  color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.9rem; margin: 0 0 .3rem; } h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
.about { color: var(--soft); margin: 0; font-size: .92rem; overflow-wrap: anywhere; }
.words { margin: 1.2rem 0 0; }
.scroll { overflow-x: auto; background: linear-gradient(to right, var(--ground) 40%, transparent)
  0 0 / 3rem 100%, linear-gradient(to left, var(--ground) 40%, transparent) 100% 0 / 3rem 100%,
  linear-gradient(to right, var(--shade), transparent) 0 0 / 1rem 100%,
  linear-gradient(to left, var(--shade), transparent) 100% 0 / 1rem 100%;
  background-repeat: no-repeat; background-attachment: local, local, scroll, scroll; }
figure .scroll { --ground: var(--card); }
table { border-collapse: collapse; width: 100%; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
th { text-align: right; color: var(--soft); font-weight: 600; border-bottom: 2px solid var(--line);
  padding: .3rem .6rem; white-space: nowrap; }
td { text-align: right; padding: .28rem .6rem; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th.name, td.name { text-align: left; }
tr.first td { border-top: 2px solid var(--line); }
.note { color: var(--soft); font-size: .85rem; margin: .4rem 0 0; }
figure { margin: 1.4rem 0; background: var(--card); border-radius: .6rem; padding: 1rem; }
figcaption { font-weight: 600; margin-bottom: .4rem; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.2rem; list-style: none; margin: 0;
  padding: 0; font-size: .85rem; overflow-wrap: anywhere; }
.legend li::before { content: ""; display: inline-block; width: 1.4em; margin-right: .5em;
  vertical-align: middle; border-top: 2px solid; }
.legend .dashed::before { border-top-style: dashed; }
.legend .bars::before { width: 0; border: .42em solid; border-radius: 2px; }
.legend .points::before { width: 0; border: .27em solid; border-radius: 50%; }
.legend span { color: var(--soft); }
svg { display: block; width: 100%; min-width: 38rem; height: auto; }
svg text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--soft); }
svg text.value { fill: var(--ink); paint-order: stroke; stroke: var(--card); stroke-width: 4px;
  stroke-linejoin: round; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
@media (max-width: 40rem) { body { padding: 1.2rem 1rem 3rem; } h1 { font-size: 1.5rem; } }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } svg { min-width: 0; }
  h2, h3 { break-after: avoid; } figure, tr, .note { break-inside: avoid; }
  .scroll { overflow: visible; background: none; } table { font-size: 8.5pt; }
  th, td { padding-left: .2rem; padding-right: .2rem; } }
"""


def page(report: Report, facts: Mapping[str, Any]) -> str:
    """Return the file's text."""
    title = _text(report.title)
    body = "\n".join(part for section in report.sections for part in _section(section))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>{title}</h1>
{"".join(f'<p class="about">{_text(line)}</p>' for line in about(facts))}
<p class="words">{_text(WORDS)}</p>
</header>
<main>
{body}
</main>
<footer>
<p class="about">Measured with specchat. Settings: {_text(_settings(facts))}</p>
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
    """Return what was asked for; what was left open is not told."""
    settings = facts["settings"].items()
    return ", ".join(f"{name} {_shown(value)}" for name, value in settings if value is not None)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name} {_shown(item)}" for name, item in value.items()) + ")"
    if isinstance(value, list | tuple):
        return " ".join(map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _section(section: Section) -> Iterator[str]:
    yield f"<section>\n<h2>{_text(section.title)}</h2>"
    yield from (f"<p>{_text(paragraph)}</p>" for paragraph in section.text)
    yield from map(_figure, section.plots)
    for table in section.tables:
        yield from _table(table)
    yield "</section>"


def _figure(plot: Plot) -> str:
    note = f'<p class="note">{_text(plot.note)}</p>' if plot.note else ""
    caption = f"<figcaption>{_text(plot.title)}</figcaption>"
    legend = _legend(plot) if len(plot.series) > 1 else ""
    return f"<figure>{caption}{legend}{_aside(plot.title, svg(plot))}{note}</figure>"


def _legend(plot: Plot) -> str:
    keys = "".join(
        f'<li class="{each.style}" style="color:{series_colour(i)}">'
        f"<span>{_text(each.name)}</span></li>"
        for i, each in enumerate(plot.series)
    )
    return f'<ul class="legend">{keys}</ul>'


def _table(table: Table) -> Iterator[str]:
    yield f"<h3>{_text(table.title)}</h3>\n"
    yield _aside(table.title, "".join(_rows(table)))
    if table.note:
        yield f'<p class="note">{_text(table.note)}</p>'


def _rows(table: Table) -> Iterator[str]:
    yield "<table>\n<thead><tr>"
    yield "".join(_cell("th", i, name, table.names) for i, name in enumerate(table.header))
    yield "</tr></thead>\n<tbody>"
    before = ""
    for row in table.rows:
        begins = table.names > 1 and before not in ("", row[0])
        yield '<tr class="first">' if begins else "<tr>"
        shown = ("", *row[1:]) if table.names > 1 and row[0] == before else row
        yield "".join(_cell("td", i, cell, table.names) for i, cell in enumerate(shown)) + "</tr>"
        before = row[0]
    yield "</tbody></table>"


def _aside(title: str, wide: str) -> str:
    """Return what may be wider than the page; keys move it too."""
    label = f'role="region" tabindex="0" aria-label="{_text(title)}"'
    return f'<div class="scroll" {label}>{wide}</div>'


def _cell(tag: str, column: int, text: str, names: int) -> str:
    kind = ' class="name"' if column < names else ""
    return f"<{tag}{kind}>{_text(text)}</{tag}>"


def _text(text: str) -> str:
    return escape(safe(text))
