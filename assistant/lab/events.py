"""What the laboratories say beside the engine. Plain frozen values: they may cross a process."""

from assistant.events import Event
from assistant.lab.bench.events import Compared, Gauged
from assistant.lab.prove.events import Check, Proved
from assistant.lab.tune.events import Measuring, Tuned

LabEvent = Event | Measuring | Check | Tuned | Compared | Gauged | Proved
