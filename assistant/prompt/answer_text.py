"""The text of an answer under way, divided into its parts: thoughts, answer, calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, repeat
from operator import itemgetter
from typing import TYPE_CHECKING

from assistant.events import Part, Token
from assistant.prompt.thoughts import AnswerBeginning
from assistant.streamed_text import split_at_mark

if TYPE_CHECKING:
    from assistant.calling.reader import CallReader  # which few answers need


class AnswerText:
    """Turn the tokens of an answer under way into tokens that belong to one part each.

    A character is assigned to a part once that is certain. Markers separate thoughts from the rest,
    calls are separated from the remainder, and a stop string in the remaining text ends the answer.
    Text that may begin any of these is buffered.
    """

    def __init__(
        self,
        beginning: AnswerBeginning,  # where it begins, and how its tokens are decoded
        prefix: Iterable[int] = (),  # of the answer that it continues; read, and not returned
        stops: Sequence[str] = (),  # strings that end the answer and are not part of it
        call_reader: CallReader | None = None,  # of its tool calls, if it may have any
    ) -> None:
        self.returned: dict[Part, str] = {"answer": "", "thought": "", "call": "", "marker": ""}
        """The text returned so far, by parts."""
        self.call_reader = call_reader
        self.stopped = False
        """Whether a stop string has ended the answer."""
        self._text, self._markers, self._position, _ = beginning
        self._pending = b""  # bytes of an incomplete character
        self._stops: Sequence[str] = ()
        self._buffered = ""  # may begin a stop string
        self._tokens: list[Token] = []  # not returned yet
        self._parts: list[Part] = []  # of their characters, as far as they are certain
        self._buffered_prefix = 0  # characters of `prefix` that are still buffered before them
        for token in prefix:
            text = self.complete(token)
            self._buffered_prefix += len(text) - len(self._read(text))
        self._stops = stops

    @property
    def is_thinking(self) -> bool:
        """Whether the next token comes within a thought."""
        return self._current_part == "thought"

    def complete(self, token: int) -> str:
        """Return the text that the next token completes."""
        text, self._pending = self._text.after(self._pending, token)
        return text

    def add(self, token: Token) -> list[Token]:
        """Add a token with the text that it completes; return the tokens that are certain now.

        Text of markers, and from a stop string on, is removed from tokens. A token with text of two
        parts becomes two tokens.
        """
        self._tokens.append(token)
        self._parts += self._read(token.text)
        return self._certain()

    def flush(self) -> list[Token]:
        """Return the tokens that are buffered, since no more come."""
        if not self.stopped:
            part, buffered = self._position.part, self._position.buffered
            self._position = replace(self._position, buffered="")
            self._parts += [*self._parts_of_segment(part, buffered), *self._parts_of_buffered()]
        return self._certain()

    def end(self) -> tuple[str, str]:
        """Return the whole text and thought of the answer.

        They include U+FFFD for a character that was cut, and the text the part of an incomplete
        call that this answer has written.
        """
        text, thought = self.returned["answer"], self.returned["thought"]
        if self.call_reader and self.returned["call"]:
            text += self.call_reader.cut[-len(self.returned["call"]) :]
        cut = "" if self.stopped else self._pending.decode("utf-8", "replace")
        return (text, thought + cut) if self.is_thinking else (text + cut, thought)

    def _certain(self) -> list[Token]:
        of_prefix = min(self._buffered_prefix, len(self._parts))
        self._buffered_prefix -= of_prefix
        del self._parts[:of_prefix]
        certain: list[Token] = []
        while self._tokens:
            size = len(self._tokens[0].text)
            is_cut = self.stopped and self._parts  # within the token, by the stop string
            if size > len(self._parts) and not is_cut:
                break
            certain += self._divide(self._tokens.pop(0), self._parts[:size])
            del self._parts[:size]
        for token in certain:
            self.returned[token.part] += token.text
        return certain

    def _divide(self, token: Token, parts: Sequence[Part]) -> Iterator[Token]:
        """Yield a token for each part of a token's text; one token if it has no text to show."""
        letters = [pair for pair in zip(parts, token.text, strict=False) if pair[0] != "marker"]
        for part, run in groupby(letters, key=itemgetter(0)):
            yield replace(token, part=part, text="".join(letter for _, letter in run))
        if not letters:
            yield replace(token, part="marker" if parts else self._current_part)

    @property
    def _current_part(self) -> Part:
        """The part that more text would belong to."""
        has_calls = self.call_reader is not None and self.call_reader.is_open
        return "call" if has_calls and self._position.state != "thought" else self._position.part

    def _read(self, text: str) -> list[Part]:
        """Add text; return the parts of the characters that have become certain, in order."""
        self._position, segments = self._markers.read(self._position, text)
        return [part for segment in segments for part in self._parts_of_segment(*segment)]

    def _parts_of_segment(self, part: Part, text: str) -> Iterator[Part]:
        if part != "answer":
            yield from self._parts_of_buffered()
            yield from repeat(part, len(text))
            return
        text, call_text = self.call_reader.read(text) if self.call_reader else (text, "")
        yield from self._parts_up_to_stop(text)
        if call_text:
            yield from self._parts_of_buffered()
            yield from repeat("call", len(call_text))

    def _parts_of_buffered(self) -> Iterator[Part]:
        if self.call_reader:
            yield from self._parts_up_to_stop(self.call_reader.flush())
        yield from repeat("answer", len(self._buffered))
        self._buffered = ""

    def _parts_up_to_stop(self, text: str) -> Iterator[Part]:
        if not self.stopped:
            before, stop, self._buffered = split_at_mark(self._buffered + text, self._stops)
            yield from repeat("answer", len(before))
            if stop:
                self.stopped, self._buffered = True, ""
