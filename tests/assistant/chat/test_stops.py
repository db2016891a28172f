"""Stop strings: shown never, held back only as long as needed."""

import itertools

import pytest

from assistant.chat.answer_text import StopStrings
from assistant.events import Origin, Token


def token(text: str, number: int = 0) -> Token:
    return Token(number, text, Origin.TARGET, None, 1.0, None)


def play(strings, pieces):
    """Return what was shown after each piece, and whether the answer ended."""
    stops, shown, over = StopStrings(strings), [], False
    for piece in pieces:
        released, over = stops.pass_on(token(piece))
        shown.append("".join(each.text for each in released))
        if over:
            break
    if not over:
        shown.append("".join(each.text for each in stops.flush()))
    return shown, over


def test_without_stop_strings_everything_is_shown_at_once():
    assert play((), ["a", "", "b"]) == (["a", "", "b", ""], False)
    assert play(("",), ["a"]) == (["a", ""], False)


def test_a_stop_string_across_tokens_is_never_shown():
    assert play(("</end>",), ["x<", "/e", "nd>", "y"]) == (["", "", "x"], True)


def test_a_false_alarm_is_released_with_the_token_that_ends_it():
    assert play(("<end>",), ["<e", "lse"]) == (["", "<else", ""], False)


def test_an_overlapping_beginning_is_found():
    assert play(("aab",), ["a", "a", "a", "b"]) == (["", "", "a", ""], True)


def test_a_token_that_the_stop_string_cuts_keeps_its_first_part():
    assert play(("\n\n",), ["one\n\ntwo"]) == (["one"], True)


def test_the_stop_string_that_comes_first_counts():
    assert play(("zz", "b"), ["abzz"]) == (["a"], True)


def test_held_text_is_released_at_the_end():
    assert play(("stop",), ["s", "to"]) == (["", "", "sto"], False)


@pytest.mark.parametrize("strings", [("ab",), ("aba",), ("ab", "ba"), ("aab", "b"), ("bbb",)])
def test_shown_text_is_what_precedes_the_first_stop_string_however_it_is_cut(strings):
    for letters in itertools.product("ab", repeat=6):
        text = "".join(letters)
        ends = [text.find(string) for string in strings if string in text]
        # The first to be complete ends the answer, at the earliest place it is then found.
        for cuts in range(32):
            pieces, piece = [], ""
            for i, letter in enumerate(text):
                piece += letter
                if i == 5 or cuts >> i & 1:
                    pieces.append(piece)
                    piece = ""
            shown, over = play(strings, pieces)
            assert over == bool(ends)
            assert text.startswith("".join(shown))
            if not ends:
                assert "".join(shown) == text
            else:
                assert not any(string in "".join(shown) for string in strings)
                assert len("".join(shown)) <= max(ends)
