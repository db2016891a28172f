"""A job whose lanes need several engines: each engine has a process, and the lanes take turns.

The lane that has computed least is next, whichever process it is in: the worker orders the lanes
within a process, and `merge` orders the processes, one step at a time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assistant.events import Failed, Finished, LaneEvent, RaceOver, RaceReady, Ready
from assistant.request import AnyJob, Race
from assistant.service import EventStream
from models.errors import ModelError


def by_engine(job: AnyJob) -> dict[str, AnyJob]:
    """Return the parts of a job by the engines that its lanes name.

    Such a job has `setups`, one for each lane, and a `part`: the numbers of its lanes; None: all.
    """
    names = [str(setup.engine) for setup in job.setups]
    lanes = {name: tuple(i for i, n in enumerate(names) if n == name) for name in names}
    return {name: replace(job, part=numbers) for name, numbers in lanes.items()}


@dataclass
class LanesOfProcess:
    """The lanes of one process."""

    stream: EventStream
    clocks: dict[int, float] = field(default_factory=dict)  # of the running lanes
    end: Any = None  # its last event, after it has ended

    async def load(self, merged: EventStream) -> dict[int, Ready | Failed]:
        """Load the models; return the results by lane."""
        numbers = self.stream.job.part
        async for event in self.stream:
            match event:
                case RaceReady(lanes):
                    results = dict(zip(numbers, lanes, strict=True))
                    self.clocks = {n: 0.0 for n in numbers if isinstance(results[n], Ready)}
                    return results
                case Failed():
                    self.end = event
                    return dict.fromkeys(numbers, event)
            merged.put(event)
        raise AssertionError("loading ends in one of these")

    async def step(self, merged: EventStream) -> None:
        """Let the lane that has computed least do a step, and pass on its event."""
        self.stream.step()
        event = await anext(self.stream)
        if not isinstance(event, LaneEvent):  # the process has died
            for lane, clock in self.clocks.items():
                merged.put(LaneEvent(lane, clock, event))
            self.clocks, self.end = {}, event
            return
        merged.put(event)
        self.clocks[event.lane] = event.clock
        if isinstance(event.event, Finished | Failed):
            del self.clocks[event.lane]
        if not self.clocks:
            self.end = await anext(self.stream)


async def merge(merged: EventStream, streams: Iterable[EventStream]) -> None:
    """Run the parts of a job, and merge their streams into that of all of it.

    Each part is started when it is taken from `streams`, after those before it have loaded: engines
    that load together would measure each other's load as the costs of their models.
    """
    parts, lanes = list[LanesOfProcess](), dict[int, Ready | Failed]()
    for stream in streams:
        parts.append(LanesOfProcess(stream))
        lanes |= await parts[-1].load(merged)
    failures = [result for result in lanes.values() if isinstance(result, Failed)]
    if len(failures) == len(lanes):
        merged.put(_all_failed(failures), last=True)
        return
    merged.put(RaceReady(tuple(lanes[number] for number in sorted(lanes))))
    while running := [part for part in parts if part.clocks]:
        await min(running, key=lambda part: min(part.clocks.values())).step(merged)
    merged.put(_end(merged, [part.end for part in parts]), last=True)


def _all_failed(failures: Sequence[Failed]) -> Failed:
    kinds = {failure.kind for failure in failures}
    reasons = " ".join(sorted({failure.message for failure in failures}))
    return Failed(reasons, kinds.pop() if len(kinds) == 1 else ModelError.__name__)


def _end(merged: EventStream, ends: Sequence[Any]) -> object:
    """Return the last event of a job from those of its parts."""
    failures = [end for end in ends if isinstance(end, Failed)]
    if len(failures) == len(ends):
        return _all_failed(failures)
    if isinstance(merged.job, Race):  # the other lanes have ended
        return RaceOver()
    first, *others = ends
    return failures[0] if failures else first.join(others)
