"""`words`: the terms that are indexed: stems, parts of names, and no stop words."""

import pytest

from assistant.passages import words


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("parseHTTPResponse", ["pars", "http", "respons"]),
        ("parse_http_response", ["pars", "http", "respons"]),
        ("parse-http-response", ["pars", "http", "respons"]), ("MAX_RETRIES", ["max", "retri"]),
        ("__init__", ["init"]), ("sha256", ["sha256"]),
    ],
)  # fmt: skip
def test_a_name_is_found_by_its_words(name, parts):
    assert set(parts) <= set(words.terms(name, "english").split())


def test_a_name_is_found_as_a_whole_however_it_is_written():
    held = [words.terms(name, "english") for name in ("getResponse", "get_response", "GetResponse")]
    assert held == ["get respons getrespons"] * 3


@pytest.mark.parametrize(
    ("language", "text", "question"),
    [
        ("english", "The committees were regulating forests", "regulation forest committee"),
        ("german", "Die alten Häuser wurden von den Bürgern verkauft", "Haus Bürger"),
        ("french", "Les chevaux sont dans la forêt avec les enfants", "cheval foret enfant"),
        ("spanish", "Las canciones de los niños que cantaban en la plaza", "canción nino plazas"),
        ("russian", "Он был в больших лесах и на реках", "лес река большой"),
    ],
)
def test_a_word_is_found_by_its_stem_in_the_language_of_the_text(language, text, question):
    assert words.language(text) == language
    held = set(words.terms(text, language).split())
    assert all(forms & held for forms in words.query_terms(question, [language]).values())


def test_stop_words_count_for_nothing_in_the_language_that_is_asked_in():
    assert words.query_terms("What is it that they have been doing?", ["german"]) == {}
    assert words.query_terms("Was war das?", ["english"]) == {}
    assert words.terms("It is what they have", "english").split() == []


def test_a_word_has_no_accents_ligatures_and_capitals():
    assert words.terms("Café ﬁnal STRASSE", "english") == "cafe final strass"
    assert words.terms("Cafe\u0301", "english") == words.terms("café", "english") == "cafe"


def test_a_word_that_is_too_long_to_be_one_is_left_out():
    assert words.terms("x" * 10_000, "english").split() == []


@pytest.mark.parametrize(
    ("text", "term", "is_there"),
    [
        ("costs 14,58 now", "1458", True), ("costs 14.58, now", "1458", True),
        ("a;14,58;3", "1458", True), ("1.234,50", "123450", True),
        ("1,234,567.50", "123456750", True), ("7 310", "7310", True),
        ("a,14,58,b", "1458", False),  # columns of a CSV
        ("a,14.58,3", "1458", True), ("part AX-20.", "ax20", True),
        ("part AX\u201120", "ax20", True), ("2026-03-09", "20260309", True),
        ("thermo-\n  stat", "thermostat", True), ("> thermo-\n> stat", "thermostat", True),
        ("Ge\u00adsamt\u00adkonzept", "gesamtkonzept", True), ("well-known", "wellknown", False),
    ],
)  # fmt: skip
def test_a_number_is_a_term_as_it_is_written_and_so_is_a_broken_word(text, term, is_there):
    assert (term in words.terms(text, "").split()) == is_there
    assert (term in words.query_terms(text, [""])) == is_there
    assert {"14", "58"} <= set(words.terms("14,58", "").split())


@pytest.mark.parametrize(
    ("names", "language", "expected"),
    [
        (["House rules"], "english", "housrule"),
        (["Rules of the house"], "english", "housrule"),
        (["Recipes"], "english", "recip"),
        (["Notes on the well"], "english", "notewell"),
        (["Die Hausordnung von Ulm"], "german", "hausordn hausordnulm"),
        (["Zasady domu", "Ogrodowe"], "slovak", "domzasad ogrod"),
        (["Of the"], "english", ""),
        (["2026_house-rules.md"], "english", "2026hous housrule mdrule"),
    ],
)
def test_a_document_is_named_by_words_side_by_side_or_the_only_one(names, language, expected):
    assert words.titles(names, language) == expected
