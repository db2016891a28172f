"""The arguments of Gemma 4's calls, read as the JSON that they mean."""

import json
import re

from assistant.calling.formats import QUOTE

_MARKS_IN_JSON = {QUOTE: '"', ",": ", ", ":": ": "}


class GemmaArguments:
    """An object after its brace: keys are bare, and strings stand between two `QUOTE`."""

    _MARK = r"[{}\[\],:]"
    _PART = re.compile(rf"\s*(?:({re.escape(QUOTE)}|{_MARK})|(.+?)(?={_MARK}))", re.DOTALL)

    def __init__(self) -> None:
        self._rest, self._begins = "", "{"
        self._depth, self._quoted = 1, False

    def read(self, text: str) -> tuple[str, str | None]:
        """Read on; see `Arguments`."""
        self._rest += text
        added, self._begins = self._begins, ""
        while self._depth:
            if self._quoted:
                more = self._text()
            elif part := self._PART.match(self._rest):
                self._rest = self._rest[part.end() :]
                more = self._mark(part[1]) if part[1] else self._word(part[2].strip())
            else:
                more = ""
            if not more:
                return added, None
            added += more
        return added, self._rest

    def _text(self) -> str:
        """Return what is known by now of a string, and its end."""
        said, end, rest = self._rest.partition(QUOTE)
        if not end:  # which may have begun
            lengths = range(1, len(QUOTE))
            held = max((n for n in lengths if said.endswith(QUOTE[:n])), default=0)
            said, rest = said[: len(said) - held], said[len(said) - held :]
        self._rest, self._quoted = rest, not end
        return json.dumps(said, ensure_ascii=False)[1:-1] + ('"' if end else "")

    def _mark(self, mark: str) -> str:
        self._quoted = mark == QUOTE
        self._depth += (mark in "{[") - (mark in "}]")
        return _MARKS_IN_JSON.get(mark, mark)

    def _word(self, word: str) -> str:
        return json.dumps(word, ensure_ascii=False) if self._rest[0] == ":" else word
