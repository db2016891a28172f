"""Text that every encoding has: what is shown, sent and stored."""


def well_formed(text: str) -> str:
    """Return a text with U+FFFD for each half of a surrogate pair: one for each byte of a file's
    name that is no UTF-8, as Python spells it. A path that is opened stays as it is.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
