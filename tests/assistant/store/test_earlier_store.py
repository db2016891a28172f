"""A store that an earlier program made (at b7c412c), with what that program exported of it.

Its program was killed while an answer streamed, and another conversation had been deleted.
"""

import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.store.exports import json_lines, read_json_lines
from assistant.store.purging import purge
from assistant.store.store import Store
from assistant.store.values import INTERRUPTED, unsent
from tests.assistant.store.talks import contents, integrity, opened, trace
from tests.stored import ask, begin, end

HERE = Path(__file__).parent


@pytest.fixture
def earlier(path: Path) -> Store:
    path.parent.mkdir()
    path.write_bytes(lzma.decompress((HERE / "earlier_store.db.xz").read_bytes()))
    return opened(path)


def test_it_holds_what_the_earlier_program_exported(earlier):
    colours, tools = read_json_lines((HERE / "earlier_store.jsonl").read_text().splitlines())
    *said, streaming = tools.messages
    interrupted = replace(streaming, state="failed", stop=INTERRUPTED)
    expected = colours, replace(tools, messages=(*said, interrupted))
    found = [next(read_json_lines(json_lines(earlier.whole(number)))) for number in (1, 2)]
    assert tuple(found) == expected
    assert earlier.notice is None
    assert earlier.answers.trace(2) == trace(2)


def test_it_is_searched_and_what_was_unsent_and_dropped_is_there(earlier):
    assert [each.title for each in earlier.summaries()] == ["Colours", "What is in sky.txt?"]
    assert [each.id for each in earlier.summaries("zeppelin")] == [2]
    assert [each.id for each in earlier.summaries("rayleigh")] == [1]
    assert earlier.recall(unsent(2, None)) == "half a thought"
    earlier.restore(11)
    assert contents(earlier, 1)[-1] == "hidden"
    earlier.undelete(3)
    assert contents(earlier, 3) == ["deleted", "Answer to deleted"]


def test_it_is_written_to_and_purged_as_a_new_one(earlier, path):
    leaf = earlier.path(2)[-1]
    asked = ask(earlier, 2, leaf.id, "And what else?")
    answer = begin(earlier, 2, asked.id, "tiny")
    earlier.answers.stream(answer.id, "Air", trace(1))
    end(earlier, answer.id, "Airship", (), trace(2), None, None, "complete")
    assert [each.id for each in earlier.summaries("airship")] == [2]
    purge(earlier._database)
    earlier.close()
    assert b"Answer to deleted" not in path.read_bytes()
    assert integrity(path) == "ok"
    assert contents(opened(path), 2)[-2:] == ["And what else?", "Airship"]
