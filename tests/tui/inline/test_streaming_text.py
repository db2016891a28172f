"""`StreamingText`: each line of an answer is returned once, whatever the widths."""

import random

import pytest

from assistant.events import Origin
from tests.patience import examples
from tui.inline.streaming_text import StreamingText
from tui.text.text_layout import TextLayout
from tui.text.token_styles import COLOURED

BLOCKS = (
    "# A heading", "A paragraph of words " * 9, "- one\n- two of **bold** words " + "and more " * 9,
    "1. first\n2. second", "> quoted " * 12, "A line\nand another, `code`",
)  # fmt: skip


def squeezed(lines: list[str]) -> str:
    """All that is written, without blanks and frames, which depend on the width."""
    return "".join("".join(lines).replace("▌", "").split())


@pytest.mark.parametrize("seed", range(examples(60)))
def test_however_it_comes_and_whatever_the_widths_each_word_is_returned_once(seed: int) -> None:
    dice = random.Random(seed)
    text = "\n\n".join(dice.choices(BLOCKS, k=8))
    whole = TextLayout(80)
    whole.add([(text, Origin.TARGET)])
    answer = StreamingText(80, COLOURED, ansi=False, dark=True)
    given, returned = 0, list[str]()
    while given < len(text):
        cut = given + dice.randint(1, 40)
        answer.add([(text[given:cut], dice.choice([Origin.TARGET, Origin.DRAFT]))])
        given = cut
        if dice.random() < 0.3:
            answer.resize(dice.randint(20, 120))
        if dice.random() < 0.7:
            returned += [line.plain for line in answer.finished()]
        opened = [line.plain for line in answer.open_lines(1000)]
        so_far = TextLayout(80)
        so_far.add([(text[:given], Origin.TARGET)])
        known = squeezed([line.content.plain for line in so_far.lines])
        assert squeezed([*returned, *opened]) == known
    returned += [line.plain for line in answer.finished(over=True)]
    assert squeezed(returned) == squeezed([line.content.plain for line in whole.lines])
    assert not answer.finished(over=True)
