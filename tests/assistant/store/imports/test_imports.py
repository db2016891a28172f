"""Exports of other programs, whole and broken."""

import io
import json
import zipfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.store import Attachment, FullConversation, Store
from assistant.store.imports import formats
from assistant.store.imports.formats import read
from assistant.store.jsonl import lines
from models.errors import StorageError
from tests.assistant.store.talks import opened, talk


def said(role: str, text: str, when: float | None = 5.0, **more: Any) -> dict[str, Any]:
    content = more.pop("content", {"content_type": "text", "parts": [text]})
    return {"author": {"role": role}, "create_time": when, "content": content, **more}


def place(id_: str, parent: str | None, message: dict[str, Any] | None = None) -> dict[str, Any]:
    return {id_: {"id": id_, "parent": parent, "children": [], "message": message}}


def chatgpt(*places: dict[str, Any], **more: Any) -> dict[str, Any]:
    mapping = {id_: node for each in places for id_, node in each.items()}
    times = {"create_time": 4.0, "update_time": 9.0}
    return {"title": "Bread", **times, "mapping": mapping, "current_node": "d", **more}


BREAD = chatgpt(
    place("root", None),
    place("s", "root", said("system", "", weight=0)),
    place("a", "s", said("user", "How is bread baked?")),
    place("b", "a", said("assistant", "search('bread')", recipient="browser")),
    place("t", "b", said("tool", "results")),
    place("c", "t", said("assistant", "Hot.", None, metadata={"model_slug": "gpt-x"})),
    place("d", "c", said("user", "How hot?", 7.0)),
    place("e", "c", said("user", "Why?", 8.0)),
)


def message(id_: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    kind = {"type": "text", "timestamp": 5000}
    return {
        "id": id_,
        "parent": parent,
        "role": role,
        "content": text,
        "children": [],
        **kind,
        **more,
    }


UI = {
    "conv": {"id": "x", "name": "Bread", "lastModified": 9000, "currNode": "b"},
    "messages": [
        message("r", None, "system", "", type="root"),
        message("s", "r", "system", "Be brief.", type="system"),
        message("b", "a", "assistant", "Hot.", model="qwen", timings={"predicted_n": 2}),
        message("c", "a", "assistant", "Very hot."),
        message("a", "s", "user", "How is bread baked?", timestamp=4000, extra=[
            {"type": "TEXT", "name": "a.txt", "content": "flour"},
            {"type": "IMAGE", "name": "a.png", "base64Url": "data:"},
        ]),
    ],
}  # fmt: skip
UI_LINES = "\n".join(
    json.dumps(each)
    for each in (
        {"type": "session", "harness": "llama.app", **UI["conv"]},  # type: ignore[dict-item]
        *({"type": "message", "message": each} for each in UI["messages"]),
    )
)


def file(value: object) -> bytes:
    return json.dumps(value).encode()


def archive(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in files.items():
            zipped.writestr(name.replace("__", "."), data)
    return packed.getvalue()


def paths(whole: FullConversation) -> list[list[str]]:
    """What is said on the way to each end."""
    parents = {each.id: each for each in whole.messages}
    ends = parents.keys() - {each.parent for each in whole.messages}
    found = []
    for end in sorted(ends):
        path, at = [], parents.get(end)
        while at is not None:
            path.append(at.content)
            at = parents.get(at.parent or 0)
        found.append(path[::-1])
    return found


def test_what_chatgpt_shows_is_imported_on_all_branches():
    (whole,) = read(file([BREAD]))
    assert (whole.title, whole.named, whole.created, whole.updated) == ("Bread", True, 4.0, 9.0)
    shown = ["How is bread baked?", "Hot."]
    assert sorted(paths(whole)) == [[*shown, "How hot?"], [*shown, "Why?"]]
    by_text = {each.content: each for each in whole.messages}
    assert whole.leaf == by_text["How hot?"].id
    assert by_text["Hot."].model == "gpt-x"
    assert by_text["Hot."].created == 5.0  # that of what it follows


def test_what_one_role_says_in_several_messages_is_one():
    (whole,) = read(
        file(
            chatgpt(
                place("a", None, said("user", "Well?")),
                place("b", "a", said("assistant", "Let me see.")),
                place("t", "b", said("tool", "42")),
                place("c", "t", said("assistant", "It is 42.")),
                place("d", "b", said("user", "Stop.")),
            )
        )
    )
    assert sorted(paths(whole)) == [
        ["Well?", "Let me see.", "Stop."],
        ["Well?", "Let me see.\n\nIt is 42."],
    ]


IMAGE = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_0", "width": 9}
SPOKEN = {"content_type": "audio_transcription", "text": "Well?", "direction": "in"}
SOUND = {
    "content_type": "real_time_user_audio_video_asset_pointer",
    "audio_asset_pointer": {"content_type": "audio_asset_pointer", "format": "wav"},
}
CITED = "So it is \ue200cite\ue202turn0search0\ue202turn0search3\ue201."
NAMED = 'In \ue200entity\ue202["city","Paris","of France"]\ue201, \ue200entity\ue202Lyon\ue201.'
PAGE = "\ue200url\ue202a page\ue202http://x.example/\ue201"
LINKED = f"See {PAGE} and \ue200url\ue202that\ue202turn0\ue201"
HALF = "\ue200entity\ue202[7]\ue201 x\ue202 \ue200cite"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"content_type": "multimodal_text", "parts": [IMAGE, "Look"]}, "[image]\nLook"),
        ({"content_type": "multimodal_text", "parts": [SPOKEN, SOUND]}, "Well?"),
        ({"content_type": "multimodal_text", "parts": [{**SPOKEN, "text": ""}, SOUND]}, "[audio]"),
        ({"content_type": "text", "parts": [CITED]}, "So it is."),
        ({"content_type": "text", "parts": [NAMED]}, "In Paris, Lyon."),
        ({"content_type": "text", "parts": [LINKED]}, "See [a page](http://x.example/) and that"),
        ({"content_type": "text", "parts": [HALF]}, " x cite"),
        ({"content_type": "code", "language": "unknown", "text": "1 + 1"}, "1 + 1"),
        ({"content_type": "multimodal_text", "parts": [7, "x"]}, "[attachment]\nx"),
    ],
)  # fmt: skip
def test_what_is_no_text_is_named(content, text):
    (whole,) = read(file(chatgpt(place("d", None, said("user", "", content=content)))))
    assert [each.content for each in whole.messages] == [text]


THOUGHT = {"summary": "Thinking", "content": "Hm.", "chunks": [], "finished": True}


@pytest.mark.parametrize(
    "hidden",
    [
        said("user", "x", metadata={"is_visually_hidden_from_conversation": True}),
        said("assistant", "", content={"content_type": "thoughts", "thoughts": []}),
        said("assistant", "", content={"content_type": "reasoning_recap", "content": "Thought."}),
        said("user", "", content={"content_type": "user_editable_context", "user_profile": "x"}),
        said("assistant", "", content={"content_type": "model_editable_context", "text": "x"}),
        said("tool", "", content={"content_type": "execution_output", "text": "42"}),
        said("tool", "", content={"content_type": "tether_browsing_display", "result": "x"}),
        said("tool", "", content={"content_type": "tether_quote", "text": "x", "url": "x"}),
        said("tool", "", content={"content_type": "sonic_webpage", "text": "x", "url": "x"}),
        said("tool", "", content={"content_type": "system_error", "text": "x", "name": "x"}),
        said("assistant", "", content={"content_type": "code", "text": "1"}, recipient="python"),
        said("assistant", "x", weight=0.0),
        said("user", "", content={"content_type": "text", "parts": None}),
        said("user", "", content=None),
        said("assistant", "  "),
        said("critic", "x"),
    ],
)
def test_what_chatgpt_does_not_show_is_left_out(hidden):
    (whole,) = read(file(chatgpt(place("d", None, hidden))))
    assert whole.messages == ()


def test_thoughts_come_along_apart_from_the_answers_they_led_to():
    thought = {"content_type": "thoughts", "thoughts": [THOUGHT]}
    (whole,) = read(
        file(
            chatgpt(
                place("a", None, said("user", "Why?")),
                place("b", "a", said("assistant", "", content=thought)),
                place("c", "b", said("assistant", "So.")),
            )
        )
    )
    assert paths(whole) == [["Why?", "So."]]
    assert whole.messages[-1].thought == "Thinking\n\nHm."
    for name in ("reasoningContent", "thinking"):
        messages = [
            {"id": 1, "role": "user", "content": "Why?"},
            {"id": 2, "parent": 1, "role": "assistant", "content": "So.", name: "Hm."},
        ]
        (whole,) = read(file({"conv": {"name": ""}, "messages": messages}))
        assert [(each.content, each.thought) for each in whole.messages] == [
            ("Why?", ""),
            ("So.", "Hm."),
        ]


@pytest.mark.parametrize(
    "data",
    [file(UI), file([UI]), UI_LINES.encode(), archive(x__jsonl=UI_LINES.encode(), other__txt=b"?")],
    ids=["object", "array", "lines", "archive"],
)
def test_every_form_of_llama_cpps_web_ui_is_imported(data):
    (whole,) = read(data)
    assert (whole.title, whole.system) == ("Bread", "Be brief.")
    assert (whole.created, whole.updated) == (4.0, 9.0)
    assert paths(whole) == [["How is bread baked?", "Hot."], ["How is bread baked?", "Very hot."]]
    asked, hot = whole.messages[:2]
    assert asked.attachments == (Attachment("a.txt", "flour"),)
    assert (hot.model, hot.id) == ("qwen", whole.leaf)


def test_a_picture_that_was_drawn_is_the_answer():
    drawn = {"content_type": "multimodal_text", "parts": [IMAGE]}
    (whole,) = read(
        file(
            chatgpt(
                place("a", None, said("user", "A cat, please")),
                place("b", "a", said("assistant", "{}", recipient="t2uay3k.sj1i4kz")),
                place("c", "b", said("tool", "", content=drawn)),
                place("d", "c", said("user", "In blue")),
            )
        )
    )
    assert paths(whole) == [["A cat, please", "[image]", "In blue"]]


def test_a_model_and_times_that_messages_have_not_are_the_conversations_and_the_other_way():
    conversation = chatgpt(
        place("c", None, said("user", "Hm?", 5.0)),
        place("d", "c", said("assistant", "Hot.", 7.0, metadata={})),
        default_model_slug="gpt-y",
    )
    (whole,) = read(file([{**conversation, "create_time": None, "update_time": None}]))
    assert [message.model for message in whole.messages] == ["", "gpt-y"]
    assert (whole.created, whole.updated) == (5.0, 7.0)
    (unnamed,) = read(file([{**conversation, "default_model_slug": "auto"}]))
    assert [message.model for message in unnamed.messages] == ["", ""]


@pytest.mark.parametrize("end", [None, "", "gone", "b"])
def test_where_the_open_branch_is_not_to_be_found_the_newest_is_open(end):
    conversation = chatgpt(
        place("a", None, said("user", "Well?")),
        place("b", "a", said("assistant", "Let me see.")),  # only its continuation is a message
        place("c", "b", said("assistant", "It is 42.", 9.0)),
        place("z", "a", said("assistant", "No idea.", 8.0)),
    )
    (whole,) = read(file({**conversation, "current_node": end}))
    shown = {message.id: message.content for message in whole.messages}
    assert shown[whole.leaf or 0] == "Let me see.\n\nIt is 42."
    store = opened()
    (taken,) = store.take_in([whole])
    assert store.path(taken.number)[-1].content == "Let me see.\n\nIt is 42."


def test_conversations_may_be_wrapped_in_an_object():
    assert [whole.title for whole in read(file({"conversations": [BREAD, BREAD]}))] == ["Bread"] * 2


def test_an_archive_holds_conversations_in_as_many_files_as_it_likes():
    packed = archive(**{
        "conversations-000.json": file([BREAD]), "conversations-001.json": file([BREAD]),
        "user.json": b"{}", "chat.html": b"<html>",
    })  # fmt: skip
    assert [whole.title for whole in read(packed)] == ["Bread", "Bread"]


def test_ones_own_export_is_told_from_the_others():
    store = opened()
    conversation, _ = talk(store, "Hello")
    exported = "\n".join(lines(store.whole(conversation))).encode()
    assert [whole.title for whole in read(exported)] == ["Hello"]


CIRCLE = chatgpt(place("a", "b", said("user", "x")), place("b", "a", said("assistant", "y")))
TWICE = {**UI, "messages": [message("a", None, "user", "x"), message("a", None, "user", "y")]}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"hello", "not an export"),
        (b"{}", "not an export"),
        (b"7", "not an export"),
        (b"\x00\xff\xfe", "not an export"),
        (b'{"mapping": ', "not an export"),
        (b"[" * 100_000, "cannot be read"),
        (b"[1, 2]", "cannot be read"),
        (file([BREAD, {"title": "no mapping"}]), "mapping"),
        (file([chatgpt(place("d", None, said("user", "x", 1e300)))]), "create_time"),
        (file([chatgpt(place("d", None, said("user", "x", -1.0)))]), "create_time"),
        (file([{**BREAD, "title": 7}]), "title"),
        (file(CIRCLE), "cycle"),
        (file(TWICE), "same id"),
        (file({**UI, "messages": [message("a", None, "root", "x")]}), "role"),
        (UI_LINES.encode() + b'\n{"type": "message", "message": {}}', "line 7"),
        (UI_LINES.encode() + b"\nnonsense", "line 7"),
        (file([BREAD])[:-20], "cannot be read"),
        (archive(conversations__json=b"[oops"), "conversations.json in this archive"),
        (archive(conversations__json=file([BREAD]))[:-30], "archive cannot be read"),
        (b"PK\x03\x04" + b"\x00" * 100, "archive cannot be read"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_is_broken_is_one_sentence(data, complaint):
    with pytest.raises(StorageError, match=complaint):
        read(data)


def test_an_archive_that_swells_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(formats, "MAX_BYTES", 100_000)
    packed = archive(conversations__json=b"[" + b" " * 200_000 + b"]")
    assert len(packed) < 1000
    with pytest.raises(StorageError, match="unpacked"):
        read(packed)


def test_a_long_conversation_of_one_role_is_read_in_no_time():
    """Joined as they come, its texts would be 16 GB."""
    places = [place(str(i), str(i - 1), said("user", "x" * 50)) for i in range(25_000)]
    (whole,) = read(file(chatgpt(*places)))
    assert [len(each.content) for each in whole.messages] == [25_000 * 52 - 2]


@settings(max_examples=60)
@given(st.data())
def test_whatever_is_changed_in_a_file_is_read_or_refused(data):
    original = data.draw(st.sampled_from([file([BREAD]), file(UI), UI_LINES.encode()]))
    start = data.draw(st.integers(0, len(original)))
    end = data.draw(st.integers(start, min(len(original), start + 20)))
    changed = original[:start] + data.draw(st.binary(max_size=10)) + original[end:]
    store = Store(None)
    try:
        store.take_in(read(changed))
    except StorageError:
        assert store.summaries() == ()
    finally:
        store.close()


def test_what_is_there_already_is_not_added_again():
    store = opened()
    (bread,) = read(file([BREAD]))
    (first,) = store.take_in([bread])
    assert first.is_new
    again = store.take_in([bread, *read(file(UI)), *read(UI_LINES.encode())])
    assert [each.is_new for each in again] == [False, True, False]
    assert again[0].number == first.number
    store.ask(first.number, store.path(first.number)[-1].id, "And cake?")  # it went on here
    assert not store.take_in([bread])[0].is_new
    store.delete(first.number)
    assert store.take_in([bread])[0].is_new


def test_one_that_went_on_elsewhere_is_another():
    store = opened()
    store.take_in(read(file([BREAD])))
    longer = {**BREAD, "mapping": {**BREAD["mapping"], **place("z", "d", said("assistant", "240"))}}
    assert store.take_in(read(file([longer])))[0].is_new


@pytest.mark.parametrize("parent", [9, 1])
def test_of_conversations_one_of_which_cannot_be_added_none_is(parent):
    store = opened()
    good = read(file([BREAD]))
    line = (
        f'{{"id":1,"parent":{parent},"role":"user","content":"x","created":1.0,"state":"complete"}}'
    )
    bad = read(f'{{"specchat":1}}\n{line}'.encode())
    with pytest.raises(StorageError, match="does not exist"):
        store.take_in([*good, *bad])
    assert store.summaries() == ()
