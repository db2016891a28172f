"""Passages in a conversation: how many there may be, their numbers, and answers that cite them."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from assistant.events import Origin, Token
from assistant.request import COPYING
from assistant.session.messages import latest, passages_of
from assistant.store.values import Attachment, StoredMessage

RUN = 8  # words in a row that an answer and a passage share only if one is quoted
LENGTHS = (64, 32, 16)  # characters up to a copied token that are searched for: fewer are common
CODE = re.compile(r"(?P<fence>`{3,}).*?(?:(?P=fence)|\Z)|`[^`\n]*`", re.DOTALL)
CITED = re.compile(r"(?<!\w)\[(?P<numbers>\d{1,6}(?:, ?\d{1,6})*)\](?!\()")


def cited_numbers(answer: str) -> list[int]:
    """Return the numbers that an answer cites, in that order."""
    groups = (few.split(",") for few in CITED.findall(CODE.sub("", answer)))
    return [*dict.fromkeys(int(number) for few in groups for number in few)]


def question_passages(path: Iterable[StoredMessage]) -> dict[int, Attachment]:
    """Return the passages of the question that ends a path, and those that it names, by number.

    Questions before it that were not answered belong to it.
    """
    records, questions = [*path], list[StoredMessage]()
    for record in reversed(records):
        if record.role == "user":
            questions.append(record)
        elif record.role == "assistant" and questions:
            break
    numbers = {attachment.number for record in questions for attachment in record.attachments}
    numbers.update(number for record in questions for number in cited_numbers(record.content))
    passages = passages_of(records)
    return {number: passages[number] for number in passages if number in numbers}


def sources(answer: str, passages: Mapping[int, Attachment]) -> tuple[Attachment, ...]:
    """Return the passages that an answer cites, else those with words of it, without their texts.

    Small models quote more often than they cite.
    """
    used = [passages[number] for number in cited_numbers(answer) if number in passages]
    runs = _runs(answer)
    used = used or [passage for passage in passages.values() if runs & _runs(passage.text)]
    return tuple(replace(passage, text="") for passage in used)


def copied_from(
    text: str, token: Token, passages: Collection[Attachment]
) -> tuple[Attachment, ...]:
    """Return the passages with the end of an answer; none unless its last `token` was copied."""
    if token.origin is Origin.DRAFT and token.source in COPYING:
        ends = [text[-length:] for length in LENGTHS if len(text) >= length]
        matches = (tuple(passage for passage in passages if end in passage.text) for end in ends)
        return next(filter(None, matches), ())
    return ()


def _runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return {*zip(*(words[i:] for i in range(RUN)), strict=False)}


def before_question(
    hits: Iterable[Attachment], path: Sequence[StoredMessage], n_ctx: int
) -> tuple[Attachment, ...]:
    """Return passages as attachments of the next question of a path, the best last.

    The `hits` have no numbers, the best first. Passages that the path has already keep theirs, and
    their texts are not repeated; `n_ctx` decides what is never dropped from the path.
    """
    seen = passages_of(latest(path, n_ctx)).values()
    present = {(passage.name, passage.text): passage for passage in seen}
    new, known = list[Attachment](), list[Attachment]()
    for hit in hits:
        if earlier := present.get((hit.name, hit.text)):
            known.append(replace(earlier, text=""))
        else:
            new.append(hit)
    first = max(passages_of(path), default=0) + 1
    counted = [replace(hit, number=number) for number, hit in enumerate(reversed(new), first)]
    return (*reversed(known), *counted)
