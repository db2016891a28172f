"""A person's own stored answers as a draft source: how the model has gone on before."""

from collections.abc import Sequence

from assistant.decoding.sources.copying import Copying
from assistant.decoding.sources.draft import Run
from assistant.decoding.sources.ngram_tables import LENGTHS, Continuation, Tables

USUAL = 80  # percent of the cases, to speak of a habit
ALWAYS = 95


class NgramSource(Copying):
    """Copy what usually followed the last tokens in the tables; `n_vocab` is the target's."""

    name = "ngram"

    def __init__(self, tables: Tables, n_vocab: int) -> None:
        self._tables = tables
        self._n_vocab = n_vocab

    def read(self, tokens: Sequence[int]) -> None:
        """Do nothing: it has read all that it knows."""

    def offer(self, tokens: Sequence[int], room: int) -> Run | None:
        """Offer up to `room` tokens, as long as each is a habit."""
        context = list(tokens[-max(LENGTHS) :])
        found: list[Continuation] = []
        while len(found) < room and (entry := self._tables.find(context)):
            if entry.percent < USUAL or entry.token >= self._n_vocab:
                break
            found.append(entry)
            context = [*context[1:], entry.token]
        if not found:
            return None
        tokens = tuple(entry.token for entry in found)
        return Run(self.name, tokens, tuple(strength(entry) for entry in found))


def strength(entry: Continuation) -> int:
    """Return the class of an entry: 0 to 3 by how often it held, 4 to 7 if it hardly ever fails."""
    often = min(entry.times.bit_length() - 2, 3)
    return often + 4 if entry.percent >= ALWAYS else often
