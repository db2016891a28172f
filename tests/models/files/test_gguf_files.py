"""`repo:Q4_K_M` means the one whole file of a repository with that quantisation."""

import pytest

from models.errors import ModelMissing
from models.files.gguf_files import choose
from models.files.locate import identify
from models.files.places import hub_cache
from models.files.pull import pull
from tests.models.files.conftest import refused

FILES = [
    "README.md", "toy-Q4_K_M.gguf", "toy-Q8_0.gguf", "toy.Q8_0.imatrix", "mmproj-toy-F16.gguf",
    "toy-BF16-00001-of-00002.gguf", "toy-BF16-00002-of-00002.gguf", "deep/toy_q5_k_s.gguf",
    "twice/toy-Q6_K.gguf", "toy-Q6_K.gguf",
]  # fmt: skip


def test_the_file_of_a_quantisation_is_chosen_in_any_case():
    chosen = [choose("org/toy", FILES, label) for label in ("Q8_0", "q4_k_m", "Q5_K_S")]
    assert chosen == [FILES[2], FILES[1], FILES[7]]


@pytest.mark.parametrize(
    ("files", "label", "sentence"),
    [
        (FILES, "F16", "It has: Q4_K_M, Q5_K_S, Q6_K, Q8_0"),
        (FILES, "Q6_K", "2 files of Q6_K"),
        (["toy.gguf"], "Q8_0", "no file with a quantisation"),
    ],
)
def test_the_available_quantisations_are_named_when_the_wish_cannot_be_met(files, label, sentence):
    with pytest.raises(ModelMissing, match=sentence):
        choose("org/toy", files, label)


def test_a_quantisation_is_pulled_once_and_found_afterwards(hub, data):
    hub.described = hub.truth(*FILES)
    with pytest.raises(ModelMissing, match=r"specchat models pull org/toy-GGUF:Q8_0"):
        identify("org/toy-GGUF:Q8_0")
    path = pull("org/toy-GGUF:Q8_0")
    assert path.name == "toy-Q8_0.gguf"
    assert path.read_bytes() == data
    seen = len(hub.requests)
    assert identify("org/toy-GGUF:q8_0").path == pull("org/toy-GGUF:Q8_0") == path
    assert len(hub.requests) == seen


def test_a_quantisation_that_the_hub_lacks_is_refused_before_anything_is_fetched(hub):
    hub.described = hub.truth(*FILES)
    refused("org/toy-GGUF:IQ2_XS", "It has: ", ModelMissing)
    assert not hub_cache().exists()
