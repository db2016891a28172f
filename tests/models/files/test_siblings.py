"""The other files of a model on this machine."""

from models.files.variants import siblings
from tests import tiny


def test_other_quantisations_are_siblings_and_other_models_are_not(tmp_path):
    target = tiny.write(tmp_path / "a-q4_0.gguf", name="Some Model", file_type=2)
    other = tiny.write(tmp_path / "a-q8_0.gguf", name="some-model", file_type=7)
    tiny.write(tmp_path / "b.gguf", name="Another Model")
    tiny.write(tmp_path / "c.gguf", name="Some Model", layers=3)
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    assert siblings(target) == [other]


def test_a_link_to_the_target_is_no_sibling(tmp_path):
    target = tiny.write(tmp_path / "a.gguf", name="Some Model")
    (tmp_path / "link.gguf").symlink_to(target)
    assert siblings(target) == []
    assert siblings(tmp_path / "link.gguf") == []
