"""The details of the model under the cursor."""

import asyncio

from textual import work
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from models.catalog import GGUF
from models.files.model_file import ModelFile
from models.files.places import collapse_user, hub_cache, models_dir
from models.memory import Fit
from models.native import repacked
from tui.formatting import by_parts, duration, size
from tui.models.inventory import Advice, ModelEntry, ModelInventory, needed_files, purpose
from tui.models.model_list import SPEED, STYLES, fit_width
from tui.safe import safe

UNKNOWN = "not measured yet"
LINE_BYTES_PER_S = 12_500_000
"""Speed of the 100 Mbit/s connection for which the time of a download is stated."""


class ModelDetails(Widget):
    """Show an entry in full."""

    DEFAULT_CSS = """
    ModelDetails { height: 7; padding: 0 1; border-top: solid $border-blurred; }
    """

    entry: reactive[ModelEntry | None] = reactive[ModelEntry | None](None)
    advice: reactive[Advice | None] = reactive[Advice | None](None)

    def __init__(self, inventory: ModelInventory) -> None:
        super().__init__()
        self._inventory = inventory

    def show(self, entry: ModelEntry | None) -> None:
        """Show an entry; the advice on it is computed on a thread."""
        if entry is None or self.entry is None or entry.key != self.entry.key:
            self.advice = None
        self.entry = entry
        if entry and entry.here and not entry.is_unusable:
            self._advise(entry, entry.here)

    @work(exclusive=True, group="advice")
    async def _advise(self, entry: ModelEntry, model: ModelFile) -> None:
        advice = await asyncio.to_thread(self._inventory.advise, model)
        if entry == self.entry:  # the cursor may have moved
            self.advice = advice

    def render(self) -> Content:
        """Draw what is known of the entry."""
        entry, width = self.entry, self.content_size.width
        if entry is None:
            return Content("")
        if isinstance(entry.model, ModelFile):
            return Content("\n").join(_here(entry, entry.model, self.advice, width))
        return Content("\n").join(_listed_lines(entry, entry.model, width, self._inventory.offline))


def _here(entry: ModelEntry, model: ModelFile, advice: Advice | None, width: int) -> list[Content]:
    use, copied = purpose(model.name), repacked.copied_bytes(model.path)
    parts = [text for text in (_speed(entry, width), use, model.store) if text]
    if header := model.header:
        parts += [text for text in (header.scale, header.file_type) if text]
        parts += [f"context {header.n_ctx_train:,}"] if header.n_ctx_train else []
    parts += [f"{size(copied)} more for a copy that loads at once"] if copied else []
    muted, path = "$foreground-muted", fit_width(collapse_user(model.path), width).rstrip()
    title = Content.assemble((safe(model.name), "bold"), "  ", (safe(" · ".join(parts)), muted))
    lines = [title, Content.styled(safe(path), muted)]
    if model.unusable_reason:
        reason = safe(f"It cannot be used: {model.unusable_reason}")
        return [*lines, Content.styled(reason, "$text-error")]
    if advice is not None:
        lines.append(Content.assemble(("To answer  ", "bold"), safe(advice.reason)))
        lines.append(_fit_line(advice.fit, bool(advice.draft)))
        lines.append(Content.assemble(("Here       ", "bold"), str(advice.expected or UNKNOWN)))
    if entry.verdict is not None and not entry.now:
        verdict = entry.verdict
        answer = f"{'yes' if verdict.serves else 'no'}, {verdict.reason}"
        lines.append(Content.assemble(("To guess   ", "bold"), safe(answer)))
    return lines


def _speed(entry: ModelEntry, width: int) -> str:
    """Return the expected speed where the list is too narrow to show it."""
    expected = entry.expected if width <= SPEED else None
    return f"{expected.tokens_per_s} tokens/s" if expected else ""


def _fit_line(fit: Fit | None, both: bool) -> Content:
    """Return a sentence on the memory of one model or both."""
    if fit is None:
        return Content("")
    subject = "Both take" if both else "It takes"
    text = f"{subject} about {size(fit.needed)} of memory, {size(fit.available)} is available: "
    return Content.assemble(text, (fit.verdict, STYLES[fit.verdict]))


def _listed_lines(entry: ModelEntry, model: GGUF, width: int, offline: bool) -> list[Content]:
    files = needed_files(model)
    total = sum(file.size for file in files)
    about = "" if all(file.tested for file in files) else "about "
    folder = hub_cache() if model.repo else models_dir()
    context = f"context {model.context:,}" if model.context else ""
    parts = _speed(entry, width), purpose(model.name), model.licence, context, model.file
    title = "  " + by_parts(" · ".join(filter(None, parts)), width - len(model.name) - 2)
    also = f" with {files[1].name}" if files[1:] else ""
    cost = f"{about}{size(total)}, {duration(total / LINE_BYTES_PER_S)} at 100 Mbit/s, into "
    where = fit_width(collapse_user(folder), max(20, width - len(cost))).rstrip()
    keys = [
        Content.assemble(("Enter  ", "bold"), f"fetches it{also} and uses it"),
        Content.assemble(("Ctrl+F ", "bold"), "only fetches it"),
    ]
    if offline:
        keys = [Content.styled("Nothing is fetched offline.", "$text-warning")]
    return [
        Content.assemble((model.name, "bold"), (safe(title), "$foreground-muted")),
        Content.styled(safe(f"{cost}{where}"), "$foreground-muted"),
        _fit_line(entry.fit, False),
        Content.assemble(("Here   ", "bold"), str(entry.expected or UNKNOWN)),
        *keys,
    ]
