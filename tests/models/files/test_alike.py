"""A name that is none is answered by what the model is called here."""

from pathlib import Path

import pytest

from models.errors import ModelMissing
from models.files.locate import locate
from tests.models.files.stores import file, ollama_model


@pytest.fixture(autouse=True)
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


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("llama3.2", "ollama:llama3.2:latest"),
        ("Llama-3.2:latest", "ollama:llama3.2:latest"),
        ("ollama:llama3", "ollama:llama3.2:latest"),
        ("llama3.2-vision", "ollama:llama3.2-vision:11b"),
        ("tiny", ".lmstudio/models/org/Tiny-GGUF/Tiny-Q4_K_M.gguf"),
        ("Tiny-Q4_K_M.gguf", ".lmstudio/models/org/Tiny-GGUF/Tiny-Q4_K_M.gguf"),
        ("org/Tiny-GGUF", ".lmstudio/models/org/Tiny-GGUF/Tiny-Q4_K_M.gguf"),
        ("jan-nano", ".local/share/Jan/data/llamacpp/models/jan-nano/model.gguf"),
    ],
)
def test_the_name_that_another_program_has_for_a_model_leads_to_it(
    stocked: Path, name: str, meant: str
) -> None:
    meant = meant if meant.startswith("ollama:") else str(stocked / meant)
    with pytest.raises(ModelMissing) as missing:
        locate(name)
    assert str(missing.value).endswith(f"Did you mean {meant}?")
    assert locate(meant).is_file()


@pytest.mark.parametrize("name", ["nonesuch-9x", "ll", "./tiny.gguf", "/tiny.gguf", "~/tiny.gguf"])
def test_what_is_like_nothing_here_leads_to_the_list(name: str) -> None:
    with pytest.raises(ModelMissing) as missing:
        locate(name)
    assert str(missing.value).endswith("See what is here: specchat models list")


def test_where_nothing_is_alike_the_catalogue_is_asked() -> None:
    with pytest.raises(ModelMissing, match=r"Did you mean qwen3-8b\?"):
        locate("qwen-3-8b")
