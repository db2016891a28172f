import json
import re
from dataclasses import replace
from itertools import pairwise
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from assistant.store.exports import json_lines, markdown, read_json_lines, write_into
from assistant.store.store import Store
from assistant.store.values import INTERRUPTED, Attachment
from models.errors import StorageError
from tests.assistant.store.conversations import STATS, answering, contents, opened, talk, trace
from tests.stored import ask, begin, end, stream
from tui.safe import safe

HOSTILE = "\x1b]52;c;AAAA\x07\x9b31m\u202eevil\u2066\x7f\x00\u2028end 𝒳 é"


@pytest.fixture
def rich(store):
    """A conversation with branches, attachments, passages, a failure and hostile text."""
    conversation, records = talk(store, "First", HOSTILE)
    passage = Attachment("notes/air.md", "Zeppelins.", 1, 3, 4)
    files = [Attachment("a`\x1b.txt", f"```\n{HOSTILE}\n````"), Attachment("notes/", ""), passage]
    question = ask(store, conversation, records[1].id, "Other", files)
    answer = begin(store, conversation, question.id, "tiny-2")
    more = {"stats": STATS, "stop": "cancelled", "attachments": (replace(passage, text=""),)}
    end(store, answer.id, "Half an [1]", trace(1), "stopped", **more)
    store.pin(conversation)
    return conversation


def added(store, whole):
    (taken,) = store.import_conversations([whole])
    assert taken.is_new
    return taken.number


def test_an_exported_conversation_can_be_imported_and_is_the_same(store, rich):
    (whole,) = read_json_lines(json_lines(store.whole(rich)))
    empty, other = opened(), opened()
    assert empty.whole(added(empty, whole)) == store.whole(rich)
    talk(other, "something else")  # so that all numbers are others
    adopted = added(other, whole)
    assert contents(other, adopted) == contents(store, rich)
    assert other.trace(other.path(adopted)[-1].id) == trace(1)
    assert [each.id for each in other.summaries("evil")] == [adopted]


def test_an_export_says_of_each_token_where_it_came_from(store, rich):
    answer = json.loads(list(json_lines(store.whole(rich)))[2])
    tokens = [token for step in answer["steps"] for token in step["tokens"]]
    assert [token["origin"] for token in tokens[:3]] == ["draft", "residual", "target"]
    assert (tokens[0]["source"], tokens[0]["target_prob"]) == ("model", 0.3)
    assert answer["steps"][0]["ghosts"][0]["text"] == " cat"
    assert answer["stats"]["mode"] == "sps"


def test_an_export_commands_no_terminal(store, rich):
    for line in json_lines(store.whole(rich)):
        assert safe(line) == line
        json.loads(line)


def test_markdown_holds_the_branch_one_is_on_under_yaml(store, rich):
    text = markdown(store.whole(rich))
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    front = dict(line.split(": ", 1) for line in head.splitlines())
    values = {name: json.loads(text) for name, text in front.items()}
    assert (values["title"], values["model"]) == ("First", "tiny, tiny-2")
    assert values["date"].endswith("+00:00")
    assert "## System\n\nBe brief." in body
    assert "## You\n\nFirst\n\n## Assistant\n\nAnswer to First" in body
    assert "\n`````\n```\n" in body  # a fence longer than any in the attachment
    assert "`notes/`\n\n`[1] notes/air.md:3-4`\n\n```\nZeppelins.\n```\n\nOther" in body
    assert "Half an [1]\n\n`[1] notes/air.md:3-4`\n\n*(stopped)*" in body
    assert f"Answer to {HOSTILE}" not in body


def test_a_title_cannot_break_out_of_the_front_matter(store):
    conversation, _ = talk(store, 'x" \\ \x9b\u2028: #')
    text = markdown(store.whole(conversation))
    assert text.count("\n---\n") == 1
    assert safe(text.split("\n---\n")[0]) == text.split("\n---\n")[0]


def test_an_answer_that_streamed_when_it_was_exported_is_imported_as_interrupted(store):
    conversation, answer = answering(store)
    stream(store, answer.id, "so far")
    (whole,) = read_json_lines(json_lines(store.whole(conversation)))
    other = opened()
    last = other.path(added(other, whole))[-1]
    other.close()
    assert (last.state, last.stop, last.content) == ("failed", INTERRUPTED, "so far")


HEAD = '{"specchat":1}'
LINE = '{"id":1,"role":"user","content":"x","created":1.0,"state":"complete"}'


@pytest.mark.parametrize(
    "text",
    [
        ["hello"], [LINE], [b"\xff\xfe"], [HEAD, "{}"], [HEAD, LINE.replace("user", "root")],
        [HEAD, LINE.replace('"id":1', '"id":1,"token_ids":[-1]')],
        [HEAD, LINE.replace('"id":1', '"id":1,"token_ids":[4294967296]')],
        [HEAD, LINE.replace("1.0", "1e300")], [HEAD, '{"id":' + "[" * 100_000], ['{"specchat":3}'],
    ],
)  # fmt: skip
def test_a_file_that_is_no_export_is_refused_with_the_line(text):
    with pytest.raises(StorageError, match=r"line \d+ is not|newer specchat"):
        list(read_json_lines(text))


@pytest.mark.parametrize("name", ["id", "position", "rounds"])
def test_an_import_with_a_number_that_is_too_large_adds_nothing(store, name):
    conversation, _ = talk(store, "Hi")
    large = f'"{name}":{"9" * 30}'
    lines = json_lines(store.whole(conversation))
    exported = [re.sub(f'"{name}":[0-9]+', large, line) for line in lines]
    other = opened()
    with pytest.raises(StorageError, match="too large"):
        added(other, next(read_json_lines(exported)))
    assert other.summaries() == ()


def test_a_conversation_that_is_there_already_is_not_added_again(store):
    kept = [store.whole(talk(store, text)[0]) for text in ("How is bread baked?", "Why?")]
    other = opened()
    first, second, twice = other.import_conversations([*kept, kept[0]])
    known = other.import_conversations([kept[1], kept[0], kept[1]])
    assert [each.is_new for each in (first, second, twice, *known)] == [True] * 2 + [False] * 4
    ask(other, first.number, other.path(first.number)[-1].id, "And cake?")  # it went on here
    assert other.import_conversations(kept)[0] == replace(first, is_new=False)
    other.delete(first.number)
    assert other.import_conversations(kept)[0].is_new


def test_one_that_went_on_elsewhere_is_another(store):
    conversation, records = talk(store, "How is bread baked?")
    other = opened()
    first = added(other, store.whole(conversation))
    ask(store, conversation, records[-1].id, "How hot?")
    assert added(other, store.whole(conversation)) != first


@pytest.mark.parametrize("parent", [9, 1])
def test_of_conversations_one_of_which_cannot_be_added_none_is(store, parent):
    good = store.whole(talk(store, "Hi")[0])
    (bad,) = read_json_lines([HEAD, LINE.replace('"id":1', f'"id":1,"parent":{parent}')])
    other = opened()
    with pytest.raises(StorageError, match="is missing"):
        other.import_conversations([good, bad])
    assert other.summaries() == ()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (HEAD[:-1] + ',"leaf":2}', "leaf of “”, 2, is missing"),
        (HEAD + "\n" + LINE, "Two messages of “” have the id 1"),
    ],
)
def test_an_import_that_would_show_nothing_is_refused(store, line, why):
    (whole,) = read_json_lines([*line.split("\n"), LINE])
    with pytest.raises(StorageError, match=why):
        store.import_conversations([whole])


def test_without_a_leaf_the_last_message_is_shown(store):
    (whole,) = read_json_lines([HEAD, "", LINE, LINE.replace('"id":1', '"id":2,"parent":1')])
    assert len(store.path(added(store, whole))) == 2


@pytest.mark.parametrize("fence", ["```", "````py", "~~~", "- a list\n\n```\nand\n```\n\n   ```"])
def test_a_message_that_ends_within_a_fence_is_closed(store, fence):
    conversation, _ = talk(store, f"{fence}\nx = 1", f"{fence}\ny = 1\n")
    headings = [
        token.content
        for before, token in pairwise(MarkdownIt().parse(markdown(store.whole(conversation))))
        if before.type == "heading_open"
    ]
    assert headings[-4:] == ["You", "Assistant"] * 2


@pytest.mark.parametrize(
    ("title", "name"),
    [("हिन्दी में सवाल", "हिन्दी-में-सवाल"), (normalize("NFD", "Файл й größe"), "файл-й-größe")],
)
def test_the_name_of_an_export_has_whole_letters(store, tmp_path, title, name):
    conversation, _ = talk(store, title)
    assert write_into(tmp_path, store.whole(conversation)).name == f"{name}.md"


@given(st.text())
def test_any_text_survives_export_and_import(text):
    store = Store(None)
    conversation, _ = talk(store, text)
    (whole,) = read_json_lines(json_lines(store.whole(conversation)))
    other = Store(None)
    assert contents(other, added(other, whole)) == contents(store, conversation)
    other.close()
    store.close()
