"""ArS beside llama.cpp's own decode loop: `python -m tests.tools.loops TARGET [CONTEXT]`.

Both loops run on the same weights, each with a context of its own, behind the same tokens, a few
tokens at a time in turns, so that a slow moment of the machine hits them both. The other loop is
`llama_decode` and a chain of llama.cpp's samplers, with nothing else around it. Printed are the
milliseconds of a token and the ratio of the speeds (bar: 0.98). It asserts nothing.
"""

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter

import llama_cpp.llama_cpp as llama

from assistant.decoding.lookahead.policy import Control
from assistant.engine.reply import Assistant
from assistant.events import Decoded
from assistant.request import Message, Request, Sampling
from models.llama.model import LlamaModel
from models.llama.weights import Weights
from models.machine import physical_cores

TURNS, TOKENS = 12, 16  # turns of each loop, tokens of each turn
SAMPLINGS = {"greedy": Sampling(0), "top-k, top-p, temperature": Sampling(0.7, 40, 0.95)}
TEXT = "The storm came over the hills at noon, and the river rose until the old bridge sang. "


def own_loop(weights: Weights, n_ctx: int, tokens: list[int], sampling: Sampling) -> Iterator[int]:
    """Yield tokens as llama.cpp's own programs decode them, the prompt read before the first."""
    params = llama.llama_context_default_params()
    params.n_ctx = n_ctx
    params.n_threads = params.n_threads_batch = physical_cores()
    context = llama.llama_init_from_model(weights.handle, params)
    chain = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
    if sampling.temperature == 0:
        llama.llama_sampler_chain_add(chain, llama.llama_sampler_init_greedy())
    else:
        for sampler in (
            llama.llama_sampler_init_top_k(sampling.top_k),
            llama.llama_sampler_init_top_p(sampling.top_p, 1),
            llama.llama_sampler_init_temp(sampling.temperature),
            llama.llama_sampler_init_dist(1),
        ):
            llama.llama_sampler_chain_add(chain, sampler)
    for start in range(0, len(tokens), 512):
        part = tokens[start : start + 512]
        array = (llama.llama_token * len(part))(*part)
        assert llama.llama_decode(context, llama.llama_batch_get_one(array, len(part))) == 0
    one = (llama.llama_token * 1)()
    while True:
        token = llama.llama_sampler_sample(chain, context, -1)
        yield token
        one[0] = token
        assert llama.llama_decode(context, llama.llama_batch_get_one(one, 1)) == 0


def ars(model: LlamaModel, text: str, sampling: Sampling) -> Iterator[Decoded]:
    """Yield the rounds of an answer, the prompt read before the first."""
    control = Control("ars")
    request = Request((Message("user", text),), sampling, "ars", seed=1)
    events = Assistant(model, model.weights.vocab).reply(request, control)
    return (event for event in events if isinstance(event, Decoded))


def timed(loop: Iterator[object]) -> float:
    """Return the milliseconds that a token of a turn takes."""
    started = perf_counter()
    taken = sum(1 for _ in islice(loop, TOKENS))
    return 1000 * (perf_counter() - started) / taken


def main() -> None:
    target, context = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 300
    weights = Weights(target)
    n_ctx = context + 1024
    text = "Tell a long story that begins like this. " + TEXT * (context // 20)
    model = LlamaModel(weights, n_ctx=n_ctx)
    prompt = weights.vocab.tokenize(text)[:context]
    text = b"".join(map(weights.vocab.piece, prompt)).decode()
    for name, sampling in SAMPLINGS.items():
        ours, theirs = ars(model, text, sampling), own_loop(weights, n_ctx, prompt, sampling)
        next(ours), next(theirs)
        pairs = [(timed(ours), timed(theirs)) for _ in range(TURNS)]
        ratio = median(their / our for our, their in pairs)
        a, b = (median(column) for column in zip(*pairs, strict=True))
        print(
            f"{name}: ArS {a:.1f} ms, llama.cpp {b:.1f} ms a token; speed {ratio:.3f}", flush=True
        )


if __name__ == "__main__":
    main()
