"""Names, paths and quantisations lead to files on this machine."""

from pathlib import Path

import pytest

from assistant.settings.keys import expand_path
from models.errors import ModelMissing, UsageError
from models.files import places
from models.files.gguf_files import is_label, labelled_file
from models.files.locate import identify, resolve, variant
from models.files.places import hub_cache
from models.files.pull import pull
from models.files.stores import installed_models
from tests import tiny
from tests.models.files.conftest import refused
from tests.models.files.stores import OTHER, file, hub_file, ollama_model


def test_every_place_of_ours_is_under_specchat_home_but_weights_never_are(tmp_path, monkeypatch):
    for place in (places.config_dir(), places.data_dir(), places.cache_dir()):
        assert place.is_relative_to(tmp_path / "home")
    monkeypatch.delenv("SPECCHAT_MODELS")
    assert not places.models_dir().is_relative_to(tmp_path / "home")
    assert not places.hub_cache().is_relative_to(tmp_path / "home")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"HF_HOME": "/a"}, "/a/hub"),
        ({"HF_HOME": "/a", "HF_HUB_CACHE": "/b"}, "/b"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
        ({"HOME": "/d"}, "/d/.cache/huggingface/hub"),
        ({"HOME": "/d", "HF_HOME": "~/e"}, "/d/e/hub"),
    ],
)
def test_the_hubs_cache_is_where_every_program_looks(monkeypatch, variables, expected):
    for name in ("HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert expected == str(places.hub_cache())


def test_the_home_of_somebody_who_is_unknown_is_a_name_as_any_other(monkeypatch):
    monkeypatch.setenv("SPECCHAT_HOME", "~nobody-here/x")
    assert places.data_dir() == Path.cwd() / "~nobody-here" / "x"
    assert expand_path("~nobody-here/$HOME/x") == Path(f"~nobody-here/{Path.home()}/x")


@pytest.mark.parametrize("reference", ["qwen3-8b", "org/x:y.gguf"])
def test_a_missing_model_is_named_with_the_command_that_fetches_it(reference):
    with pytest.raises(ModelMissing, match=f"specchat models pull {reference}"):
        identify(reference)


@pytest.mark.parametrize(
    "reference",
    ["nope", "default", "/no/such.gguf", "such.gguf", "a\0b", "", "~no-such-user/x.gguf"],
)
def test_a_reference_that_means_nothing_is_refused_in_a_sentence(reference):
    with pytest.raises(ModelMissing):
        identify(reference)


@pytest.mark.parametrize(
    "reference",
    ["a/b:../c.gguf", "a/b:/c.gguf", "a/b:c/../../d.gguf", "a/b:c\\d.gguf", "a/b:c.bin"],
)
def test_a_file_name_cannot_leave_its_repository(reference):
    with pytest.raises(UsageError):
        resolve(reference)


def test_a_catalogue_file_named_by_its_repository_is_the_catalogue_file():
    gguf = resolve("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF:qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")
    assert gguf is resolve("qwen2.5-coder-0.5b")


@pytest.mark.parametrize(
    ("is_wanted", "change", "is_found"),
    [
        (True, lambda data: data, True),
        (False, lambda data: data, True),  # the same bytes under another revision will do
        (False, lambda data: data[:-1] + b"x", False),
        (True, lambda data: data[:-1], False),
    ],
)
def test_a_file_in_the_hubs_cache_is_found_by_its_bytes(hosted, data, is_wanted, change, is_found):
    revision, content = hosted.revision if is_wanted else OTHER, change(data)
    blob = "f" * 64 if content[-1:] == b"x" else hosted.sha256
    link = hub_file(hosted.repo, revision, hosted.file, content, blob)
    if is_found:
        assert identify("toy").path == identify("org/toy-GGUF:toy.gguf").path == link
        return
    with pytest.raises(ModelMissing):
        identify("toy")


def test_without_links_only_the_wanted_revision_is_it(hosted, data):
    link = hub_file(hosted.repo, OTHER, hosted.file, data, hosted.sha256)
    link.resolve().replace(link)
    with pytest.raises(ModelMissing):
        identify("toy")
    link.parent.rename(link.parent.with_name(hosted.revision))
    assert identify("toy").path.parent.name == hosted.revision


def test_any_file_of_the_hubs_cache_can_be_named(data):
    link = hub_file("some/one", OTHER, "deep/file.gguf", data, "e" * 64)
    assert identify("some/one:deep/file.gguf").path == link
    assert identify(f"some/one@{OTHER}:deep/file.gguf").path == link


def test_installed_lists_each_whole_model_once_and_how_to_name_it(hosted, data, tmp_path):
    hub_file(hosted.repo, hosted.revision, hosted.file, data, hosted.sha256)
    hub_file("some/one", OTHER, "file.gguf", data, "e" * 64)
    file(tmp_path / "models" / "mine.gguf", data)
    references = [model.reference for model in installed_models()]
    assert references == ["toy", "some/one:file.gguf", str(tmp_path / "models" / "mine.gguf")]
    assert all(identify(reference).path.is_file() for reference in references)


def test_a_file_that_is_known_already_keeps_its_name(hosted, data, tmp_path):
    hub_file("some/one", OTHER, "file.gguf", data, "e" * 64)
    link = hub_file(hosted.repo, hosted.revision, hosted.file, data, hosted.sha256)
    assert [identify(str(link), installed_models()).name, identify("toy").name] == ["toy", "toy"]
    assert identify(str(link)).name == hosted.file


def test_a_file_that_is_not_whole_or_no_language_model_is_not_listed(data, tmp_path):
    blobs, folder = places.hub_cache() / "models--org--toy" / "blobs", tmp_path / "models"
    for path in (
        blobs / "abc.incomplete",
        *(folder / f"a-0000{number}-of-00002.gguf" for number in (1, 2)),
        *(folder / name for name in ("b-00001-of-00002.gguf", "toy.gguf.specchat-part")),
        folder / "mmproj-model-f16.gguf",
    ):
        file(path, data)
    hub_file("org/toy", OTHER, "toy.gguf", data, "gone").resolve().unlink()
    assert [model.path.name for model in installed_models()] == ["a-00001-of-00002.gguf"]


@pytest.fixture
def stocked(data: bytes) -> Path:
    """A machine of somebody who uses Ollama, LM Studio and Jan."""
    home = Path.home()
    ollama_model("registry.ollama.ai/library/llama3.2/latest", data)
    ollama_model("registry.ollama.ai/library/llama3.2-vision/11b", data + b"1", "b" * 64)
    file(home / ".lmstudio/models/org/Tiny-GGUF/Tiny-Q4_K_M.gguf", data + b"2")
    jan = home / ".local/share/Jan/data/llamacpp/models/jan-nano"
    file(jan / "model.gguf", data + b"3")
    file(jan / "model.yml", b"model_path: llamacpp/models/jan-nano/model.gguf\n")
    return home


LM_STUDIO = "{home}/.lmstudio/models/org/Tiny-GGUF/Tiny-Q4_K_M.gguf"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("llama3.2", "ollama:llama3.2:latest"),
        ("ollama:Llama-3", "ollama:llama3.2:latest"),
        ("llama3.2-vision", "ollama:llama3.2-vision:11b"),
        ("Tiny-Q4_K_M.gguf", LM_STUDIO),
        ("org/Tiny-GGUF", LM_STUDIO),
        ("jan-nano", "{home}/.local/share/Jan/data/llamacpp/models/jan-nano/model.gguf"),
        ("qwen-3-8b", "qwen3-8b"),  # where nothing is alike the catalogue is asked
        *((name, None) for name in ("nonesuch-9x", "ll", "./tiny.gguf", "/tiny.gguf", "~/x.gguf")),
    ],
)
def test_a_name_leads_to_the_model_that_it_resembles_or_to_the_list(
    stocked: Path, name: str, meant: str | None
) -> None:
    guess = f"Did you mean {meant}?" if meant else "See what is here: specchat models list"
    with pytest.raises(ModelMissing) as missing:
        identify(name)
    assert str(missing.value).endswith(guess.format(home=stocked))


F16, Q4_0, Q8_0, Q4_K_M = 1, 2, 7, 15


def write(path: Path, file_type: int, name: str | None = "Toy 1B Instruct", **options) -> Path:
    return tiny.write(path, name=name, file_type=file_type, **options)


def test_target_is_its_own_variant_and_words_of_packaging_make_no_other_model(tmp_path):
    target = write(tmp_path / "here" / "target.gguf", Q4_K_M, "Toy 1B Instruct GGUF")
    write(tmp_path / "here" / "other-q4_0.gguf", Q4_0)
    for label in ("q4", "Q4_K", "q4_k_m"):
        assert variant(target, label) == target
    wanted = write(tmp_path / "here" / "x.gguf", F16, "toy-1b-instruct-f16")
    assert variant(target, "f16") == wanted


@pytest.mark.parametrize(
    "path", ["here/x.gguf", "models/x.gguf", "hf/hub/models--org--toy/snapshots/abc/toy.f16.gguf"]
)
def test_variant_is_found_in_the_same_folder_the_cache_and_the_models_folder(tmp_path, path):
    target = write(tmp_path / "here" / "target.gguf", Q4_K_M)
    write(tmp_path / "here" / "q8.gguf", Q8_0)
    wanted = write(tmp_path / path, F16)
    assert variant(target, "f16") == wanted
    assert variant(target, "F16") == wanted


OTHERS = (
    {"name": "Toy 1B"}, {"name": None}, {"layers": 3}, {"kind": "gemma3"},
    {"controls": (*tiny.CONTROLS, "<|more|>")},
)  # fmt: skip


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_another_model_is_no_variant_and_the_error_says_where_was_looked(tmp_path, other):
    target = write(tmp_path / "here" / "target.gguf", Q4_K_M)
    write(tmp_path / "here" / "f16.gguf", F16, **other)
    (tmp_path / "here" / "broken-f16.gguf").write_bytes(b"GGUF nonsense")
    with pytest.raises(ModelMissing) as caught:
        variant(target, "f16")
    for part in ("Toy 1B Instruct", "F16", "here", "hub", "models", "Give the path"):
        assert part in str(caught.value)


def test_files_without_a_name_are_only_like_themselves(tmp_path):
    target = write(tmp_path / "here" / "target.gguf", Q4_K_M, None)
    write(tmp_path / "here" / "f16.gguf", F16, None)
    with pytest.raises(ModelMissing):
        variant(target, "f16")
    assert variant(target, "q4") == target


@pytest.mark.parametrize("text", ["f16", "BF16", "f32", "q4", "q8_0", "Q4_K_M", "iq4_xs", "mxfp4"])
def test_labels_are_told_from_models(text):
    assert is_label(text)
    assert not is_label(f"{text}.gguf")
    assert not is_label(f"models/{text}")
    assert not is_label(f"qwen-{text}")


FILES = [
    "README.md", "toy-Q4_K_M.gguf", "toy-Q8_0.gguf", "toy.Q8_0.imatrix", "mmproj-toy-F16.gguf",
    "toy-BF16-00001-of-00002.gguf", "toy-BF16-00002-of-00002.gguf", "deep/toy_q5_k_s.gguf",
    "twice/toy-Q6_K.gguf", "toy-Q6_K.gguf",
]  # fmt: skip


def test_the_file_of_a_quantisation_is_chosen_in_any_case():
    chosen = [labelled_file("org/toy", FILES, label) for label in ("Q8_0", "q4_k_m", "Q5_K_S")]
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
        labelled_file("org/toy", files, label)


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
