"""`memory`: the estimate from a header, compared with what a process takes."""

import sys

import psutil
import pytest

from models import gguf, machine, memory
from models.files.locate import identify
from models.machine import MemoryBytes
from models.memory import rollback_slots, state_bytes
from tests import tiny
from tests.scripts import printed

THOROUGH = pytest.mark.thorough
LOAD = """
import sys
from pathlib import Path
from models.native.model import NativeModel
from models.native.weights import Weights
from models.native.loaded import engine
engine()
import psutil
from models.native import model as native_model
native_model.FIRST_CELLS = int(sys.argv[1])
before = psutil.Process().memory_info().rss
keep = []
for rows, path in zip((32, 1), sys.argv[2:]):
    weights = Weights(Path(path))
    model = NativeModel(weights, n_ctx=int(sys.argv[1]), max_rows=rows)
    model.logits(list(range(1000, 1100)), rows)
    keep.append(model)
# Not ru_maxrss: that begins with what the process had that this one was forked from.
peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
print(int(peak) * 1024 - before)
"""


@pytest.fixture
def model(tmp_path):
    return identify(str(tiny.write(tmp_path / "model.gguf", n_ctx=4096)))


def test_the_cache_grows_with_the_context_up_to_what_the_model_was_made_for(model):
    per_token = model.header.kv_bytes_per_token + 4 * memory.BATCH  # in the graph of a batch
    at = [memory.estimate(model.header, model.size, n) for n in (256, 1256, 4096, 1_000_000)]
    assert at[1].resident - at[0].resident == 1000 * per_token
    assert at[2] == at[3]


def test_a_draft_takes_less_than_the_same_file_as_target_and_a_pair_both(model, tmp_path):
    target = memory.estimate(model.header, model.size, 512)
    draft = memory.estimate(model.header, model.size, 512, drafts=True)
    assert draft.needed < target.needed
    assert memory.of_pair(model, model, 512) == target + draft
    assert memory.of_pair(model, None, 512) == target


@pytest.mark.parametrize(
    ("kind", "back"), [("lfm2", 31), ("qwen35", 6), ("nemotron_h", 2), ("mamba", 0), ("llama", 0)]
)
def test_states_to_go_back_to_take_a_tenth_of_the_weights_at_most(tmp_path, kind, back):
    model = identify(str(tiny.write(tmp_path / "model.gguf", kind)))
    header, size = gguf.read(model.path), model.size
    state = state_bytes(header)
    assert rollback_slots(header, memory.ROWS, size) == back
    assert rollback_slots(header, 1, size) == 0
    target, draft = (memory.estimate(header, size, 512, drafts=drafts) for drafts in (False, True))
    rows = 2 * 4 * (memory.ROWS - 1) * (header.n_vocab or 0)
    assert target.resident - draft.resident == back * state + rows
    assert draft.resident > model.size + 2 * state
    assert back * state <= 0.1 * model.size
    assert bool(state) == (kind != "llama")


def test_repacked_weights_are_not_resident_twice_and_two_models_repack_in_turn():
    large = memory.Memory(resident=1015, repacked=600)
    small = memory.Memory(resident=102, repacked=80)
    assert large.needed == 1615
    assert (large + small).resident == large.resident + small.resident
    assert (large + small).needed == large.needed  # the peak is the first one's
    assert (small + large).needed == small.resident + large.needed
    assert (small + small).needed == small.resident + small.needed


def test_a_fit_is_tight_between_what_is_held_and_what_is_needed(monkeypatch):
    monkeypatch.setattr(machine, "memory", lambda: MemoryBytes(9000, 1000))
    sizes = (900, 100), (900, 101), (1001, 199), (1001, 199, 200), (1001, 0)
    verdicts = [memory.Memory(*size[:2]).fit(*size[2:]).verdict for size in sizes]
    assert verdicts == ["fits", "tight", "does not fit", "fits", "does not fit"]


def test_four_bit_files_are_expected_to_be_held_twice_on_a_cpu(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    once = memory.estimate_by_size(1000, "x-Q8_0.gguf")
    assert memory.estimate_by_size(1000, "x-Q4_K_M.gguf").needed > once.needed
    monkeypatch.setattr(sys, "platform", "darwin")
    assert memory.estimate_by_size(1000, "x-Q4_K_M.gguf") == once


def test_the_smallest_machine_has_room_for_the_files_and_for_the_rest():
    smallest = [memory.machine_gb(size * 10**9) for size in (3, 4, 10, 11, 23, 24)]
    assert smallest == [8, 16, 16, 32, 32, None]


def test_this_process_holds_memory_of_its_own():
    assert 1 << 20 < memory.in_use() < psutil.virtual_memory().total


@pytest.mark.weights
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the weights may be on a GPU")
@pytest.mark.parametrize(
    "files", ["smollm2", *(pytest.param(f, marks=THOROUGH) for f in ("gemma3", "default_pair"))]
)
def test_the_estimate_is_hardly_less_and_little_more_than_what_a_process_takes(request, files):
    chosen = request.getfixturevalue(files)
    paths = chosen if isinstance(chosen, tuple) else (chosen,)
    models = [identify(str(path)) for path in paths]
    expected = memory.of_pair(models[0], models[1] if models[1:] else None, 8192)
    taken = int(printed(LOAD, 8192, *paths))
    assert 0.95 < (expected.needed if expected else 0) / taken < 1.15, (paths, expected, taken)


@pytest.mark.parametrize(
    ("free", "how", "tokens"),
    [
        (64e9, {"n_ctx": 32_768}, 32_768),
        (64e9, {"n_ctx": 40_960}, 32_768),
        (64e9, {"n_ctx": 4096}, 4096),
        (4 * 20_000 * 256, {"n_ctx": 32_768}, 16_384),  # of 256 bytes a token
        (1e6, {"n_ctx": 32_768}, 8192),
        (64e9, {"kind": "mamba", "n_ctx": 32_768}, 8192),
        (64e9, {"kind": "gemma3", "n_ctx": 32_768}, 8192),
        (64e9, {"longrope": 512, "n_ctx": 32_768}, 8192),
    ],
)
def test_the_default_context_fits_a_quarter_of_memory(tmp_path, monkeypatch, free, how, tokens):
    monkeypatch.setattr(machine, "memory", lambda: MemoryBytes(10**12, free))
    assert memory.auto_ctx(gguf.read(tiny.write(tmp_path / "tiny.gguf", **how))) == tokens
