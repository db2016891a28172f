"""The events of a recorded race, with the same times on every machine."""

from collections.abc import Iterator
from pathlib import Path

from assistant.decoding.lookahead.forecast import Forecast, Reason
from assistant.events import (
    Decoded,
    Event,
    Finished,
    LaneEvent,
    ModelInfo,
    Origin,
    Prepared,
    RaceOver,
    RaceReady,
    Ready,
    RejectedToken,
    Stats,
    Stop,
    Token,
)
from assistant.process.engine_process import EngineProcess
from assistant.request import AnyJob, EngineArgs, Lane, Message, Race, Request, Sampling
from assistant.service import EventStream

TEXT = """Here is a function that merges two sorted lists:

```python
def merge(left, right):
    result = []
    while left and right:
        smaller = left if left[0] <= right[0] else right
        result.append(smaller.pop(0))
    return result + left + right
```

It takes the smaller of the two first items, again and again, until one list is empty."""
WORDS = [word + " " for word in TEXT.split(" ")]
SETUP = EngineArgs(Path("target.gguf"), Path("draft.gguf"))
PROMPT = "Write a Python function that merges two sorted lists."
RACE = Race(
    (Lane("without guesses", SETUP, "ars"), Lane("with guesses", SETUP, "sps", 3)),
    Request((Message("user", PROMPT),), Sampling(temperature=0)),
)
EVALUATION_S = (0.060, 0.095)
"""What a round takes in either lane."""


def ready(drafting: bool) -> Ready:
    """What is loaded."""
    target = ModelInfo("target", "Qwen2.5 Coder 1.5B", Path("target.gguf"), 4096)
    draft = ModelInfo("draft", "Qwen2.5 Coder 0.5B", Path("draft.gguf"), 4096)
    return Ready(target, draft if drafting else None, None)


def rounds(speculates: bool) -> Iterator[tuple[list[Token], tuple[RejectedToken, ...]]]:
    """Yield the words, four or three at once where proposals are right, one where they are not."""
    left, number = list(WORDS), 0
    while left:
        number += 1
        accepted = (3, 2, 3, 0, 3)[number % 5] if speculates else 0
        last = Origin.TARGET if accepted == 3 or not speculates else Origin.RESIDUAL
        taken, left = left[: accepted + 1], left[accepted + 1 :]
        source = "suffix" if number % 5 == 4 else "model"
        tokens = [Token(1, word, Origin.DRAFT, source, 0.9, 0.8) for word in taken]
        tokens[-1] = Token(1, taken[-1], last, "model", 0.9, 0.1)
        wrong = last is Origin.RESIDUAL
        yield (
            tokens,
            (RejectedToken(2, "wrong ", "model", accepted, 0.6, 0.1, 0.9),) if wrong else (),
        )


def lane_events(lane: int) -> Iterator[LaneEvent]:
    """Yield what one lane says."""
    seconds, generated = 0.4, 0
    yield LaneEvent(lane, 0.0, Prepared(24, 0, 0))
    for number, (tokens, rejected) in enumerate(rounds(lane == 1), 1):
        seconds += EVALUATION_S[lane]
        generated += len(tokens)
        accepted = generated - number
        stats = Stats(
            RACE.lanes[lane].mode,
            rounds=number,
            drafted=3 * number * lane,
            tested=(accepted + number * 2 // 5) * lane,
            accepted=accepted,
            generated_tokens=generated,
            prefill_s=0.4,
            first_token_s=0.4 + EVALUATION_S[lane],
            decode_s=seconds - 0.4,
            guessing_s=(seconds - 0.4) * lane,
            lookahead_counts={3 * lane: number},
        )
        forecast = Forecast(Reason.LIKELY, 1.7, EVALUATION_S[0])
        decoded = Decoded(tuple(tokens), rejected, 3 * lane, 24 + generated, stats, forecast)
        yield LaneEvent(lane, seconds, decoded)
    yield LaneEvent(lane, seconds, Finished("".join(WORDS), (), Stop.STOP_TOKEN, stats))


class Recorded(EngineProcess):
    """An engine that has but one thing to say."""

    def events_of(self, job: AnyJob) -> Iterator[Event]:
        """Yield what it says of a job."""
        if isinstance(job, Race):
            yield RaceReady((ready(False), ready(True)))
            yield from sorted([*lane_events(0), *lane_events(1)], key=lambda lap: lap.clock)
            yield RaceOver()

    def do(self, job: AnyJob) -> EventStream:
        stream = EventStream(job, lambda *_: None)
        *events, end = self.events_of(job)
        for event in events:
            stream.put(event)
        stream.put(end, last=True)
        return stream

    async def close(self) -> None:
        pass
