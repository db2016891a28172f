"""Files with a model's name that are no models: refused in a sentence, never waited for."""

import io
import os
import pickle
import struct
import zipfile
from pathlib import Path

import pytest

from models import gguf
from models.errors import ModelError, ModelMissing
from models.files.locate import identify
from models.native.weights import Weights

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n"
SAFE = b'{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
PAGES = (
    b"<!DOCTYPE html><html><body>log in</body></html>",
    b"\xef\xbb\xbf\r\n  <HTML lang=en>",
    b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
)


class Trap:
    """Tells when somebody unpickles it."""

    def __reduce__(self):
        return os.mkdir, ("unpickled",)


def archive() -> bytes:
    """Return a checkpoint as PyTorch saves it: pickles in a ZIP."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps(Trap()))
    return buffer.getvalue()


FILES = {
    **{f"pickle {i}": (pickle.dumps({"w": Trap()}, i), "a Python pickle") for i in range(6)},
    **{f"list {i}": (pickle.dumps([1.0] * 99, i), "a Python pickle") for i in range(6)},
    **{f"page {i}": (page, "a web page") for i, page in enumerate(PAGES)},
    "zip": (archive(), "a zip archive"),
    "safetensors": (struct.pack("<Q", len(SAFE)) + SAFE + bytes(4), "a safetensors file"),
    "lfs": (LFS, "a git-lfs pointer"),
    "json": (b' {"error": "Repository not found"}', "a JSON file"),
    "llamafile": (b"MZqFpD='\n" + bytes(99), "a program"),
    "elf": (b"\x7fELF\x02" + bytes(99), "a program"),
    "gzip": (b"\x1f\x8b\x08" + bytes(99), "compressed"),
    "nothing": (b"", "empty"),
    "GGML": (b"GGML....", "in the old GGML format"),
    "cut magic": (b"GGU", "not a GGUF file"),
    "unknown": (b"nothing known", "not a GGUF file"),
    "zeros": (bytes(9999), "not a GGUF file"),
}


def check_refused(path: Path, kind: str) -> None:
    for use in (gguf.read, gguf.read_vocabulary, Weights):
        with pytest.raises(ModelError) as caught:
            use(path)
        message = str(caught.value)
        assert message.startswith(f"{path} is {kind}"), message
        assert message.isprintable()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_model_is_called_what_it_is(tmp_path, monkeypatch, name):
    data, kind = FILES[name]
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    check_refused(path, kind)
    assert os.listdir() == ["model.gguf"]  # nothing was unpickled


def test_a_path_that_is_no_file_is_refused_and_never_waited_for(tmp_path):
    (tmp_path / "folder.gguf").mkdir()
    os.mkfifo(tmp_path / "pipe.gguf")
    (tmp_path / "link.gguf").symlink_to(tmp_path / "pipe.gguf")
    for path in (*tmp_path.iterdir(), Path("/dev/zero")):
        check_refused(path, "not a file")
        with pytest.raises(ModelError, match="not a file"):
            identify(str(path))


def test_a_link_that_leads_to_itself_or_nowhere_is_refused(tmp_path):
    (tmp_path / "loop.gguf").symlink_to(tmp_path / "loop.gguf")
    (tmp_path / "gone.gguf").symlink_to(tmp_path / "nothing")
    for name, error in (("loop", ModelError), ("gone", ModelMissing), ("absent", ModelMissing)):
        for use in (gguf.read, Weights):
            with pytest.raises(error, match=f"{name}.gguf"):
                use(tmp_path / f"{name}.gguf")
