"""`mapping.cached_mapping`: stored vocabulary mappings, and the refusal of damaged ones."""

import os
from unittest.mock import Mock

import pytest
from msgspec import msgpack

from models import gguf, mapping
from models.gguf import read_vocabulary
from models.mapping import cached_mapping, shared_tokens
from tests import tiny


@pytest.fixture
def pair(tmp_path):
    """The headers of a target and a draft that has other ids, and lacks some of its tokens."""
    target = tiny.write(tmp_path / "target.gguf", words=("and", "the"))
    draft = tiny.write(tmp_path / "draft.gguf", words=("the", "or"))
    return gguf.read(target), gguf.read(draft)


def content(mapping) -> tuple[object, ...]:
    shared, size, spell = mapping
    return shared, size, [tuple(spell(token)) for token in range(size) if token not in shared]


@pytest.fixture
def comparing(monkeypatch):
    """What compares vocabularies, and counts it."""
    comparing = Mock(side_effect=shared_tokens)
    monkeypatch.setattr(mapping, "shared_tokens", comparing)
    return comparing


def test_a_stored_mapping_is_the_computed_one_which_is_computed_once_until_a_file_changes(
    pair, tmp_path, comparing
):
    made = content(cached_mapping(*pair, tmp_path))
    target, draft = (read_vocabulary(header.path) for header in pair)
    assert made == content(shared_tokens(target, draft))
    assert made == content(cached_mapping(*pair, tmp_path))
    assert comparing.call_count == 1
    assert made[2], "a token that the draft lacks"
    os.utime(pair[1].path, ns=(1, 1))
    cached_mapping(*pair, tmp_path)
    assert comparing.call_count == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda reads: b"",
        lambda reads: msgpack.encode(reads)[:-1],
        lambda reads: msgpack.encode(reads[:-1]),
        lambda reads: msgpack.encode([*reads, 0]),
        lambda reads: msgpack.encode([-1, *reads[1:]]),
        lambda reads: msgpack.encode([10**9, *reads[1:]]),
        lambda reads: msgpack.encode([*reads[:-1], [-1]]),
        lambda reads: msgpack.encode([*reads[:-1], [10**9]]),
    ],
)
def test_a_damaged_file_is_never_used_and_made_again(pair, tmp_path, comparing, damage):
    made = content(cached_mapping(*pair, tmp_path))
    (path,) = (tmp_path / "mappings").iterdir()
    sound = path.read_bytes()
    path.write_bytes(damage(msgpack.decode(sound)))
    assert content(cached_mapping(*pair, tmp_path)) == made
    assert comparing.call_count == 2
    assert path.read_bytes() == sound


def test_a_pipe_for_a_file_or_a_read_only_folder_costs_a_comparison(pair, tmp_path, comparing):
    made = content(cached_mapping(*pair, tmp_path))
    (path,) = (tmp_path / "mappings").iterdir()
    path.unlink()
    os.mkfifo(path)
    (tmp_path / "file").touch()
    for folder in tmp_path, tmp_path / "file", None:
        assert content(cached_mapping(*pair, folder)) == made
    assert comparing.call_count == 4


def test_the_oldest_files_leave(pair, tmp_path, monkeypatch):
    monkeypatch.setattr(mapping, "MAX_FILES", 2)
    for stamp in range(1, 5):
        os.utime(pair[1].path, ns=(stamp, stamp))
        cached_mapping(*pair, tmp_path)
    assert len([*(tmp_path / "mappings").iterdir()]) == 2
