"""How much time speculation may lose against ArS before it has to pause."""

LOSS_ALLOWED = 0.02  # of the decoding time so far
ALLOWANCE = 4  # evaluations of one token that may be lost, and saved up, on top


class Budget:
    """Keep account of the time that speculation lost, or saved, against ArS.

    While the debt exceeds a fiftieth of all decoding time and a small allowance, it pauses whatever
    the estimates promise. So decoding takes at most 1.02 times as long as ArS is estimated to, and
    the allowance, and one round.
    """

    def __init__(self) -> None:
        self._elapsed = 0.0
        self._debt = 0.0

    def spend(self, seconds: float, worth: float, ars_token_s: float) -> None:
        """Take `seconds` into account that ArS had needed `worth` for."""
        self._elapsed += seconds
        self._debt = max(self._debt + seconds - worth, -ALLOWANCE * ars_token_s)

    def allows(self, ars_token_s: float) -> bool:
        """Say whether speculation may go on."""
        return self._debt <= LOSS_ALLOWED * self._elapsed + ALLOWANCE * ars_token_s
