"""`drafts`: which file drafts for which target, by the headers alone."""

from types import SimpleNamespace

import numpy as np
import pytest

from models import catalog, gguf
from models.catalog import GGUF
from models.drafts import DraftVerdict, Pairing, best_draft
from models.files.locate import identify
from models.files.stores import discover
from models.gguf.vocabulary import mismatch
from models.slim.writing import read_layout, trimmed, write
from tests import tiny

pytestmark = pytest.mark.usefixtures("bare_machine")


def vocab(*texts: str, unused: tuple[int, ...] = ()):
    return SimpleNamespace(
        size=len(texts), text=texts.__getitem__, is_unused=lambda token: token in unused
    )


SHORT, LONG = vocab("a", "b"), vocab("a", "b", "c")
PADDED = vocab("a", "b", "[PAD2]", "[PAD3]", unused=(2, 3))


@pytest.mark.parametrize(
    ("target", "draft", "reason"),
    [
        (SHORT, vocab("a", "b"), None),
        (SHORT, PADDED, None),
        (PADDED, SHORT, None),
        (vocab("a", "[PAD1]", unused=(1,)), vocab("a", "<think>"), None),
        (LONG, vocab("a", "x", "y"), "token 1 is 'b' in the target and 'x' in the draft"),
        (LONG, SHORT, "token 2, 'c', is only in the target"),
        (SHORT, LONG, "token 2, 'c', is only in the draft"),
    ],
)
def test_vocabularies_match_except_padding_or_the_first_difference_is_named(target, draft, reason):
    assert mismatch(target, draft) == reason


@pytest.fixture
def large(tmp_path):
    return identify(str(tiny.write(tmp_path / "large.gguf", layers=12)))


def small(tmp_path, name="small.gguf", **options):
    return identify(str(tiny.write(tmp_path / name, **options)))


def test_a_smaller_file_of_the_same_vocabulary_serves_and_never_the_target_itself(large, tmp_path):
    assert Pairing(large).judge(small(tmp_path)) == DraftVerdict(True, "same vocabulary")
    (tmp_path / "link.gguf").symlink_to(large.path)
    verdict = Pairing(large).judge(identify(str(tmp_path / "link.gguf")))
    assert verdict.reason == "it is the one that answers"


@pytest.mark.parametrize("options", [{"kind": "lfm2"}, {"seed": 3}])
def test_a_draft_that_is_not_smaller_does_not_serve(large, tmp_path, options):
    verdict = Pairing(large).judge(small(tmp_path, layers=12, **options))
    assert verdict == DraftVerdict(False, "it is not smaller")


@pytest.mark.parametrize("controls", [("<|a|>", "<|b|>", "<|c|>"), (*tiny.CONTROLS, "<|more|>")])
def test_another_vocabulary_serves_by_what_it_shares_but_only_if_asked(large, tmp_path, controls):
    draft = small(tmp_path, controls=controls)
    shared = 256 + len({*controls} & {*tiny.CONTROLS})
    assert Pairing(large).judge(draft).reason == f"{shared} tokens in common"
    assert best_draft(large, [draft])[0] is None


def test_a_draft_that_lacks_most_text_is_refused_with_the_first_difference(large, tmp_path):
    layout = read_layout(tiny.write(tmp_path / "whole.gguf"))
    ids = np.arange(80, 259)
    write(layout, tmp_path / "part.gguf", trimmed(layout.values, ids, 259), ids)
    verdict = Pairing(large).judge(identify(str(tmp_path / "part.gguf")))
    assert not verdict.serves
    assert "a different vocabulary: token 0 is " in verdict.reason
    assert "of the tokens of ordinary text; 70% is needed" in verdict.reason


@pytest.mark.parametrize("kinds", [("mamba", "llama"), ("llama", "lfm2"), ("qwen35", "mamba")])
def test_recurrent_models_draft_and_are_drafted_for(tmp_path, kinds):
    target = identify(str(tiny.write(tmp_path / "large.gguf", kinds[0], layers=12)))
    assert best_draft(target, [small(tmp_path, kind=kinds[1], layers=2)])[0] is not None


def test_the_smallest_that_serves_is_chosen(large, tmp_path):
    candidates = [
        small(tmp_path, "middle.gguf", layers=4),
        small(tmp_path, "least.gguf", layers=1),
        small(tmp_path, "other.gguf", layers=1, controls=("<|a|>", "<|b|>", "<|c|>")),
        large,
    ]
    draft, reason = best_draft(large, candidates)
    assert draft is candidates[1]
    assert "least.gguf is the smallest model here with the same vocabulary" in reason


def test_more_than_half_the_targets_size_is_never_chosen_unasked(large, tmp_path):
    candidate = small(tmp_path, layers=8)
    assert Pairing(large).judge(candidate).serves
    draft, reason = best_draft(large, [candidate])
    assert draft is None
    assert reason.startswith("No model here is small enough")


def test_the_draft_that_the_catalogue_lists_is_preferred(tmp_path, monkeypatch):
    folder = tmp_path / "models"
    for name, layers in (("big", 12), ("listed", 4), ("least", 1)):
        path = tiny.write(folder / f"{name}.gguf", layers=layers)
        entry = GGUF(name, None, path.name, None, path.stat().st_size, None, "MIT", draft="listed")
        monkeypatch.setitem(catalog.FILES, name, entry)
    here = list(discover())
    draft, reason = best_draft(next(each for each in here if each.name == "big"), here)
    assert draft is not None
    assert draft.name == "listed"
    assert "is the listed draft model of big" in reason


def test_without_any_that_serves_the_one_to_fetch_is_named(large, monkeypatch):
    assert best_draft(large, [])[1] == "No smaller model here has the vocabulary of large.gguf."
    known = GGUF("tiny-draft", None, "x.gguf", None, 1000, None, "MIT")
    monkeypatch.setitem(catalog.DRAFT_OF_VOCABULARY, large.header.vocabulary, known)
    assert "specchat models pull tiny-draft" in best_draft(large, [])[1]


@pytest.mark.weights
def test_vocabularies_in_the_catalogue_are_those_of_the_real_files(default_pair, smollm2, gemma3):
    for path in (default_pair[1], smollm2, gemma3):
        assert catalog.DRAFT_OF_VOCABULARY[str(gguf.read(path).vocabulary)].file == path.name
