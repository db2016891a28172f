"""Arguments in Gemma 4's syntax, parsed into JSON."""

import json
import re

from assistant.calling.formats import QUOTE
from assistant.marks import split

_MARKS_IN_JSON = {QUOTE: '"', ",": ", ", ":": ": "}


class GemmaArguments:
    """Arguments after their first brace: keys are bare, and strings are between two `QUOTE`."""

    _MARK = r"[{}\[\],:]"
    _PART = re.compile(rf"\s*(?:({re.escape(QUOTE)}|{_MARK})|(.+?)(?={_MARK}))", re.DOTALL)

    def __init__(self) -> None:
        self._rest, self._begins = "", "{"
        self._depth, self._quoted = 1, False

    def read(self, text: str) -> tuple[str, str | None]:
        """Take more text; see `Arguments`."""
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
        """Return the part of a string that is certain, with its closing quote if it is there."""
        said, end, self._rest = split(self._rest, [QUOTE])
        self._quoted = not end
        return json.dumps(said, ensure_ascii=False)[1:-1] + ('"' if end else "")

    def _mark(self, mark: str) -> str:
        self._quoted = mark == QUOTE
        self._depth += (mark in "{[") - (mark in "}]")
        return _MARKS_IN_JSON.get(mark, mark)

    def _word(self, word: str) -> str:
        return json.dumps(word, ensure_ascii=False) if self._rest[0] == ":" else word
