"""One line of the list of models, in columns that fit the width."""

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from models.catalog import GGUF, HEADS, PAIRS, draft_for
from models.files.model_file import ModelFile
from models.memory import Fit
from tui.models.inventory import ModelEntry
from tui.safe import safe
from tui.widgets.text_figures import size

SIZE, WEIGHTS, STORE = 8, 8, 13
VERDICT = len("too large")
STYLES = {"fits": "$text-success", "tight": "$text-warning", "too large": "$text-error"}
NARROW, WIDE = 60, 110


def matches(entry: ModelEntry, text: str) -> bool:
    """Say whether every word of a filter is somewhere in what is known of a model."""
    model = entry.model
    known = [model.name, _weights(model), _place(model), entry.now]
    if isinstance(model, ModelFile):
        known.append(str(model.path))
    return all(word in " ".join(known).lower() for word in text.lower().split())


def row(entry: ModelEntry, width: int) -> Content:
    """Return the line of one model."""
    model = entry.model
    cells = [
        Content.styled(fitted(model.name, _name_width(width)), "bold" if entry.now else ""),
        Content.styled(f"{size(model.size) if model.size else '?':>{SIZE}}", "$foreground-muted"),
    ]
    if width >= NARROW:
        cells.append(Content.styled(fitted(_weights(model), WEIGHTS), "$foreground-muted"))
    if width >= WIDE:
        cells.append(Content.styled(fitted(_place(model), STORE), "$foreground-muted"))
    cells.append(_memory(entry.fit, width))
    used = sum(cell.cell_length + 2 for cell in cells)
    cells.append(_role(entry, max(0, width - used)))
    return Content("  ").join(cells)


def heading(width: int) -> Content:
    """Return the titles of the columns."""
    place = [f"{'Where':<{STORE}}"] if width >= WIDE else []
    fits = f"{'Memory':<{_memory_width(width)}}"
    titles = [f"{'Model':<{_name_width(width)}}", f"{'Size':>{SIZE}}"]
    titles += [f"{'Weights':<{WEIGHTS}}"] if width >= NARROW else []
    return Content.styled("  ".join([*titles, *place, fits, "Role"]), "$foreground-muted bold")


def fitted(text: str, width: int) -> str:
    """Return a text in just so many cells; the middle of a longer one is left out."""
    text = safe(text)
    if cell_len(text) > width and text.isascii():
        head = (width - 1) // 3
        return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
    return set_cell_size(text, width)


def _name_width(width: int) -> int:
    others = [SIZE, _memory_width(width)]
    others += [WEIGHTS] if width >= NARROW else []
    others += [STORE] if width >= WIDE else []
    left = width - sum(other + 2 for other in others) - 2  # for the name and the role
    return max(8, min(48, left * 11 // 20))


def _weights(model: ModelFile | GGUF) -> str:
    if isinstance(model, ModelFile):
        return (model.header and model.header.file_type) or "?"
    return model.file.removesuffix(".gguf").rpartition("-")[2].upper()


def _place(model: ModelFile | GGUF) -> str:
    return model.store if isinstance(model, ModelFile) else model.licence


def _memory(fit: Fit | None, width: int) -> Content:
    if fit is None:
        return Content(" " * _memory_width(width))
    verdict = Content.styled(f"{fit.verdict:<{VERDICT}}", STYLES[fit.verdict])
    return Content(f"{size(fit.needed):>{SIZE}} ") + verdict if width >= WIDE else verdict


def _memory_width(width: int) -> int:
    return SIZE + 1 + VERDICT if width >= WIDE else VERDICT


def _role(entry: ModelEntry, width: int) -> Content:
    text, style = role(entry)
    return Content.styled(safe(text), style).truncate(width, ellipsis=True)


def role(entry: ModelEntry) -> tuple[str, str]:
    """Return what a model is or could be, and how to show that."""
    if isinstance(entry.model, GGUF):
        if entry.verdict is not None:
            return "draft for your target", "$text-success"
        return _listed_role(entry.model), "$foreground-muted"
    if entry.now:
        return f"● {entry.now} now", "bold $text-accent"
    if entry.model.refusal:
        return f"✗ {entry.model.refusal}", "$text-error"
    if entry.verdict is None:
        return "target", ""
    if entry.verdict.serves:
        return "target, or draft", "$text-success"
    return f"target only: {entry.verdict.reason}", ""


def _listed_role(model: GGUF) -> str:
    """Return what the catalogue lists a model as."""
    if model.heads:
        return f"target + {HEADS}"
    if draft := draft_for(model):
        return f"target + {draft.name}"
    return "target, or draft" if any(pair.draft is model for pair in PAIRS) else "target"
