"""How busy this machine is with other programs: what is timed meanwhile means little."""

import psutil

BUSY = 0.2
"""The share of the processor's time from which on others disturb."""


class OtherLoad:
    """The share of the processor's time that others take, from its making on."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._used, self._all = self._times()

    @property
    def share(self) -> float:
        """The share so far, 0 to 1."""
        used, all_ = self._times()
        passed = all_ - self._all
        return min(max((used - self._used) / passed, 0.0), 1.0) if passed > 0 else 0.0

    @property
    def is_heavy(self) -> bool:
        """Whether it disturbs."""
        return self.share > BUSY

    def _times(self) -> tuple[float, float]:
        """Return the seconds that others have used, and all seconds of all processors."""
        machine, own = psutil.cpu_times(), self._process.cpu_times()
        idle = machine.idle + getattr(machine, "iowait", 0.0)
        # Linux counts the time of guests twice.
        guests = getattr(machine, "guest", 0.0) + getattr(machine, "guest_nice", 0.0)
        all_ = sum(machine) - guests
        return all_ - idle - own.user - own.system, all_
