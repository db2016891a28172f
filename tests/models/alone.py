"""What llama.cpp does with files that nobody has looked at first: `python -m tests.models.alone`.

Reads paths, one a line. For each it forks a process that loads the file, computes, and turns text
into tokens and back, and prints how that ended: "loaded", "refused", or "killed" and by what.
"""

import os
import resource
import signal
import sys
from pathlib import Path

from models import gguf
from models.errors import ModelError
from models.llama import native
from models.llama.model import LlamaModel
from models.llama.weights import Weights

LONGEST_S = 10
MEMORY = 6 << 30


def main() -> None:
    native.start()
    gguf.read = lambda path: None  # type: ignore[assignment, return-value]
    for line in sys.stdin:
        print(outcome(Path(line.rstrip("\n"))), flush=True)


def outcome(path: Path) -> str:
    child = os.fork()
    if child == 0:
        _try(path)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return {0: "loaded", 1: "refused"}.get(os.WEXITSTATUS(status), "killed by its own exit")


def _try(path: Path) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.alarm(LONGEST_S)
    if "--loud" not in sys.argv:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        use(path)
    except ModelError as error:
        if "--loud" in sys.argv:
            print(error, file=sys.stderr)
        os._exit(1)
    except BaseException as error:  # a fault of ours, which must not pass for a refusal
        print(repr(error), file=sys.stderr)
        os._exit(3)
    os._exit(0)


def use(path: Path) -> None:
    """Do everything that a conversation does with a model."""
    model = LlamaModel(Weights(path), n_ctx=512, threads=1)
    vocab = model.weights.vocab
    model.logits([token % model.n_vocab for token in range(300)], rows=4)
    vocab.tokenize("Why is the <|im_start|> sky blue? é😀 \x00\xff" * 5)
    for token in range(model.n_vocab):
        vocab.piece(token)
    model.close()
    model.weights.close()


if __name__ == "__main__":
    main()
