"""What the default target answers to `prompts.txt`: `python -m tests.tools.public_text.answers`.

It writes answers.jsonl, a question and its answer in each line. The questions were written for
this, and the answers, as their model, are under the Apache licence 2.0. They are drawn with the
sampling that the chat begins with, from a fixed seed: most of an hour on two cores. Another
processor's rounding may lead to others, so what is built from them starts from the file.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PROMPTS = Path(__file__).with_name("prompts.txt")
ANSWERS = Path(__file__).with_name("answers.jsonl")
ASK = ["-m", "tui", "ask", "--mode", "ars", "--draft", "none", "--seed", "0", "--max-tokens", "150"]


def spoken() -> Iterator[tuple[str, str]]:
    """Yield the questions and their answers."""
    for line in ANSWERS.read_text("utf-8").splitlines():
        pair = json.loads(line)
        yield pair["question"], pair["answer"]


def main() -> None:
    with ANSWERS.open("w", encoding="utf-8") as file:
        for question in PROMPTS.read_text("utf-8").strip().split("\n---\n"):
            asked = [sys.executable, *ASK, "--", question]
            answer = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True).stdout
            pair = {"question": question, "answer": answer.rstrip("\n")}
            print(json.dumps(pair, ensure_ascii=False), file=file, flush=True)


if __name__ == "__main__":
    main()
