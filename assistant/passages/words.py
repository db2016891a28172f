"""Words of texts and questions as they are indexed: names split, stems, no stop words.

A term has letters and digits alone, is in small letters and has no accents.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

import snowballstemmer

_LISTS = Path(__file__).with_name("stop_words.txt").read_text("utf-8").splitlines()
STOP_WORDS = {name: frozenset(found) for name, *found in map(str.split, _LISTS)}
"""By language: words that tell which language it is, and nothing else."""
_LETTERS = 60  # of a word; what is longer is none
_SAMPLE = 20_000  # characters of a text that tell its language
# Scripts without spaces between words: pairs of characters are indexed.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2}")
_PARTS = re.compile(r"_+|(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def language(text: str) -> str:
    """Return the language of a text; English if its words do not tell."""
    found = _words(text[:_SAMPLE].lower())
    return max(STOP_WORDS, key=lambda each: sum(word in STOP_WORDS[each] for word in found))


def terms(text: str, language: str) -> str:
    """Return the terms of a text in one line, as they follow each other."""
    return " ".join([_said(word, language) for word in _words(text)])


def asked(question: str, languages: Iterable[str]) -> list[frozenset[str]]:
    """Return for each word of a question which terms it may be in texts of these languages."""
    own = language(question)
    parts = dict.fromkeys(part for word in _words(question) for part in _parts(word, own))
    return [frozenset(_term(part, each) for each in {own, *languages}) for part in parts]


_stemmer = cache(snowballstemmer.stemmer)


@lru_cache(300_000)
def _said(word: str, language: str) -> str:
    return " ".join([_term(part, language) for part in _parts(word, language)])


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text))  # without ligatures


def _parts(word: str, language: str) -> list[str]:
    """Return the words in a name, and the name, without stop words."""
    if _UNSPACED.search(word):
        return [word[at : at + 2] for at in range(len(word) - 1)]
    parts = [part for part in _PARTS.split(word) if part and len(word) <= _LETTERS]
    found = map(str.lower, parts + ["".join(parts)] * (len(parts) > 1))
    return [each for each in found if each not in STOP_WORDS[language]]


def _term(part: str, language: str) -> str:
    stem = _stemmer(language).stemWord(part) if part.isalpha() and len(part) > 2 else part
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", stem.casefold())))
