"""`stores`: models of other programs are found in place, each once, and never changed."""

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from models.errors import ModelError, ModelMissing
from models.files.gguf_files import tree
from models.files.locate import identify
from models.files.model_file import chat_header
from models.files.places import hub_cache, models_dir
from models.files.stores import discover
from tests.models.files.stores import OTHER, file, hub_file, odd, ollama_manifest, ollama_model

LAYER = {"mediaType": "application/vnd.ollama.image.model"}


def names(*folders):
    return {model.name: model.store for model in discover(folders)}


def variants(data, count):
    """Files that are no copies of each other."""
    return [data + bytes([number]) for number in range(count)]


def test_models_of_every_program_are_found_by_the_names_they_have_there(data, tmp_path):
    home, bytes_ = Path.home(), iter(variants(data, 9))
    hub_file("some/one", OTHER, "deep/file.gguf", next(bytes_), "e" * 64)
    file(models_dir() / "mine.gguf", next(bytes_))
    file(home / ".cache/llama.cpp/org_repo_cpp.gguf", next(bytes_))
    ollama_model("registry.example/library/llama3.2/1b", next(bytes_))
    file(home / ".lmstudio/models/org/repo/lm.gguf", next(bytes_))
    jan = file(home / ".local/share/Jan/data/elsewhere/model.gguf", next(bytes_))
    note = home / ".local/share/Jan/data/llamacpp/models/jan-nano/model.yml"
    file(note, b"name: Jan\nmodel_path: elsewhere/model.gguf\nsize_bytes: 7\n")
    file(home / ".local/share/nomic.ai/GPT4All/gpt4all.gguf", next(bytes_))
    file(tmp_path / "own/folder.gguf", next(bytes_))
    assert names(tmp_path / "own") == {
        "some/one:deep/file.gguf": "Hugging Face", "mine.gguf": "specchat",
        "org_repo_cpp.gguf": "llama.cpp", "llama3.2:1b": "Ollama", "org/repo/lm.gguf": "LM Studio",
        "jan-nano": "Jan", "gpt4all.gguf": "GPT4All", "folder.gguf": "folder",
    }  # fmt: skip
    assert jan in [model.path for model in discover()]
    for model in discover([tmp_path / "own"]):
        assert identify(model.reference).path == model.path


def test_programs_are_followed_to_where_their_models_were_moved(data, tmp_path, monkeypatch):
    bytes_ = iter(variants(data, 4))
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path / "there"))
    file(tmp_path / "there/x.gguf", next(bytes_))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file(tmp_path / "cache/llama.cpp/y.gguf", next(bytes_))
    file(Path.home() / ".lmstudio-home-pointer", str(tmp_path / "lm").encode() + b"\n")
    file(tmp_path / "lm/models/a/b/lm.gguf", next(bytes_))
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "ollama"))
    ollama_model("registry.x/user/thing/latest", next(bytes_), folder=tmp_path / "ollama")
    assert names() == {
        "x.gguf": "llama.cpp", "y.gguf": "llama.cpp", "a/b/lm.gguf": "LM Studio",
        "user/thing:latest": "Ollama",
    }  # fmt: skip


def test_an_ollama_model_is_located_by_its_name(data):
    blob = ollama_model("registry.example/library/tiny/latest", data)
    assert identify("ollama:tiny").path == identify("ollama:tiny:latest").path == blob
    with pytest.raises(ModelMissing, match="Ollama has no model"):
        identify("ollama:other")


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", '{"layers": 3}', '{"layers": [{}]}', "[" * 100_000),
        *(
            json.dumps({"layers": [{**LAYER, "digest": digest}]})
            for digest in ("sha256:d/../../../secret", 3, f"sha256:{'b' * 64}")
        ),
    ],
)
def test_a_hostile_manifest_names_nothing_and_harms_nothing(data, text):
    file(Path.home() / ".ollama/secret", data)
    (Path.home() / ".ollama/models/blobs/sha256-d").mkdir(parents=True)
    ollama_model("registry.example/library/good/1b", data)
    ollama_manifest("registry.example/library/bad/1b", text)
    assert names() == {"good:1b": "Ollama"}


@pytest.mark.parametrize("note", [b"model_path: /dev/zero", b"model_path: ../../x\0.gguf", b"\xff"])
def test_a_hostile_note_of_jan_names_nothing(note):
    file(Path.home() / ".local/share/Jan/data/llamacpp/models/bad/model.yml", note)
    assert names() == {}


def test_the_same_bytes_are_found_once_however_they_are_linked(data, tmp_path):
    blob = hub_file("some/one", OTHER, "file.gguf", data, "e" * 64).resolve()
    (tmp_path / "own").mkdir()
    os.link(blob, tmp_path / "own/hard.gguf")
    (tmp_path / "own/soft.gguf").symlink_to(blob)
    assert names(tmp_path / "own") == {"some/one:file.gguf": "Hugging Face"}


def test_loops_of_links_end_and_linked_folders_are_entered(data, tmp_path):
    own = tmp_path / "own"
    file(tmp_path / "disk/model.gguf", data)
    own.mkdir()
    (own / "disk").symlink_to(tmp_path / "disk")
    (own / "loop").symlink_to(own)
    (own / "disk/back").symlink_to(own)
    (own / "self.gguf").symlink_to("self.gguf")
    (own / "gone.gguf").symlink_to("nowhere")
    assert names(own) == {"disk/model.gguf": "folder"}
    assert [folder for folder, _ in tree(own)] == [own, own / "disk"]


def test_a_folder_that_cannot_be_read_is_passed_over(data, tmp_path, monkeypatch):
    own = tmp_path / "own"
    file(own / "good.gguf", data)
    file(own / "shut/model.gguf", data)
    scandir = os.scandir

    def refuse(folder):
        if Path(folder).name == "shut":
            raise PermissionError(13, "Permission denied", str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)  # root may read every folder
    assert names(own, tmp_path / "absent") == {"good.gguf": "folder"}


@pytest.mark.parametrize(("here", "missing"), [((1, 2, 3), 0), ((1, 3), 2), ((2, 3), 1)])
def test_a_split_model_is_one_and_says_which_part_is_missing(data, tmp_path, here, missing):
    for number in here:
        file(tmp_path / f"big-{number:05d}-of-00003.gguf", data)
    (model,) = discover([tmp_path])
    assert model.size == len(here) * len(data)
    lost = f"it lacks 1 of its 3 parts, first big-{missing:05d}-of-00003.gguf."
    assert model.unreadable_reason == (lost if missing else None)
    with pytest.raises(ModelError, match=f"is incomplete: {lost}") if missing else nullcontext():
        chat_header(model.path)
    last = tmp_path / "big-00003-of-00003.gguf"
    assert identify(str(last)).path == (model.path if 1 in here else last)


def test_a_vocabulary_alone_and_a_damaged_file_say_so(tmp_path, data):
    odd(tmp_path / "vocab.gguf", "llama", tokens=True)
    file(tmp_path / "cut.gguf", data[:-1])
    file(tmp_path / "mmproj-model.gguf", data[:-1])  # whose header says nothing
    reasons = {each.name: str(each.unusable_reason) for each in discover([tmp_path])}
    assert reasons.keys() == {"vocab.gguf", "cut.gguf"}
    assert "without weights" in reasons["vocab.gguf"]
    assert "damaged" in reasons["cut.gguf"]


def test_without_a_place_for_the_record_models_are_found_anyway(tmp_path, data, monkeypatch):
    monkeypatch.setenv("SPECCHAT_HOME", str(file(tmp_path / "a-file", b"")))
    file(tmp_path / "own/model.gguf", data)
    assert names(tmp_path / "own") == {"model.gguf": "folder"}


def test_nothing_is_written_where_models_are(tmp_path, data):
    hub_file("some/one", OTHER, "file.gguf", data, "e" * 64)
    ollama_model("registry.example/library/tiny/latest", data + b"\0")
    places = (hub_cache(), Path.home())
    before = [sorted(path for path in place.rglob("*")) for place in places]
    assert len(list(discover())) == 2
    assert [sorted(path for path in place.rglob("*")) for place in places] == before
