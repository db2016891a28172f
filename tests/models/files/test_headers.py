"""`model_file.read_header`: GGUF headers that are cached between starts."""

import os
from unittest.mock import Mock

import pytest

from models import gguf
from models.errors import ModelError
from models.files import model_file
from models.files.model_file import read_header
from tests import tiny


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
