"""How llama.cpp runs the prediction heads of a model. It calls these functions experimental."""

from functools import cache
from typing import Any

from models.errors import ModelError
from models.gguf.header import Header
from models.native.engine import HeadFunctions

ARCHITECTURES = {
    "bailingmoe3",
    "cohere2moe",
    "deepseek2",
    "deepseek32",
    "glm-dsa",
    "glm4moe",
    "mimo2",
    "nemotron_h_moe",
    "qwen35",
    "qwen35moe",
    "qwen3next",
    "step35",
}
"""Those for which it has a graph of the heads, as of its release in llama-cpp-python 0.3.36."""
CHAINS = ("mimo2", "step35")
"""Those that may have several heads; with the others it stops the process."""


def functions(header: Header) -> HeadFunctions:
    """Return how the heads in a file are run.

    Raises:
        ModelError: there are none, or this build cannot run them.
    """
    name = header.path.name
    if not header.heads:
        raise ModelError(f"{name} has no prediction heads; choose a draft model instead.")
    if header.architecture not in ARCHITECTURES:
        raise ModelError(f"llama.cpp runs no prediction heads of {header.architecture} ({name}).")
    if header.heads > 1 and header.architecture not in CHAINS:
        raise ModelError(f"llama.cpp runs one prediction head, and {name} has {header.heads}.")
    return _functions()


@cache
def _functions() -> HeadFunctions:
    try:
        from llama_cpp import llama_cpp_ext
    except (ImportError, AttributeError) as error:  # a symbol that this build does not export
        raise ModelError(
            f"This build of llama.cpp cannot run prediction heads: {error}."
        ) from error

    def give_states(context: Any, of_all: bool) -> None:
        llama_cpp_ext.llama_set_embeddings_nextn(context, True, not of_all)

    return HeadFunctions(give_states, llama_cpp_ext.llama_get_embeddings_nextn)
