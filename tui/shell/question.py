"""What `specchat ask` is asked: the question and the form of its answer, from what was given."""

import sys
from pathlib import Path

from assistant.request import AnswerForm, FormKind
from models.errors import UsageError
from tui.chat.prompt.attachments import decoded, joined, read

STDIN = Path("-")


def form_of(schema: Path | None, regex: str | None, grammar: Path | None) -> AnswerForm | None:
    """Return the form that is asked for, if any is.

    Raises:
        UsageError: several are, or its file is no text.
    """
    kinds: tuple[tuple[FormKind, Path | str | None], ...] = (
        ("schema", schema),
        ("regex", regex),
        ("grammar", grammar),
    )
    asked = [(kind, given) for kind, given in kinds if given is not None]
    if len(asked) > 1:
        raise UsageError(f"An answer has one form: --{asked[0][0]} or --{asked[1][0]}, not both.")
    for kind, given in asked:
        if isinstance(given, str):
            return AnswerForm(kind, given)
        if given == STDIN:
            return AnswerForm(kind, decoded(_piped() or b"", "Standard input"))
        return AnswerForm(kind, read(given, pipes=True).text)
    return None


def _piped() -> bytes | None:
    """Return piped input; a closed standard input counts as empty."""
    if sys.stdin is None or sys.stdin.isatty():
        return None
    return sys.stdin.buffer.read()


def question_of(
    prompt: str | None, files: tuple[Path, ...], schema: Path | None, grammar: Path | None
) -> str:
    """Return the question that the prompt, standard input and files make together.

    Standard input is no part of it where the schema or the grammar is read from there.

    Raises:
        UsageError: there is no question, or a part of it is not a text.
    """
    piped = None if STDIN in (schema, grammar) else _piped()
    words = [prompt or "", decoded(piped, "Standard input") if piped else ""]
    text = "\n\n".join(part for part in words if part.strip())
    question = joined(text, [read(path, pipes=True) for path in files])
    if not question:
        raise UsageError(
            'There is no question. Give one as PROMPT: specchat ask "Why is the sky blue?", or '
            'pipe one in: echo "Why is the sky blue?" | specchat ask'
        )
    return question
