"""`specchat ask --schema`, `--regex` and `--grammar`: never an unfinished document with exit 0."""

import json

import pytest

from tests.tui.shell.program import HOT, run

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 6}, "ok": {"type": "boolean"}},
    "required": ["name", "ok"],
    "additionalProperties": False,
}


@pytest.fixture
def asked(target, tmp_path):
    file = tmp_path / "person.json"
    file.write_text(json.dumps(PERSON))

    def ask(*options, **more):
        words = [file if option is PERSON else option for option in options]
        return run("ask", "--target", target, "--draft", "none", *HOT, *words, "hello", **more)

    return ask


def test_an_answer_has_the_form_of_a_file_or_of_standard_input(asked):
    for given, stdin in ((PERSON, None), ("-", json.dumps(PERSON))):
        code, out, err = asked("--schema", given, stdin=stdin)
        assert code == 0
        assert list(json.loads(out)) == ["name", "ok"]
        assert err == ""
    assert asked("--regex", "yes|no", "--json")[1].startswith('{"text": "')
    assert asked("--grammar", "-", stdin='root ::= "a" "b"')[1] == "ab\n"


def test_an_answer_that_ends_in_mid_form_is_an_error_that_says_what_to_do(asked):
    for options, cure in ((("--max-tokens", 5), "--max-tokens"), (("--stop", "name"), "--stop")):
        code, _, err = asked("--schema", PERSON, *options)
        assert code == 3
        assert err.count("form was complete") == 1
        assert cure in err
    code, out, _ = asked("--schema", PERSON, "--max-tokens", 5, "--json")
    assert code == 3
    assert json.loads(out)["complete"] is False


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--schema", PERSON, "--regex", "a"), "An answer has one form"),
        (("--schema", "nowhere.json"), "nowhere.json cannot be read"),
        (("--regex", "(a"), "The regex cannot be used: unclosed group."),
        (("--grammar", "-"), "The grammar cannot be used: No 'root' rule found."),
    ],
)
def test_a_form_that_cannot_be_used_is_a_sentence_and_exit_code_2(asked, options, why):
    code, out, err = asked(*options, stdin="")
    assert (code, out) == (2, "")
    assert why in err
    assert "Traceback" not in err
