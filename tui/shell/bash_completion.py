"""Completion in bash, for which the colons in the names of models end a word."""

import os

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    split_arg_string,
)
from click.shell_completion import shell_complete as complete

__all__ = ["complete"]


@add_completion_class
class Bash(BashComplete):
    """Take the line as it was typed, and answer with what goes behind the last colon."""

    source_template = BashComplete.source_template.replace(
        "$(env ", '$(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_BREAKS="$COMP_WORDBREAKS" '
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is being typed, and that one."""
        line = os.environ.get("COMP_LINE")
        if line is None:
            return super().get_completion_args()
        words = split_arg_string(line)
        return (words[1:], "") if line[-1:].isspace() else (words[1:-1], "".join(words[1:][-1:]))

    def format_completion(self, item: CompletionItem) -> str:
        """Return what bash puts in place of the word as it sees it."""
        typed = self.get_completion_args()[1]
        if item.type == "plain" and ":" in typed and ":" in os.environ.get("COMP_BREAKS", ""):
            kept = len(typed.rpartition(":")[0]) + 1
            item = CompletionItem(item.value[kept:], item.type)
        return super().format_completion(item)
