"""What the default target answers to `prompts.txt`: `python -m tests.tools.public_text.answers`.

It writes answers.jsonl, a question and its answer in each line. The questions were written for
this, and the answers, as their model, are under the Apache licence 2.0. They are drawn with the
sampling that the chat begins with, from a fixed seed: some minutes on two cores.
Another processor's rounding may lead to others, so what is built from them starts from the file.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from assistant.chat.prompt_tokens import ChatTokens
from assistant.decoding.draw import draw
from assistant.decoding.warp import warp
from assistant.request import Message, Sampling
from models import catalog
from models.files.locate import locate
from models.native.model import NativeModel
from models.native.weights import Weights

PROMPTS = Path(__file__).with_name("prompts.txt")
ANSWERS = Path(__file__).with_name("answers.jsonl")
LENGTH = 150
"""Tokens of an answer, at most."""


def spoken() -> Iterator[tuple[str, str]]:
    """Yield the questions and their answers."""
    for line in ANSWERS.read_text("utf-8").splitlines():
        pair = json.loads(line)
        yield pair["question"], pair["answer"]


def prompts() -> list[str]:
    """Return the questions."""
    return PROMPTS.read_text("utf-8").strip().split("\n---\n")


def answer(target: NativeModel, question: str, rng: np.random.Generator) -> str:
    """Return the answer to a question, without the character that its end may cut."""
    vocab, sampling = target.weights.vocab, Sampling()
    text = ChatTokens(vocab).encode([Message("user", question)])
    begin = len(text)
    while len(text) < begin + LENGTH:
        token = draw(warp(target.logits(text)[0], sampling, text), rng)
        if token in vocab.stop_tokens:
            break
        text.append(token)
    return b"".join(map(vocab.piece, text[begin:])).decode("utf-8", "ignore")


def main() -> None:
    rng = np.random.default_rng(0)
    weights = Weights(locate(catalog.DEFAULT.target.name))
    with (
        closing(weights),
        closing(NativeModel(weights)) as target,
        ANSWERS.open("w", encoding="utf-8") as file,
    ):
        for question in prompts():
            pair = {"question": question, "answer": answer(target, question, rng)}
            print(json.dumps(pair, ensure_ascii=False), file=file, flush=True)


if __name__ == "__main__":
    main()
