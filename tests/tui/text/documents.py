"""Random Markdown documents, in which anything may follow anything."""

import random
import re
from collections import Counter
from collections.abc import Iterator

BEGINNINGS = [
    "", "", "", "", "- ", "* ", "+ ", "1. ", "10. ", "7) ", "> ", ">> ", "# ", "### ", "    ",
    "\t", "  ", "   - ", "      1. ", "- - ", "> - ", "- > ", "1.", "-", "|", "- # ", "> 1. ",
    "\u200b", "- [ ] ",
]  # fmt: skip
PARTS = [
    "alpha", "beta", "2*3*4", "__init__", "_it was_", "**bold**", "**", "*", "_", "`", "`code`",
    "``", "~~x~~", "~~", "&amp;", "\\*", "\\", "<b>", "</b>", "<http://x.example>",
    "[a](http://b.example)", "[a](b \"c\")", "![a](b)", "[r]", "[r]: d", "http://x.example/_a_*b*",
    "$x_1$", "|", "\\|", "|", " ", "  ", "(", ")", "]", "#", "1.", "-", "重点", "é", ":", "!", "'",
    "***", "___", "```", "a*", "*b", "a_", "_b", "**c", "d**",
    "[x](y 'z')", "[x](<y z>)", "![x](<y z>)",
]  # fmt: skip
LINES = [
    "---", "***", "- - -", "===", "```", "```py", "~~~", "|-|-|", ":-:|-", "a|b", "1|2|3", "", "",
    "", "-", "#", ">", "1.", "\\[", "$$", "391.", "* * *", "<!--", "-->", "    ",
    "a|b\n-|-\n1|2|lost",
]  # fmt: skip


def documents(count: int, seed: int) -> Iterator[str]:
    """Yield texts in which anything may follow anything."""
    dice = random.Random(seed)
    for _ in range(count):
        lines = []
        for _ in range(dice.randint(1, 7)):
            if dice.random() < 0.35:
                lines.append(dice.choice(BEGINNINGS[:12]) * dice.randint(0, 1) + dice.choice(LINES))
            else:
                parts = (dice.choice(PARTS) + " " * dice.randint(0, 1) for _ in range(5))
                lines.append(dice.choice(BEGINNINGS) + "".join(parts))
        if any(map(str.strip, lines)):
            yield "\n".join(lines)


UNSEEN = re.compile(r"[\s\u200b\\*_~`#>|:+\[\]()•▪‣⭑◦▌\u2500-\u259f-]")


def seen(text: str) -> Counter[str]:
    """Count the characters that can be seen, but those that mark or draw."""
    return Counter(UNSEEN.sub("", text))
