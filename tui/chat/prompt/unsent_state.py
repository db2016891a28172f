"""What has not been sent, as text that survives a restart."""

import json
from collections.abc import Iterable
from functools import lru_cache

from assistant.attachment import Attachment


def written(text: str, attachments: Iterable[Attachment]) -> str:
    """Return a text and its attachments as JSON."""
    return f'{{"text": {json.dumps(text)}, "attachments": {_attached(tuple(attachments))}}}'


def understood(state: str) -> tuple[str, tuple[Attachment, ...]]:
    """Return what `written` wrote; nothing, if it makes no sense."""
    try:
        unsent = json.loads(state)
        attached = tuple(Attachment(str(name), str(text)) for name, text in unsent["attachments"])
        return str(unsent["text"]), attached
    except (ValueError, TypeError, KeyError):
        return "", ()


@lru_cache(maxsize=1)  # megabytes that stay the same while the text changes
def _attached(attachments: tuple[Attachment, ...]) -> str:
    return json.dumps([[attachment.name, attachment.text] for attachment in attachments])
