"""The request to the engine: a path through a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assistant.request import Message, Mode, Request
from tui.chat.prompt.attachments import joined
from tui.chat.tools.calls import NOT_RUN, told
from tui.settings.settings import Settings

if TYPE_CHECKING:
    from assistant.store import Record

ALTERNATIVES = 5
"""Alternatives of each row to report with each token, for the inspector."""


def inquiry(
    path: Sequence[Record],
    system: str,
    model: str,
    mode: Mode,
    settings: Settings,
    again: int = 0,
    stored: bool = False,
) -> Request:
    """Return the request for the answer that follows `path`, or continues with its last one.

    `model` is the target's name; `again` counts the answers there are already to the question;
    `stored` says that the conversation is on disk.
    """
    seed = settings.seed
    return Request(
        messages=_messages(path, system, model),
        sampling=settings.sampling,
        mode=mode,
        lookahead=settings.lookahead,
        max_tokens=settings.max_tokens,
        seed=None if seed is None else seed + again,  # another answer must differ
        stored=stored,
        alternatives=ALTERNATIVES,
        sources=settings.draft_sources,
        rule=settings.rule,
        thinking=settings.thinking,
        effort=settings.effort,
        thinking_budget=settings.thinking_budget,
    )


def _messages(path: Sequence[Record], system: str, model: str) -> tuple[Message, ...]:
    messages = [Message("system", system)] if system else []
    unanswered: tuple[str, ...] = ()  # ids of calls
    for record in path:
        if record.role == "tool":
            call_id = record.calls[0].id if record.calls else ""
            end = record.content, record.state, record.stop
            unanswered = tuple(each for each in unanswered if each != call_id)
            messages.append(Message("tool", told(end), call_id=call_id))
            continue
        messages += [Message("tool", NOT_RUN, call_id=call_id) for call_id in unanswered]
        unanswered = tuple(call.id for call in record.calls)
        content = joined(record.content, record.attachments)
        if record.role == "user" and messages and messages[-1].role == "user":
            # A question that was never answered; many templates want the roles to alternate.
            content = f"{messages.pop().content}\n\n{content}"
        # Token ids mean nothing to another model.
        ids = record.token_ids if record.model == model else ()
        messages.append(Message(record.role, content, ids, record.thought, record.calls))
    if messages and messages[-1].role == "tool":
        messages += [Message("tool", NOT_RUN, call_id=call_id) for call_id in unanswered]
    return tuple(messages)
