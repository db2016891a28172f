"""Words of texts and questions as they are indexed: names split, stemmed, without stop words.

A term consists of lower-case letters and digits without accents.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

import Stemmer

from assistant.streamed_text import UNSPACED

_LISTS = Path(__file__).with_name("stop_words.txt").read_text("utf-8").splitlines()
STOP_WORDS = {name: frozenset(stop_words) for name, *stop_words in map(str.split, _LISTS)}
"""By language: frequent words, which show the language and carry no subject."""
_STOPS = frozenset[str]().union(*STOP_WORDS.values())
COMPOUNDING = {"german", "dutch", "swedish", "danish", "norwegian", "finnish", "hungarian",
               "estonian"}  # fmt: skip
_STEMMED = frozenset(Stemmer.algorithms())
_LETTERS = 60  # of a word at most; anything longer is not indexed
_SAMPLE = 20_000  # characters of a text by which its language is detected
_STOP_SHARE = 0.04  # of the words of a text in a language that are stop words, at least
# Visible hyphens become "-"; soft hyphens and joiners, which are invisible, are removed.
PLAIN = str.maketrans({"\u2010": "-", "\u2011": "-", "\u00ad": "", "\u200b": "", "\u2060": ""})
# Of scripts without spaces between words, pairs of letters are indexed, without their marks.
_UNSPACED = re.compile(f"{UNSPACED}{{2}}")
_SIGNS = re.compile(f"(?={UNSPACED})\\W")
_PARTS = re.compile(r"_+|(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# In a pair of a Chinese question, these carry no subject; in Japanese words they may.
_ASKING = re.compile("多少|[的了吗嗎呢吧是什甚么麼怎哪谁誰几幾我你您他她它们們这這那请請在有]")
# With the vowel signs of the scripts that write them as marks.
_MARKS = "\u0300-\u036f\u064b-\u0655\u0900-\u0963\u0971-\u0dff"
_WORD = re.compile(f"(?:(?={UNSPACED})\\w)+|(?:(?!{UNSPACED})[\\w{_MARKS}])+")
# Numbers and names in one, 14,58 and AX-20, and what is broken at the end of a line. A comma with
# no space that is followed or preceded by another is one between the columns of a CSV.
_JOINED = re.compile(
    r"(?=\d)(?<![\w.])(?<!\w,)(?:\d{1,3}(?:[,'’ ]\d{3})+(?:\.\d+)?|\d[\d.]*,\d+)(?!\w|,\w)"
    r"|(?<![^\W_])[^\W_]++(?:(?:-(?: *\n[\s>#*]*)?|[./:])[^\W_]++)++"
)


def languages(text: str) -> dict[str, float]:
    """Return the share of a text's words that are stop words of each language, highest first."""
    sample = _words(text[:_SAMPLE])
    counts = Counter(word.lower() for word in sample if len(word) > 1)  # T-12 is no French
    present = {name: stop & counts.keys() for name, stop in STOP_WORDS.items()}
    totals = {name: sum(map(counts.__getitem__, stop)) for name, stop in present.items()}
    return {name: total / max(1, len(sample)) for name, total in Counter(totals).most_common()}


def language(text: str) -> str:
    """Return the language of a text, or "" if its words do not show it."""
    (best, share), *_ = languages(text).items()
    return best if share > _STOP_SHARE else ""


def terms(text: str, language: str) -> str:
    """Return the terms of a text in one line, as they follow each other."""
    return " ".join([term for term, _ in pairs(text, language)])


def pairs(text: str, language: str) -> list[tuple[str, str]]:
    """Return the terms of a text, each with the word that it stands for."""
    return [pair for word in _words(text) for pair in _terms(word, language)]


def query_terms(question: str, languages: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the words of a question, each with its terms in these languages; "Why?" has none."""
    own = language(question)
    known, is_japanese = {own, *languages}, re.search("[ぁ-ヶ]", question)
    parts = dict.fromkeys(part for word in _words(question) for part in _parts(word, own))
    subject = (part for part in parts if is_japanese or not _ASKING.search(part))
    return {part: frozenset(_term(part, name) for name in known) for part in subject}


def titles(names: Iterable[str], language: str) -> str:
    """Return the terms of titles: adjacent words as one term, single words, and compounds."""
    tokens = set[str]()
    for words, pairs in (title(name, language) for name in names):
        min_length = 4 if len(words) == 1 else 7 if language in COMPOUNDING else _LETTERS + 1
        tokens |= pairs | {word for word in words if len(word) >= min_length}
    return " ".join(sorted(tokens))


def title(text: str, language: str) -> tuple[list[str], set[str]]:
    """Return the words of a title or question, and adjacent ones as one term for both orders."""
    text = text.replace("_", " ")  # of 2026_house_rules
    stems = [term for term in terms(text, language).split() if term not in _STOPS]
    if not has_stems(language):  # then words are alike in how they begin
        stems = [term[: 5 if len(term) > 5 else 3] for term in stems]
    return stems, {"".join(sorted(pair)) for pair in pairwise(stems)}


def has_stems(language: str) -> bool:
    """Whether words of a language are indexed as their stems."""
    return not language or language in _STEMMED


_stemmer = cache(Stemmer.Stemmer)


@lru_cache(300_000)
def _terms(word: str, language: str) -> list[tuple[str, str]]:
    return [(_term(part, language), part) for part in _parts(word, language)]


def _words(text: str) -> list[str]:
    text = _SIGNS.sub("", unicodedata.normalize("NFKC", text).translate(PLAIN))  # no ligatures
    joined = (name for name in _JOINED.findall(text) if re.search(r"\d|\n", name))
    return _WORD.findall(text) + [re.sub(r"[\W_]", "", name) for name in joined]


def _parts(word: str, language: str) -> list[str]:
    """Return the words in a name, and the name, without stop words."""
    if _UNSPACED.match(word):
        return [word[at : at + 2] for at in range(len(word) - 1)]
    parts = [part for part in _PARTS.split(word) if part and len(word) <= _LETTERS]
    lowered = map(str.lower, parts + (["".join(parts)] if len(parts) > 1 else []))
    return [part for part in lowered if part not in STOP_WORDS.get(language, ())]


def _term(part: str, language: str) -> str:
    if len(part) > 2 and has_stems(language) and not any(map(str.isdigit, part)):
        part = _stemmer(language or "english").stemWord(part)
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", part.casefold())))
