"""Flattened models: what is not steep keeps its bytes, what is keeps its values nearly."""

import hashlib
from collections import namedtuple

import gguf as reference
import numpy as np
import pytest

from models.errors import ModelError, StorageError, UsageError
from models.files import disk
from models.gguf import read, summarise
from models.gguf.summary import RECIPE, SERVES, SOURCE, SOURCE_SHA256
from models.native.quantize import quantize
from models.slim import scratch, writing
from models.slim.flattening import flattened, steep
from models.slim.writing import CHECKSUM, read_layout
from tests import tiny

Q4_K, Q5_1, Q6_K, Q8_0 = 12, 7, 14, 8
STEEP = ("attn_v", "ffn_down", "output", "token_embd")


@pytest.fixture(autouse=True)
def models(bare_machine):
    """The folder of specchat's own models, empty."""
    return bare_machine / "models"


MADE: dict[tuple[object, ...], bytes] = {}
"""Files by what they are made of: to quantise one takes as long as all that is tested here."""


@pytest.fixture
def steep_file(tmp_path, monkeypatch):
    """Write models as Q4_K_M has them: some matrices are Q6_K, the others Q4_K."""
    monkeypatch.setattr(tiny, "EMBEDDING", 256)
    monkeypatch.setattr(tiny, "FEED_FORWARD", 512)
    monkeypatch.setattr(tiny, "HEAD", 128)

    def make(kind="llama", high=Q6_K, low=Q4_K, name="steep.gguf"):
        made = kind, high, low, tiny.EMBEDDING, STEEP
        if made not in MADE:
            plain = tiny.write(tmp_path / "plain.gguf", kind, layers=2, name="Tiny", file_type=15)
            matrices = [t.name for t in read_layout(plain).tensors if len(t.shape) > 1]
            kinds = {name: high if name.split(".")[-2] in STEEP else low for name in matrices}
            quantize(plain, tmp_path / name, None, kinds=kinds)
            MADE[made] = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(MADE[made])
        return tmp_path / name

    return make


def tensors(path):
    return {tensor.name: tensor for tensor in reference.GGUFReader(path).tensors}


def values(tensor):
    return reference.quants.dequantize(tensor.data, tensor.tensor_type)


def flatten(source):
    with flattened(source) as made:
        return made.keep()


@pytest.mark.parametrize(
    ("kind", "looked_up"), [("llama", {"token_embd.weight"}), ("gemma3", set())]
)
def test_all_but_the_steep_matrices_keeps_its_bytes(steep_file, kind, looked_up):
    source = steep_file(kind)
    before = source.read_bytes()
    old, new = tensors(source), tensors(flatten(source))
    chosen = {name for name, t in old.items() if t.tensor_type == Q6_K} - looked_up
    assert {name.split(".")[-2] for name in chosen | looked_up} == (
        {*STEEP} if looked_up else {*STEEP} - {"output"}
    )
    assert list(old) == list(new)
    for name in old:
        if name in chosen:
            assert new[name].tensor_type == Q4_K
            error = np.abs(values(new[name]) - values(old[name])).max()
            assert error < np.abs(values(old[name])).max() / 8  # half a step of 4 bits
        else:
            assert new[name].tensor_type == old[name].tensor_type
            assert new[name].data.tobytes() == old[name].data.tobytes()
    assert source.read_bytes() == before


def test_metadata_are_kept_except_what_tells_it_from_its_source(steep_file):
    source = steep_file()
    old = read_layout(source)
    told = dict(old.values) | {SERVES: writing.text("another target")}  # as a slim draft says
    writing.write(old, source.with_name("draft.gguf"), told)
    place = flatten(source.with_name("draft.gguf"))
    new = read_layout(place)
    notes = {"general.name", RECIPE, SOURCE, SOURCE_SHA256, CHECKSUM}
    assert {k: v for k, v in new.values.items() if k not in notes} == {
        k: v for k, v in old.values.items() if k not in notes
    }
    header = read(place)
    digest = hashlib.sha256(source.with_name("draft.gguf").read_bytes()).hexdigest()
    assert header.name == "Tiny flattened"
    assert header.metadata[SOURCE_SHA256] == digest
    assert header.metadata[SOURCE] == "draft.gguf"
    assert header.metadata[RECIPE] == "5 × Q6_K to Q4_K"
    assert header.metadata[CHECKSUM] == hashlib.sha256(place.read_bytes()[new.data :]).hexdigest()
    assert summarise(place).serves is None  # it is not a draft that was made for a target


def test_rows_that_are_no_whole_blocks_of_256_become_q8_0(steep_file, tmp_path, monkeypatch):
    monkeypatch.setattr(tiny, "EMBEDDING", 64)
    monkeypatch.setattr(tiny, "HEAD", 32)
    source = steep_file(high=Q5_1, low=Q8_0)
    new = tensors(flatten(source))
    assert new["output.weight"].tensor_type == Q8_0
    assert new["blk.0.ffn_down.weight"].tensor_type == Q4_K


def test_experts_of_a_mixture_are_flattened_together(steep_file, monkeypatch):
    usual = tiny._Tensors._feed_forward

    def with_experts(self, block):
        usual(self, block)
        self._random(block + "ffn_down_exps.weight", 256, 256, 4)

    monkeypatch.setattr(tiny._Tensors, "_feed_forward", with_experts)
    monkeypatch.setattr("tests.models.test_flattening.STEEP", ("ffn_down_exps",))
    source = steep_file()
    old, new = (tensors(path)["blk.1.ffn_down_exps.weight"] for path in (source, flatten(source)))
    assert (old.tensor_type, new.tensor_type) == (Q6_K, Q4_K)
    assert np.abs(values(new) - values(old)).max() < np.abs(values(old)).max() / 8


def test_nothing_to_flatten_is_one_sentence(steep_file, models):
    source = steep_file(high=Q8_0)
    with pytest.raises(ModelError, match=r"steep\.gguf has nothing to flatten: .* Q4_K, Q8_0"):
        flatten(source)
    assert not models.exists()


def test_what_was_flattened_has_nothing_left_to_flatten(steep_file):
    with pytest.raises(ModelError, match="nothing to flatten"):
        steep(read_layout(flatten(steep_file())))


def test_a_file_of_its_name_is_never_replaced(steep_file, models):
    source = steep_file()
    models.mkdir()
    (models / "steep-flat.gguf").write_bytes(b"mine")
    with pytest.raises(UsageError, match=r"steep-flat\.gguf exists already"):
        flatten(source)
    assert [path.read_bytes() for path in models.iterdir()] == [b"mine"]


def test_a_file_that_appeared_meanwhile_is_not_replaced_either(steep_file, models):
    with flattened(steep_file()) as made:
        made.place.write_bytes(b"mine")
        with pytest.raises(UsageError, match="exists already"):
            made.keep()
    assert [path.read_bytes() for path in models.iterdir()] == [b"mine"]


def test_without_room_nothing_is_begun(steep_file, models, monkeypatch):
    source = steep_file()
    usage = namedtuple("usage", "total used free")(10**9, 0, disk._SPARE + source.stat().st_size)
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(StorageError, match="are needed"):
        flatten(source)
    assert list(models.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_what_goes_wrong_half_way_leaves_nothing(steep_file, models, monkeypatch, error):
    def failing(*arguments):
        yield b"half"
        raise error

    monkeypatch.setattr(writing, "_pieces", failing)
    with pytest.raises((KeyboardInterrupt, StorageError)):
        flatten(steep_file())
    assert list(models.iterdir()) == []


def test_nothing_is_kept_unless_it_is_said(steep_file, models):
    with flattened(steep_file()) as made:
        assert summarise(made.path).name == "Tiny flattened"
        assert not list(models.glob("*.gguf"))
    assert list(models.iterdir()) == []
    assert scratch._SCRATCH.startswith(".")
