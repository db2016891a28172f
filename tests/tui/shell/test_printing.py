"""`specchat ask` on standard output."""

import pytest

from assistant.events import Origin, Token
from tui.shell.received_answers import Printing


def words(text: str) -> list[Token]:
    return [Token(0, text, Origin.TARGET, None, 1.0, None)]


def test_an_answer_ends_a_line_an_empty_one_too_and_one_that_never_began_none(capsys):
    printing = Printing(quiet=False)
    printing.cut()
    assert capsys.readouterr().out == ""
    printing.end()
    assert capsys.readouterr().out == "\n"
    printing.add(words("one"))
    printing.cut()
    assert capsys.readouterr().out == "one\n"


@pytest.mark.parametrize(
    "text", ["all:\n\tgcc  x\n", "  2*3*4 [b]\\ \n\n", "x" * 300, "\u00a0\u200b重"]
)
def test_an_answer_on_a_pipe_is_what_the_model_said_and_the_end_of_a_line(capsys, text):
    printing = Printing(quiet=False)
    for piece in (text[:7], text[7:]):
        printing.add(words(piece))
    printing.end()
    assert capsys.readouterr().out == text + "\n"
