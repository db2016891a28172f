"""Target and draft files are located from the settings."""

from pathlib import Path

import pytest

from assistant.settings.settings import Settings
from models.errors import ModelMissing
from tests import tiny
from tests.models.files.stores import file, ollama_model


@pytest.fixture
def target(bare_machine: Path) -> Path:
    return tiny.write(bare_machine / "target.gguf", layers=12)


def test_a_target_by_path_gets_the_smallest_draft(bare_machine: Path, target: Path) -> None:
    folder = bare_machine / "own"
    tiny.write(folder / "middle.gguf", layers=3)
    tiny.write(folder / "small.gguf", layers=1)
    tiny.write(folder / "alien.gguf", layers=1, controls=("<|a|>", "<|b|>", "<|c|>"))
    setup, no_draft = Settings(target=str(target), folders=(folder,)).setup()
    assert (setup.target, setup.draft) == (target, folder / "small.gguf")
    assert no_draft is None


def test_another_programs_target_is_named_and_has_a_draft(bare_machine: Path, target: Path) -> None:
    blob = ollama_model("registry.example/library/big/1b", target.read_bytes())
    small = tiny.write(bare_machine / "x", layers=1).read_bytes()
    draft = file(bare_machine / "person/.lmstudio/models/a/b/small.gguf", small)
    setup, _ = Settings(target="ollama:big:1b").setup()
    assert (setup.target, setup.draft) == (blob, draft)


def test_a_named_draft_is_taken_and_none_has_a_reason(bare_machine: Path, target: Path) -> None:
    other = tiny.write(bare_machine / "other.gguf", controls=("<|a|>", "<|b|>", "<|c|>"))
    for draft, path, reason in (
        (None, None, "No smaller model here has the vocabulary of target.gguf."),
        ("none", None, "No model guesses, as you asked."),
        (str(other), other, None),
    ):
        setup, no_draft = Settings(target=str(target), draft=draft).setup()
        assert (setup.draft, no_draft) == (path, reason)


@pytest.mark.parametrize("save", [True, False])
@pytest.mark.parametrize("learn", [True, False])
def test_answers_are_recalled_if_saved_and_learnt(target: Path, save: bool, learn: bool) -> None:
    setup, _ = Settings(target=str(target), draft="none", save=save, learn=learn).setup()
    assert setup.recalls == (save and learn)


def test_without_the_usual_model_one_hears_of_both_ways_and_of_a_missing_one_alone(
    bare_machine: Path, target: Path
) -> None:
    with pytest.raises(ModelMissing) as nothing_here:
        Settings().setup()
    with pytest.raises(ModelMissing) as some_here:
        Settings(folders=(target.parent,)).setup()
    assert "models pull" in str(nothing_here.value)
    assert "--target" not in str(nothing_here.value)
    assert f"name one, as in --target {target.parent}" in str(some_here.value)
    assert "models pull default" in str(some_here.value)
    with pytest.raises(ModelMissing) as missing:
        Settings(target="smollm2-135m", folders=(target.parent,)).setup()
    assert "others are" not in str(missing.value)


def test_only_what_can_answer_stands_in_for_the_usual(bare_machine: Path, target: Path) -> None:
    file(bare_machine / "own" / "a.gguf", b"GGUF")
    with pytest.raises(ModelMissing) as missing:
        Settings(folders=(bare_machine / "own",)).setup()
    assert "a.gguf" not in str(missing.value)
    with pytest.raises(ModelMissing, match=str(target.parent)):
        Settings(folders=(bare_machine / "own", target.parent)).setup()
