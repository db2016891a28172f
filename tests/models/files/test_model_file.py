"""Model files: parts of other models are known as such, and headers are read once."""

import json
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from models import gguf
from models.drafts import Pairing, best_draft
from models.errors import ModelError
from models.files import model_file
from models.files.locate import identify
from models.files.model_file import chat_header, read_header
from models.files.stores import discover
from models.gguf import read
from models.native.weights import Weights
from tests import tiny
from tests.models.files.stores import odd

HELPERS = json.loads(Path(__file__).with_name("helpers.json").read_text())
"""By name: architecture, type, keys, tensors, whether it has tokens, and what it is."""


@pytest.mark.parametrize("name", HELPERS)
def test_a_helper_is_not_listed_and_says_by_its_path_what_it_is(tmp_path, name):
    *how, tokens, what = HELPERS[name]
    path = odd(tmp_path / f"{name}.gguf", *how, tokens=tokens)
    assert not list(discover([tmp_path]))
    assert what in str(identify(str(path)).unusable_reason)
    with pytest.raises(ModelError, match=r"Name the model itself\.$") as refused:
        Weights(path)
    assert f"{path} is a" in str(refused.value)
    assert what in str(refused.value)


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_a_whole_model_is_none_whatever_it_is_called(tmp_path, kind):
    """Also one that holds a head of its own, as glm4moe does."""
    for name in ("mtp-x", "mmproj-x", "lora-x", "imatrix-x", "best-of-breed"):
        path = tiny.write(tmp_path / f"{name}.gguf", kind)
        assert chat_header(path).helper is None
    assert len(list(discover([tmp_path]))) == 5


def test_an_embedding_model_is_listed_with_the_reason_why_it_is_unusable(tmp_path):
    odd(tmp_path / "m.gguf", "nomic-bert", tokens=True, tensors=("token_embd.weight",))
    (model,) = discover([tmp_path])
    assert "embedding model" in str(model.unusable_reason)
    with pytest.raises(ModelError, match="Choose another"):
        chat_header(model.path)


def test_no_helper_is_ever_a_draft_and_a_name_like_one_is_chosen_by_nobody_else(tmp_path):
    target = identify(str(tiny.write(tmp_path / "t.gguf", layers=8)))
    head = odd(tmp_path / "h.gguf", "gemma4-assistant", tensors=("token_embd.weight",), tokens=True)
    named = tiny.write(tmp_path / "mtp-t.gguf")
    files = [identify(str(path)) for path in (head, named)]
    assert read(head).vocabulary == read(named).vocabulary
    assert [Pairing(target).judge(each).serves for each in files] == [False, True]
    assert best_draft(target, files)[0] is None
    named.rename(tmp_path / "small.gguf")
    assert best_draft(target, [identify(str(tmp_path / "small.gguf"))])[0]


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A file with a header that is worth a record, and what is read of files."""
    path = tiny.write(tmp_path / "m.gguf")
    monkeypatch.setattr(model_file, "CACHED_FROM", 1)
    return path


@pytest.fixture
def readings(monkeypatch):
    """Reads headers, and counts it."""
    read = Mock(wraps=gguf.read)
    monkeypatch.setattr(gguf, "read", read)
    return read


def test_a_header_is_read_once_and_again_when_the_file_has_changed(large, readings, tmp_path):
    first = read_header(large)
    other = tmp_path / "link.gguf"
    other.symlink_to(large)
    assert read_header(large) == first
    assert read_header(other).path == other
    readings.assert_called_once_with(large)
    tiny.write(large, "mamba")
    assert read_header(large).architecture == "mamba"
    os.truncate(large, large.stat().st_size - 100)
    with pytest.raises(ModelError, match="missing"):
        read_header(large)
    with pytest.raises(ModelError, match="missing"):
        read_header(large)
