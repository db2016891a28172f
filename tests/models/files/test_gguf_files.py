"""`repo:Q4_K_M` means the one whole file of a repository with that quantisation."""

import pytest

from models.errors import ModelMissing, NetworkError
from models.files.gguf_files import choose
from models.files.locate import locate
from models.files.places import hub_cache
from models.files.pull import pull
from models.files.stores import installed
from tests.models.files.conftest import refused

FILES = [
    "README.md",
    "toy-Q4_K_M.gguf",
    "toy-Q8_0.gguf",
    "toy.Q8_0.imatrix",
    "mmproj-toy-F16.gguf",
    "toy-BF16-00001-of-00002.gguf",
    "toy-BF16-00002-of-00002.gguf",
    "deep/toy_q5_k_s.gguf",
    "twice/toy-Q6_K.gguf",
    "toy-Q6_K.gguf",
]


@pytest.mark.parametrize(
    ("label", "file"), [("Q8_0", FILES[2]), ("q4_k_m", FILES[1]), ("Q5_K_S", FILES[7])]
)
def test_the_file_of_a_quantisation_is_chosen_in_any_case(label, file):
    assert choose("org/toy", FILES, label) == file


def test_what_there_is_is_named_when_the_wish_cannot_be_met():
    with pytest.raises(ModelMissing, match="It has: Q4_K_M, Q5_K_S, Q6_K, Q8_0"):
        choose("org/toy", FILES, "F16")
    with pytest.raises(ModelMissing, match="2 files of Q6_K"):
        choose("org/toy", FILES, "Q6_K")
    with pytest.raises(ModelMissing, match="no file with a quantisation"):
        choose("org/toy", ["toy.gguf"], "Q8_0")


def test_a_quantisation_is_pulled_once_and_found_afterwards(hub, data):
    hub.described = hub.truth(*FILES)
    with pytest.raises(ModelMissing, match=r"specchat models pull org/toy-GGUF:Q8_0"):
        locate("org/toy-GGUF:Q8_0")
    path = pull("org/toy-GGUF:Q8_0")
    assert path.name == "toy-Q8_0.gguf"
    assert path.read_bytes() == data
    seen = len(hub.requests)
    assert locate("org/toy-GGUF:q8_0") == pull("org/toy-GGUF:Q8_0") == path
    assert len(hub.requests) == seen


def test_a_quantisation_that_the_hub_lacks_is_refused_before_anything_is_fetched(hub):
    hub.described = hub.truth(*FILES)
    refused("org/toy-GGUF:IQ2_XS", "It has: ", ModelMissing)
    assert installed() == []
    assert not hub_cache().exists()


def test_a_repository_that_is_not_there_is_named(hub):
    refused("org/other:Q8_0", "org/other")


def test_offline_no_question_is_asked(hub):
    with pytest.raises(NetworkError, match="--offline"):
        pull("org/toy-GGUF:Q8_0", offline=True)
    assert hub.requests == []
