"""What llama.cpp's server is asked at `/completion`, and what it answers; nothing is sent here."""

from dataclasses import dataclass
from typing import Any

from assistant.chat.template import ChatTemplate
from assistant.lab.bench.events import Measured
from assistant.request import Message, Sampling
from assistant.stats import Stats
from models.errors import ModelError


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """What a server is asked."""

    messages: tuple[Message, ...]
    sampling: Sampling
    max_tokens: int
    seed: int | None


def body(asked: ServerQuestion, template: ChatTemplate, lookahead: int | None) -> dict[str, Any]:
    """Return the question as the server wants it; None leaves the lookahead to it, 0 is none."""
    sampling = asked.sampling
    most = {} if lookahead is None else {"speculative.n_max": lookahead}
    return most | {
        "prompt": template.render(asked.messages),
        "n_predict": asked.max_tokens,
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "repeat_penalty": sampling.repeat_penalty,
        "repeat_last_n": sampling.repeat_window,
        "samplers": ["penalties", "temperature", "top_k", "top_p", "min_p"],
        "seed": -1 if asked.seed is None else asked.seed,
        "cache_prompt": False,
        "stream": False,
    }


def measured(answer: Any) -> Measured:
    """Return what the server tells of its answer; its times are its own.

    Raises:
        ModelError: it tells something else.
    """
    match answer:
        case {
            "content": str(text),
            "timings": {
                "predicted_n": int(tokens),
                "predicted_ms": int() | float() as decode_ms,
                "prompt_n": int(prompt),
                "prompt_ms": int() | float() as prompt_ms,
                **more,
            },
        }:
            drafted, accepted = (_count(more, name) for name in ("draft_n", "draft_n_accepted"))
            # Its clock starts at the first token, which it counts.
            decode_s = decode_ms / 1000 * tokens / max(1, tokens - 1)
            stats = Stats(
                "sps" if drafted else "ars",
                rounds=max(1, tokens - accepted),
                drafted=drafted,
                accepted=accepted,  # of those that were drafted; how many were tested is not told
                prompt_tokens=prompt,
                generated_tokens=tokens,
                prefill_s=prompt_ms / 1000,
                first_token_s=prompt_ms / 1000,
                decode_s=decode_s,
                verify_s=decode_s,
            )
            return Measured(text, str(answer.get("stop_type", "")), stats)
    raise ModelError("What answered is no llama-server: it told no timings.")


def _count(timings: Any, name: str) -> int:
    value = timings.get(name, 0)
    return value if isinstance(value, int) else 0
