"""The objects of llama.cpp's server for completions and gaps."""

from collections.abc import Iterable, Iterator

from assistant.events import Finished, Stop, Token
from assistant.serve.completion_objects import AnswerDeltas, Completion, Object, own_end

_STOP_TYPES = {Stop.STOP_TOKEN: "eos", Stop.STOP_STRING: "word"}


class NativeCompletion(Completion):
    """Make the objects of one completion; an object with `stop` ends a stream."""

    DONE = b""

    def whole(self, answer: AnswerDeltas, end: Finished) -> Object:
        """Return an answer that has ended as one object, with the fields that are asked for."""
        whole = {**self._part(answer.text, True), **self._end(answer, end)}
        named = {**whole, **{f"timings/{name}": n for name, n in whole["timings"].items()}}
        wanted = self.chat_request.limits.fields or whole
        return {name: named[name] for name in wanted if name in named}

    def begin(self) -> Iterator[Object]:
        """Yield nothing."""
        return iter(())

    def more(self, deltas: Iterable[Object], tokens: Iterable[Token] = ()) -> Iterator[Object]:
        """Yield an object for each delta."""
        return (self._part(delta.get("content", ""), False) for delta in deltas)

    def finish(self, answer: AnswerDeltas, end: Finished) -> Iterator[Object]:
        """Yield the object with the figures of the answer."""
        yield {**self._part("", True), **self._end(answer, end)}

    def _part(self, content: str, stop: bool) -> Object:
        return {"index": 0, "content": content, "tokens": [], "id_slot": 0, "stop": stop}

    def _end(self, answer: AnswerDeltas, end: Finished) -> Object:
        stats = end.stats
        return {
            "model": self.chat_request.model,
            "tokens_predicted": stats.generated_tokens,
            "tokens_evaluated": stats.prompt_tokens,
            "tokens_cached": stats.prompt_tokens + stats.generated_tokens,
            "has_new_line": "\n" in answer.text,
            "truncated": end.stop is Stop.CONTEXT,
            "stop_type": _STOP_TYPES.get(end.stop, "limit"),
            "stopping_word": "",
            "timings": {
                "cache_n": stats.cached_tokens,
                **_timing("prompt", stats.prompt_tokens - stats.cached_tokens, stats.prefill_s),
                **_timing("predicted", stats.generated_tokens, stats.decode_s),
                "draft_n": stats.drafted,
                "draft_n_accepted": stats.accepted,
            },
            "specchat": own_end(end),
        }


def _timing(what: str, count: int, seconds: float) -> Object:
    return {
        f"{what}_n": count,
        f"{what}_ms": 1000 * seconds,
        f"{what}_per_token_ms": 1000 * seconds / max(count, 1),
        f"{what}_per_second": count / seconds if seconds else 0.0,
    }
