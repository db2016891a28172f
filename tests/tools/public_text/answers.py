"""What the default target answers to `prompts.txt`: `python -m tests.tools.public_text.answers`.

It writes answers.jsonl, a question and its answer in each line. The questions were written for
this, and the answers, as their model, are under the Apache licence 2.0. They are drawn with the
sampling that the chat begins with, from a fixed seed, many side by side: some minutes on two cores.
Another processor's rounding may lead to others, so what is built from them starts from the file.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import numpy as np

from assistant.chat.prompt_tokens import ChatTokens
from assistant.decoding.draw import draw
from assistant.decoding.warp import warp
from assistant.request import Message, Sampling
from models import catalog
from models.base import SequenceTokens
from models.files.locate import locate
from models.native.model import NativeModel
from models.native.weights import Weights

PROMPTS = Path(__file__).with_name("prompts.txt")
ANSWERS = Path(__file__).with_name("answers.jsonl")
LENGTH = 150
"""Tokens of an answer, at most."""
BESIDE = 16
"""Answers in one batch."""


def spoken() -> Iterator[tuple[str, str]]:
    """Yield the questions and their answers."""
    for line in ANSWERS.read_text("utf-8").splitlines():
        pair = json.loads(line)
        yield pair["question"], pair["answer"]


def prompts() -> list[str]:
    """Return the questions, neighbours of different kinds."""
    questions = PROMPTS.read_text("utf-8").strip().split("\n---\n")
    batches = -(-len(questions) // BESIDE)
    return [each for start in range(batches) for each in islice(questions, start, None, batches)]


def answers(
    target: NativeModel, questions: Sequence[str], rng: np.random.Generator
) -> Iterator[str]:
    """Yield an answer to each question; without the character that its end may cut."""
    vocab, sampling = target.weights.vocab, Sampling()
    chat = ChatTokens(vocab)
    begun = [chat.encode([Message("user", question)]) for question in questions]
    texts, ends = [list(each) for each in begun], [len(each) + LENGTH for each in begun]
    going = dict(enumerate(texts))
    while going:
        rows = target.logits_of({i: SequenceTokens(text, 1) for i, text in going.items()})
        for i, logits in rows.items():
            token = draw(warp(logits[0], sampling, texts[i]), rng)
            if token not in vocab.stop_tokens:
                texts[i].append(token)
            if token in vocab.stop_tokens or len(texts[i]) == ends[i]:
                del going[i]
    for start, text in zip(begun, texts, strict=True):
        yield b"".join(map(vocab.piece, text[len(start) :])).decode("utf-8", "ignore")


def main() -> None:
    rng = np.random.default_rng(0)
    weights = Weights(locate(catalog.DEFAULT.target.name))
    with (
        closing(weights),
        closing(NativeModel(weights, n_ctx=512 * BESIDE, max_rows=BESIDE, texts=BESIDE)) as target,
        ANSWERS.open("w", encoding="utf-8") as file,
    ):
        questions = prompts()
        for start in range(0, len(questions), BESIDE):
            batch = questions[start : start + BESIDE]
            for question, answer in zip(batch, answers(target, batch, rng), strict=True):
                pair = {"question": question, "answer": answer}
                print(json.dumps(pair, ensure_ascii=False), file=file)
            file.flush()


if __name__ == "__main__":
    main()
