"""A program that fills a store and prints what the store has acknowledged; a test kills it."""

import sys
from pathlib import Path

from assistant.store import database
from assistant.store.store import Store
from tests.assistant.store.conversations import trace
from tests.patience import WAIT_S
from tests.stored import ask, begin, end, stream


def say(*words: object) -> None:
    print(*words, flush=True)


def chat(store: Store, conversation: int, parent: int | None, number: int) -> int:
    prompt = f"question {number} " + "p" * (number * 37 % 900)
    question = ask(store, conversation, parent, prompt)
    say("asked", question.id, len(prompt))
    answer = begin(store, conversation, question.id, "tiny")
    say("begun", answer.id, 0)
    rounds = trace(number % 40 + 4)
    for done in range(1, 5):
        text = "word " * done * (number * 53 % 400)
        stream(store, answer.id, text, rounds[: done * len(rounds) // 4])
        say("streamed", answer.id, len(text))
    end(store, answer.id, text + "end", rounds, token_ids=(1, 2, 3), stop="length")
    say("ended", answer.id, len(text) + 3)
    return answer.id


def main(path: str, prompts: int) -> None:
    store = Store(Path(path))
    conversation = store.create()
    parent = None
    for number in range(prompts):
        parent = chat(store, conversation, parent, number)
    store.close()


if __name__ == "__main__":
    database.BUSY_MS = int(1000 * WAIT_S)  # it says in a second what a user says in a month
    main(sys.argv[1], int(sys.argv[2]))
