"""The JSON object that `ask --json` prints."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from assistant.events import Finished, ModelInfo
from assistant.settings.settings import Settings
from assistant.stats import STATS_FIELDS, TOKEN_FIELDS
from models.errors import ModelError
from models.files import checksum
from tui.shell.ask import AskSession, ReceivedAnswer

TOGETHER = ("rounds", "tokens", "decode_s", "tokens_per_s")


def report(asked: AskSession, settings: Settings) -> dict[str, Any]:
    """Return everything about an answer, as plain values; and the conversation it continued.

    Several answers are in a list.
    """
    ready, answered, conversation = asked.ready, asked.answered, asked.talk.path.conversation
    answers = [_answer(given, given.finished) for given in asked.answers if given.finished]
    if ready is None or not answers:
        raise ModelError("There is no answer to report.")
    earlier = [_answer(given, given.finished) for given in asked.before if given.finished]
    told = (
        answers[0]
        if answered is None
        else {"answers": answers, "together": _fields(answered, TOGETHER)}
    )
    return {
        **told,
        **({"before": earlier} if earlier else {}),  # answers that asked for calls
        "target": _model(ready.target),
        "draft": _model(ready.draft) if ready.draft else None,
        "engine": ready.engine,
        "sampling": asdict(settings.sampling),
        "seed": settings.seed,
        **({} if conversation is None else {"conversation": conversation}),
    }


def _answer(given: ReceivedAnswer, finished: Finished) -> dict[str, Any]:
    return {
        "text": finished.text,
        **({"reasoning_content": finished.thought} if finished.thought else {}),
        "stop": str(finished.stop),
        **({} if finished.complete else {"complete": False}),  # of the form that was asked for
        **({"calls": _calls(given, finished)} if finished.calls else {}),
        **({"sources": _sources(given)} if given.sources else {}),
        "tokens": [_fields(token, TOKEN_FIELDS) for token in given.tokens],
        "stats": _fields(finished.stats, STATS_FIELDS),
    }


def _sources(given: ReceivedAnswer) -> list[dict[str, Any]]:
    """Return the passages that an answer cites."""
    return [_fields(each, ("number", "name", "first", "last")) for each in given.sources]


def _calls(given: ReceivedAnswer, finished: Finished) -> list[dict[str, Any]]:
    """Return the calls, each with its result if it has one."""
    results = {result.calls[0].id: result for result in given.results}
    told = []
    for call in finished.calls:
        told.append(asdict(call))
        if call.id in results:
            end = results[call.id]
            told[-1] |= {
                "result": end.content, "state": end.state, "stop": end.stop, "seconds": end.seconds
            }  # fmt: skip
    return told


def _fields(value: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _model(model: ModelInfo) -> dict[str, Any]:
    digest = checksum.sha256_once(model.path)
    return {"name": model.name, "path": str(model.path), "sha256": digest}
