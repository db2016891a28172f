"""A repository alone: the hub is asked what there is, and what suits this machine is chosen."""

from typing import Any

import pytest

from models import memory
from models.errors import ModelError, ModelMissing, NetworkError
from models.files.repository import is_repository, offer
from models.memory import Fit
from models.progress import silent
from tests.models.files.hub_server import Hub

GB = 10**9
SIZES = {
    "README.md": 1,
    "toy-F16.gguf": 16 * GB,
    "toy-Q8_0.gguf": 8 * GB,
    "toy-Q4_K_M.gguf": 5 * GB,
    "toy-Q2_K.gguf": 3 * GB,
    "mmproj-toy-Q4_K_M.gguf": 1,
    "toy-Q3_K_M-00001-of-00002.gguf": 1,
    "toy-Q3_K_M-00002-of-00002.gguf": 1,
}


def described(sizes: dict[str, Any] = SIZES, **more: Any) -> dict[str, Any]:
    files = [{"rfilename": name, "size": size} for name, size in sizes.items()]
    known = {"id": "org/toy-GGUF", "sha": Hub.commit, "siblings": files, "tags": ["license:mit"]}
    return known | more


@pytest.fixture
def room(monkeypatch):
    """Set how much memory is free; an estimate is what the file takes, for once."""
    free = [100 * GB]
    monkeypatch.setattr(memory, "estimate_by_size", lambda size, file: size)

    def fit(needed: int) -> Fit:
        return Fit(needed, free[0], "fits" if needed <= free[0] else "too large")

    monkeypatch.setattr(memory, "fit", fit)

    def leave(size: int) -> None:
        free[0] = size

    return leave


@pytest.mark.parametrize(
    ("free", "label"), [(100 * GB, "Q4_K_M"), (5 * GB, "Q4_K_M"), (4 * GB, "Q2_K")]
)
def test_the_usual_quantisation_is_taken_and_a_smaller_one_where_it_must_be(hub, room, free, label):
    hub.described = described()
    room(free)
    reference, sentence = offer("org/toy-GGUF", silent)
    assert sentence.startswith(f"{label}, of 4 quantisations")
    assert reference == f"org/toy-GGUF:toy-{label}.gguf"


def test_what_it_takes_and_its_licence_are_said(hub, room):
    hub.described = described()
    sentence = offer("org/toy-GGUF", silent)[1]
    assert "Q4_K_M, of 4 quantisations: 5.0 GB to download" in sentence
    assert "Licence: mit." in sentence
    hub.described = described(cardData={"license": "apache-2.0"})
    assert "Licence: apache-2.0." in offer("org/toy-GGUF", silent)[1]
    hub.described = described(tags=[])
    assert "none given" in offer("org/toy-GGUF", silent)[1]
    hub.described = described(cardData={"license": "mit " * 10_000})
    assert len(offer("org/toy-GGUF", silent)[1]) < 300


def test_where_nothing_fits_the_smallest_is_named_with_what_it_takes(hub, room):
    hub.described = described()
    room(2 * GB)
    with pytest.raises(ModelError, match=r"Q2_K.* 3\.0 GB .* specchat models pull org/toy-GGUF:Q2"):
        offer("org/toy-GGUF", silent)


def test_a_gate_is_named_before_anything_is_fetched(hub, room):
    hub.described = described(gated="manual")
    with pytest.raises(NetworkError, match=r"accept its terms \(licence: mit\).*HF_TOKEN"):
        offer("org/toy-GGUF", silent)


def test_a_repository_without_a_model_is_refused(hub, room):
    hub.described = described({"README.md": 1, "model.safetensors": GB, "toy.gguf": GB})
    with pytest.raises(ModelMissing, match="no complete GGUF file"):
        offer("org/toy-GGUF", silent)


@pytest.mark.parametrize(
    "answer",
    [
        [], {}, described(sha="main"), described(siblings=[{}]), described(siblings=7),
        described({"a-Q8_0.gguf": -1}), described({"a-Q8_0.gguf": "x"}), described(tags=[5]),
    ],
    ids=str,
)  # fmt: skip
def test_a_hub_that_talks_nonsense_is_not_believed(hub, room, answer):
    hub.described = answer
    with pytest.raises(NetworkError, match="does not answer like the hub"):
        offer("org/toy-GGUF", silent)


@pytest.mark.parametrize("by_variable", [True, False])
def test_offline_nobody_is_asked(hub, monkeypatch, by_variable):
    if by_variable:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NetworkError, match="--offline or HF_HUB_OFFLINE"):
        offer("org/toy-GGUF", silent, offline=not by_variable)
    assert hub.requests == []


@pytest.mark.parametrize(
    ("reference", "is_one"),
    [
        ("org/toy-GGUF", True), ("org/toy-GGUF@v1", True), ("org/toy:Q4_K_M", False),
        ("models/toy.gguf", False), ("toy", False), ("a/b/c", False), ("~/toy", False),
        ("", False), ("ollama:toy", False), ("org/here", False),
    ],
)  # fmt: skip
def test_a_repository_is_told_from_a_file(reference, is_one, tmp_path, monkeypatch):
    (tmp_path / "org" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert is_repository(reference) == is_one
