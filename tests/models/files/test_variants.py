"""`locate.variant`: the same model in another quantisation, by what its files say."""

from pathlib import Path

import pytest

from models.errors import ModelMissing
from models.files.gguf_files import is_label
from models.files.locate import variant
from tests import tiny

F16, Q4_0, Q8_0, Q4_K_M = 1, 2, 7, 15


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose models are in three places."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for folder in ("hub", "models", "here"):
        (tmp_path / folder).mkdir()
    return tmp_path


def write(path: Path, file_type: int, name: str | None = "Toy 1B Instruct", **options) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return tiny.write(path, name=name, file_type=file_type, **options)


def test_target_is_its_own_variant(machine):
    target = write(machine / "here" / "target.gguf", Q4_K_M)
    write(machine / "here" / "other-q4_0.gguf", Q4_0)
    for label in ("q4", "Q4_K", "q4_k_m"):
        assert variant(target, label) == target


@pytest.mark.parametrize(
    "place", ["here/x.gguf", "models/x.gguf", "hub/models--org--toy/snapshots/abc/toy.f16.gguf"]
)
def test_variant_is_found_in_the_same_folder_the_cache_and_the_models_folder(machine, place):
    target = write(machine / "here" / "target.gguf", Q4_K_M)
    write(machine / "here" / "q8.gguf", Q8_0)
    wanted = write(machine / place, F16)
    assert variant(target, "f16") == wanted
    assert variant(target, "F16") == wanted


def test_words_of_packaging_in_a_name_make_no_other_model(machine):
    target = write(machine / "here" / "target.gguf", Q4_K_M, "Toy 1B Instruct GGUF")
    wanted = write(machine / "here" / "x.gguf", F16, "toy-1b-instruct-f16")
    assert variant(target, "f16") == wanted


@pytest.mark.parametrize(
    "other",
    [
        {"name": "Toy 1B"},
        {"name": None},
        {"layers": 3},
        {"controls": (*tiny.CONTROLS, "<|more|>")},
        {"kind": "gemma3"},
    ],
    ids=["another name", "no name", "another size", "another vocabulary", "another architecture"],
)
def test_another_model_is_no_variant_and_the_error_says_where_was_looked(machine, other):
    target = write(machine / "here" / "target.gguf", Q4_K_M)
    write(machine / "here" / "f16.gguf", F16, **other)
    (machine / "here" / "broken-f16.gguf").write_bytes(b"GGUF nonsense")
    with pytest.raises(ModelMissing) as caught:
        variant(target, "f16")
    for part in ("Toy 1B Instruct", "F16", "here", "hub", "models", "Give the path"):
        assert part in str(caught.value)


def test_files_without_a_name_are_only_like_themselves(machine):
    target = write(machine / "here" / "target.gguf", Q4_K_M, None)
    write(machine / "here" / "f16.gguf", F16, None)
    with pytest.raises(ModelMissing):
        variant(target, "f16")
    assert variant(target, "q4") == target


@pytest.mark.parametrize("text", ["f16", "BF16", "f32", "q4", "q8_0", "Q4_K_M", "iq4_xs", "mxfp4"])
def test_labels_are_told_from_models(text):
    assert is_label(text)
    assert not is_label(f"{text}.gguf")
    assert not is_label(f"models/{text}")
    assert not is_label(f"qwen-{text}")
