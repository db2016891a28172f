"""The default pair's slim draft: made where the pair was fetched, always the same."""

from unittest.mock import Mock

import numpy as np
import pytest

from models import catalog, engines
from models.catalog import GGUF
from models.drafts import best_draft, own_draft, target_mark
from models.errors import StorageError
from models.files import checksum
from models.files.locate import identify
from models.files.stores import discover
from models.gguf import read_vocabulary
from models.slim import slim_draft
from tests import tiny
from tests.tools.public_text.vocabulary import packed

WORDS = tuple(f" word{i}" for i in range(101))  # in all a multiple of eight
SIZE = 259 + len(WORDS)
KEPT = [*range(259), *range(300, 320)]


@pytest.fixture
def pair(bare_machine, monkeypatch):
    """A machine with the default pair, which is tiny here, and the list of what its draft keeps."""
    for name, layers in (("big", 12), ("small", 4)):
        path = tiny.write(bare_machine / "models" / f"{name}.gguf", layers=layers, words=WORDS)
        size = path.stat().st_size
        entry = GGUF(name, None, path.name, None, size, None, "MIT", draft="small")
        monkeypatch.setitem(catalog.FILES, name, entry)
    pair = catalog.Pair("default", catalog.FILES["big"], catalog.FILES["small"])
    monkeypatch.setattr(catalog, "DEFAULT", pair)
    bits = np.zeros(SIZE, np.uint8)
    bits[KEPT] = 1
    monkeypatch.setattr(slim_draft, "DEFAULT_TOKENS", bare_machine / "tokens")
    slim_draft.DEFAULT_TOKENS.write_bytes(packed(bits))


@pytest.fixture
def reports():
    """What was reported."""
    return []


def sentences(reports):
    return " ".join(each.warning for each in reports)


def test_it_is_made_once_keeps_what_the_list_says_and_is_the_targets_draft_from_then_on(
    pair, reports
):
    path = slim_draft.default_draft(reports.append)
    assert path is not None
    vocabulary, whole = read_vocabulary(path), read_vocabulary(path.with_name("small.gguf"))
    assert [vocabulary.text(i) for i in range(vocabulary.size)] == [whole.text(i) for i in KEPT]
    target = identify("big")
    assert best_draft(target, discover())[0].path == own_draft(target).path == path
    assert "Made a faster draft" in sentences(reports)
    assert path.with_name("small.gguf").exists()
    digest, stamp = checksum.sha256(path), path.stat().st_mtime_ns
    reports.clear()
    assert slim_draft.default_draft(reports.append) == path
    assert (path.stat().st_mtime_ns, reports) == (stamp, [])
    path.unlink()
    assert checksum.sha256(slim_draft.default_draft(reports.append)) == digest


def test_a_draft_that_was_measured_here_is_neither_replaced_nor_passed_over(pair, reports):
    bundled = slim_draft.default_draft(reports.append)
    source = identify("small").path
    own = slim_draft.make(source, np.arange(340), target_mark(identify("big")))
    assert own.stat().st_size > bundled.stat().st_size
    target = identify("big")
    assert best_draft(target, discover())[0].path == own_draft(target).path == own
    assert slim_draft.default_draft(reports.append) == own


def test_without_a_slim_draft_the_whole_one_serves_with_the_reason(pair, reports, monkeypatch):
    with monkeypatch.context() as patched:
        no_room = StorageError("There is no room.")
        patched.setattr(slim_draft, "require_space", Mock(side_effect=no_room))
        assert slim_draft.default_draft(reports.append) is None
    assert "There is no room. The draft is used as downloaded." in sentences(reports)
    with monkeypatch.context() as patched:
        patched.setattr(engines, "installed", list)
        assert slim_draft.default_draft(reports.append) is None
    assert "llama.cpp is not installed. Install it with: make" in sentences(reports)
    assert best_draft(identify("big"), discover())[0].name == "small"


def test_a_file_of_another_vocabulary_is_left_alone(pair, reports):
    slim_draft.DEFAULT_TOKENS.write_bytes(packed(np.ones(SIZE + 8, np.uint8)))
    assert slim_draft.default_draft(reports.append) is None
    assert "a different vocabulary" in sentences(reports)


def test_the_list_that_ships_is_one_of_the_default_vocabulary():
    ids, size = slim_draft.default_tokens()
    assert (len(ids), size) == (64_000, 151_936)


@pytest.mark.weights
def test_the_list_that_ships_lacks_nothing_indispensable(default_pair):
    vocabulary = read_vocabulary(default_pair[1])
    ids, size = slim_draft.default_tokens()
    assert size == vocabulary.size
    left = set(range(size)) - set(ids.tolist())
    assert all(vocabulary.kind(i) in (1, 5) and len(vocabulary.piece(i)) > 1 for i in left)
