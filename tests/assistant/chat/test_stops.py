"""Stop strings: shown never, held back only as long as needed."""

from assistant.chat.answer_text import AnswerText
from assistant.chat.thought_reader import AnswerBeginning
from assistant.events import Origin, Token
from assistant.streamed_text import TokenText


def token(text: str, number: int = 0) -> Token:
    return Token(number, text, Origin.TARGET, None, 1.0, None)


def play(strings, pieces):
    """Return what was shown after each piece, and whether the answer ended."""
    text, shown = AnswerText(AnswerBeginning(TokenText(lambda token: b"")), stops=strings), []
    for piece in pieces:
        shown.append("".join(each.text for each in text.add(token(piece))))
        if text.stopped:
            return shown, True
    return [*shown, "".join(each.text for each in text.flush())], False


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
