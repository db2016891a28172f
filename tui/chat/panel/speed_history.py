"""How fast an answer came, from its first token to its last."""

PERIOD_S = 0.25
"""Decoding time that one rate stands for, at first."""


class SpeedHistory:
    """Tokens a second over equal stretches of decoding time; longer ones as the answer grows."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._period = PERIOD_S
        self._since = (0.0, 0)  # seconds and tokens at the end of the last stretch
        self.rates: list[float] = []
        """Of the whole answer, at most as many as were asked for."""

    def add(self, decode_s: float, tokens: int) -> None:
        """Take what the answer has come to: `tokens` in `decode_s` seconds."""
        began, counted = self._since
        if decode_s - began < self._period:
            return
        self.rates.append((tokens - counted) / (decode_s - began))
        self._since = (decode_s, tokens)
        if len(self.rates) > self._most:
            self._period *= 2
            pairs = zip(self.rates[::2], self.rates[1::2], strict=False)
            odd = self.rates[-1:] if len(self.rates) % 2 else []
            self.rates = [(first + second) / 2 for first, second in pairs] + odd
