"""What an editor was answered last: the next answer is often the rest of it."""

from dataclasses import replace

from assistant.request import Request
from assistant.serve.completion_objects import AnswerDeltas

LONGEST = 2_000  # characters of a prediction: no suggestion has more


class LastSuggestion:
    """Remember the last answer to a gap, and predict the next one by it."""

    def __init__(self) -> None:
        self._before, self._prediction = "", ""
        self._answer = AnswerDeltas()

    def predict(self, request: Request, answer: AnswerDeltas) -> Request:
        """Return a request with the rest of the last suggestion, if the text agrees with it so far.

        `answer` is the one that the request will have. One that was replaced before it had a text
        leaves what was predicted for it.
        """
        suggested = self._answer.text
        if self._answer.end is None and self._prediction.startswith(suggested):
            suggested = self._prediction
        before = "".join(message.content for message in request.messages)
        agrees = (self._before + suggested).startswith(before)
        rest = (self._before + suggested)[len(before) :][:LONGEST] if agrees else ""
        self._before, self._prediction, self._answer = before, rest, answer
        return replace(request, prediction=rest)
