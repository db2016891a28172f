"""What a worker with the laboratories and those who ask it say to each other."""

from assistant.lab.events import LabEvent
from assistant.lab.jobs import LabJob
from assistant.process.protocol import Protocol

LAB = Protocol("assistant.lab.worker", LabJob, LabEvent)
