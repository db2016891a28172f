"""Parts of an answer that its passages do not support: wrong citations, numbers and names.

A warning lists what is in none of the texts. Texts that say the opposite are not detected.
"""

import calendar
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from assistant.session.citing import CITED, CODE, cited_numbers, question_passages
from assistant.session.messages import passages_of
from assistant.store.values import StoredMessage

MOST_MISSING = 8  # numbers and names that a warning lists
_NUMBER = re.compile(
    r"(?<![\w.,/-])[-+]?(\d+(?:[.,:/-]\d+)*)"
    r"(?: ?(?:%|€|\$|[kKMGT]?(?:i?B|Hz|W|V)|ms|s|min|h|days?|kg|km|cm|mm|m)(?!\w))?(?![\w-])"
)
_GROUPED = re.compile(r"\b\d{1,3}(?:[ \xa0\u202f'’_]\d{3})+\b")
_NUMBERING = re.compile(r"^[ \t]*(?:[-*#>]+[ \t]+)?(?:\*\*)?(?:step )?\d+[.):]\s", re.M | re.I)
_TITLE = re.compile(r"^ *#.*$|\*\*[^*\n]+ [^*\n]+\*\*", re.MULTILINE)
_CAPITAL = re.compile(r"\b[A-Z](?=[a-z]+\b)")
_WORD = re.compile(r"(?<![\w./-])(?:--?)?\w+(?:[-.+#'’/]+\w+)*(?:\+\+|#)?")
_SENTENCE = re.compile(r"(?:^|[.!?:;•|—–]\s|\n)[\s\"“„«'(*_>-]*(?:\d+[.)]\s+)?[\"“„«'(*_`]*$")
_IDENTIFIER = re.compile(
    r"--\w.*|\w*_\w+|.*[a-z][A-Z].*|[A-Z]{2,}s?|(?=.*\d)[^\W\d_].*|\w*[a-z]{2,}[./]\w{2,}.*"
)
_GERMAN = re.compile(r"\b(?:der|die|das|und|ist|nicht|ein|eine|mit|wird|von)\b", re.IGNORECASE)
_COMMON = re.compile("I|OK|Yes|No|YES|NOT?|NOTE|AND|OR|ONLY|ALL|MUST|WARNING|I['’].*")
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve",
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
)
_DIGITS = {word: str(value) for row in _SMALL for value, word in enumerate(row.split())}


class Support(NamedTuple):
    """The result of a check of an answer against its passages."""

    wrong: tuple[int, ...] = ()
    """Numbers that it cites, and that no passage of its question has."""
    warnings: tuple[str, ...] = ()
    """A sentence for each."""
    unfound: str = ""
    """A sentence that a search for its question found nothing, which was shown before it."""


def check(answer: StoredMessage, path: Sequence[StoredMessage]) -> Support:
    """Check an answer against the passages of its question; `path` may continue after it."""
    before = [*takewhile(lambda record: record.id != answer.id, path)]
    if answer.role != "assistant" or answer.tool_calls or not answer.content:
        return Support()
    files = next((record.attachments for record in reversed(before) if record.role == "user"), ())
    names = " or ".join(file.whole.name for file in files if file.is_folder)
    is_unfound = names and not any(file.number for file in files)
    unfound = f"Nothing was found in {names} for this; answered without it." if is_unfound else ""
    if not passages_of(before):
        return Support(unfound=unfound)
    passages, numbers = question_passages(before), cited_numbers(answer.content)
    wrong = tuple(number for number in numbers if number not in passages)
    lines = [f"[{number}] is not a passage of this question." for number in wrong]
    if not passages:
        return Support(wrong, tuple(lines), unfound)
    if not answer.attachments and {*numbers} == {*wrong}:  # else quoted passages are named
        lines.append("No passage is cited.")
    attached = (attachment for record in before for attachment in record.attachments)
    whole = (attachment for attachment in attached if not attachment.number)
    given = [record.content for record in before if record.role != "assistant"]
    given += [f"{file.title}\n{file.text}" for file in whole]
    texts = {number: f"{one.title}\n{one.text}" for number, one in passages.items()}
    cited = [texts[number] for number in numbers if number in texts]
    missing = find_unsupported(answer.content, [*texts.values(), *given])
    uncited = find_unsupported(answer.content, [*cited, *given]) if cited else []
    uncited = [word for word in uncited if word not in missing]
    for where, absent in ("passages", missing), ("cited passages", uncited):
        if absent:
            more = " …" if len(absent) > MOST_MISSING else ""
            lines.append(f"Not in the {where}: {', '.join(absent[:MOST_MISSING])}{more}.")
    return Support(wrong, tuple(lines))


def wrong_citations(answer: str, wrong: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield where the wrong numbers that an answer cites begin and end."""
    numbers = {*wrong}
    for match in re.finditer(f"(?s:{CODE.pattern})|{CITED.pattern}", answer):
        for number in re.compile(r"\d+").finditer(answer, *match.span("numbers")):
            if int(number[0]) in numbers:
                yield number.span()


def struck(answer: str, wrong: Iterable[int]) -> str:
    """Return Markdown in which wrong citations are struck out, with a note."""
    for begin, end in reversed([*wrong_citations(answer, wrong)]):
        answer = f"{answer[:begin]}~~{answer[begin:end]}~~ (no such passage){answer[end:]}"
    return answer


def find_unsupported(answer: str, texts: Iterable[str]) -> list[str]:
    """Return the numbers and the names of an answer that stand in none of the texts.

    Only numbers in digits are checked, without citations and those of list items. Names are
    capitalised words within a sentence (not in German, where nouns have capitals), and all words
    that look like an identifier, an abbreviation, an option or a file.
    """
    answer = re.sub(r"(?ms)^ *(`{3,}|~{3,}).*?(?:^ *\1|\Z)", "\n", answer)
    answer = _NUMBERING.sub("\n", CITED.sub("", answer))
    answer = _TITLE.sub(lambda match: _CAPITAL.sub(lambda word: word[0].lower(), match[0]), answer)
    known = "\n".join(texts).casefold()
    words = {*re.findall(r"\w+", known)}
    numbers = _known_numbers(known, words)
    answer = _ungroup(answer)
    counts = [match for match in _NUMBER.finditer(answer) if _is_new(match[1], numbers)]
    answer = _NUMBER.sub(lambda match: " " * len(match[0]), answer)  # a unit is no name
    names = [name for name in _names(answer) if not _is_known(name[0], known, words, numbers)]
    missing = sorted([*counts, *names], key=re.Match.start)
    return [*dict.fromkeys(match[0].strip() for match in missing)]


def _ungroup(text: str) -> str:
    return _GROUPED.sub(lambda match: re.sub(r"\D", "", match[0]), text)


def _known_numbers(text: str, words: Iterable[str]) -> set[str]:
    written = re.findall(r"\d+(?:[.,:/-]\d+)*", f"{text}\n{_ungroup(text)}")
    parts = (part for number in written for part in re.split(r"\D", number))
    whole = (value for number in written for value in _values(number))
    spelled = (_DIGITS[word] for word in words if word in _DIGITS)
    return {*whole, *(part.lstrip("0") or "0" for part in parts), *spelled}


def _values(number: str) -> set[str]:
    """Return the ways to read a number: a comma may be a decimal point or group digits."""
    decimal = number.replace(",", ".").lstrip("0") or "0"
    if decimal.count(".") == 1:
        decimal = decimal.rstrip("0").rstrip(".") or "0"
    grouped = re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", number)
    return {decimal, re.sub(r"\D", "", number)} if grouped else {decimal}


def _is_new(number: str, known: set[str]) -> bool:
    """Return whether a number is in no text; a text may have dates and ranges in parts."""
    parts = [part.lstrip("0") or "0" for part in re.split(r"\D", number)]
    in_parts = len(parts) > 2 or re.search("[:/-]", number)
    return known.isdisjoint(_values(number)) and not (in_parts and known.issuperset(parts))


def _names(answer: str) -> Iterator[re.Match[str]]:
    german = len(_GERMAN.findall(answer)) > 2
    for match in _WORD.finditer(answer):
        word, before = match[0], answer[: match.start()][-40:]
        if len(word) < 2 or _COMMON.fullmatch(word):
            continue
        within = word[0].isupper() and not german and not _SENTENCE.search(before)
        if within or _IDENTIFIER.fullmatch(word):
            yield match


def _is_known(word: str, text: str, words: set[str], numbers: set[str]) -> bool:
    if word in calendar.month_name:
        return str([*calendar.month_name].index(word)) in numbers or word.casefold() in words
    plain = re.sub("['’]s$", "", word).casefold()
    forms = {plain, plain.removesuffix("s"), f"{plain}s"}
    parts = re.findall(r"\w+", plain)
    return bool(words & forms) or words.issuperset(parts) or (len(plain) > 3 and plain in text)
