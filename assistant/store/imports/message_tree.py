"""Messages that name the one before them, as a conversation."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assistant.store.values import Attachment, FullConversation, Record, Role, derive

# A text is kept as its parts until it is needed: most joined texts are parts of longer ones.
_Parts = tuple["_Parts | None", str]


@dataclass(frozen=True, slots=True)
class Node:
    """A place in the tree of another program; without a role, nothing that is shown."""

    id: str
    parent: str | None
    role: Role | None = None
    text: str = ""
    created: float | None = None
    model: str = ""
    attachments: tuple[Attachment, ...] = ()
    thought: str = ""


@dataclass(slots=True)
class _Kept:
    """A message, and what follows it."""

    record: Record
    parts: _Parts
    thoughts: _Parts
    followed: bool = False  # by one of another role
    gone_on_with: bool = False  # by more of the same, which has its text, too


def grow(
    title: str, system: str, created: float, updated: float, nodes: Sequence[Node], leaf: str | None
) -> FullConversation:
    """Return a conversation; what follows a message of its own role is joined with it.

    Raises:
        ValueError: the nodes are no tree.
    """
    kept: dict[int, _Kept] = {}
    at: dict[str | None, int | None] = {None: None}  # the message that each node shows last
    for node in _downwards(nodes):
        above = at.get(node.parent)
        at[node.id] = above if node.role is None else _keep(kept, node, above, created)
    messages = tuple(
        replace(each.record, content=_joined(each.parts), thought=_joined(each.thoughts))
        for each in kept.values()
        if each.followed or not each.gone_on_with
    )
    known = {message.id for message in messages}
    shown = at.get(leaf)
    first = next((message.content for message in messages if message.role == "user"), "")
    return FullConversation(
        title=title or derive(first),
        named=bool(title),
        system=system,
        created=created,
        updated=updated,
        pinned=False,
        leaf=shown if shown in known else _newest(messages),
        messages=messages,
        traces={},
    )


def _newest(messages: Sequence[Record]) -> int | None:
    newest = max(messages, key=lambda message: (message.created, message.id), default=None)
    return newest.id if newest else None


def _keep(kept: dict[int, _Kept], node: Node, above: int | None, created: float) -> int:
    """Add what a node says, and return its number."""
    assert node.role is not None
    before = kept.get(above or 0)
    parent, attachments = above, node.attachments
    parts: _Parts = (None, node.text)
    thoughts: _Parts = (None, node.thought)
    if before is not None:
        created = before.record.created
        if before.record.role == node.role:
            before.gone_on_with = True
            parent, parts = before.record.parent, (before.parts, node.text)
            thoughts = (before.thoughts, node.thought)
            attachments = (*before.record.attachments, *attachments)
        else:
            before.followed = True
    number = len(kept) + 1
    when = created if node.created is None else node.created
    record = Record(
        number, parent, node.role, "", when, "complete", (), attachments, model=node.model
    )
    kept[number] = _Kept(record, parts, thoughts)
    return number


def _downwards(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield nodes, each after its parent; one whose parent is not there begins a conversation."""
    by_id = {node.id: node for node in nodes}
    if len(by_id) < len(nodes):
        raise ValueError("two of its messages have the same id")
    below: defaultdict[str | None, list[Node]] = defaultdict(list)
    for node in nodes:
        below[node.parent if node.parent in by_id else None].append(node)
    waiting, seen = list(reversed(below[None])), 0
    while waiting:
        node = waiting.pop()
        seen += 1
        yield node
        waiting += reversed(below[node.id])
    if seen < len(nodes):
        raise ValueError("its messages form a cycle")


def _joined(parts: _Parts) -> str:
    texts = []
    rest: _Parts | None = parts
    while rest is not None:
        rest, text = rest
        texts.append(text)
    return "\n\n".join(filter(None, reversed(texts)))
