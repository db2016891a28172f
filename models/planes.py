"""How many states of a recurrent model are kept to go back to, weighed against their memory."""

from models.gguf.header import Header

SHARE = 0.1
"""Which part of the weights' memory the planes may take: all of it is memory that others lack."""
BOUNDED = (
    "qwen35",
    "qwen35moe",
    "lfm2",
    "lfm2moe",
    "nemotron_h",
    "nemotron_h_moe",
    "kimi_k3",
    "glm5_next",
    "bailingmoe3",
)
"""Kinds of network of which llama.cpp keeps the states of a batch's last tokens."""


def planes(header: Header, max_rows: int) -> int:
    """Return how many tokens of a batch of `max_rows` rows a model shall be able to take back.

    One that is asked for single rows proposes: it has no batch to take back anything of.
    """
    room = min(max_rows - 1, header.plane_room)
    return of_size(header.architecture, header.state_bytes, header.size, room)


def of_size(architecture: str | None, state: int, size: int, room: int) -> int:
    """Return the same for a state and weights of so many bytes; `room` is the most there can be."""
    if architecture not in BOUNDED or not state:
        return 0
    return min(room, int(SHARE * size / state))
