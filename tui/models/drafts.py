"""What each model here is worth as a draft for a target, as values and as lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.drafts import DraftVerdict
from models.files.model_file import ModelFile
from models.memory import of_pair
from tui.models.facts import CONTEXT, remark, short
from tui.models.inventory import Advice, ModelInventory
from tui.widgets.text_figures import size

if TYPE_CHECKING:
    from assistant.engine.expectation import Expectation


@dataclass(frozen=True, slots=True)
class DraftFacts:
    """A model that is here, as a draft for a target."""

    draft: str
    store: str
    size: int
    serves: bool
    reason: str
    chosen: str | None  # why it is the best
    memory_of_both_at_8192: int | None
    expected: "Expectation | None"

    def lines(self) -> Iterator[str]:
        """Say what it is worth, and why."""
        answer = "best" if self.chosen else "yes" if self.serves else "no"
        yield f"{answer:<5} {short(self.draft)}  {size(self.size)}"
        reasons = [self.reason]
        if self.serves and self.memory_of_both_at_8192:
            both = f"{size(self.memory_of_both_at_8192)} of memory for both"
            reasons += [both, str(self.expected or "not measured here yet (specchat tune)")]
        yield from remark("; ".join([*reasons, *filter(None, [self.chosen])]), "      ")


def drafts(inventory: ModelInventory, target: ModelFile) -> Sequence[DraftFacts]:
    """Return what each model is worth as a draft for a target, those that serve first."""
    advice, verdicts = inventory.advise(target), inventory.verdicts(target)
    others = [model for model in inventory.models if model is not target]
    found = [_draft(inventory, target, each, verdicts[each.path], advice) for each in others]
    return sorted(found, key=lambda each: (not each.chosen, not each.serves))


def _draft(
    inventory: ModelInventory,
    target: ModelFile,
    draft: ModelFile,
    verdict: DraftVerdict,
    advice: Advice,
) -> DraftFacts:
    serves = verdict.serves
    both = of_pair(target, draft, CONTEXT)
    return DraftFacts(
        draft.reference,
        draft.store,
        draft.size,
        serves,
        verdict.reason,
        advice.reason if draft is advice.draft else None,
        both.needed if serves and both else None,
        inventory.expect(target, draft) if serves else None,
    )
