"""A path of stored messages as the messages of a request, and the calls along it."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date
from itertools import takewhile

from assistant.request import Message, ToolCall
from assistant.store.values import CANCELLED, INTERRUPTED, REFUSED, Attachment, StoredMessage
from assistant.tools.values import ToolResult

NO_MORE = "No more calls will be run. Answer the question in words, with what is known."
"""What a model reads with the last result before an answer that must not call.

Without that, small models write what looks like a call as their answer.
"""
CITING = (
    "Answer the question below in words. Quote these passages where they answer it, and end each "
    "sentence with the number of its passage in brackets, such as [1]. If they do not answer it, "
    "say that they do not."
)
"""What a model reads between passages and a question.

Asked for full sentences, small models forget the numbers; shown an example, they answer with it.
"""
NOT_RUN = "This call was not run: the user went on without it."
_UNRETURNED = {
    REFUSED: "The user did not allow this call.",
    CANCELLED: "The user stopped this call before it returned.",
    INTERRUPTED: "The program ended before this call returned.",
}
WAS_REFUSED = ToolResult("", "stopped", REFUSED)
WAS_REFUSED_BEFORE = ToolResult("The user has just refused this call.", "stopped", REFUSED)
WAS_STOPPED = ToolResult("", "stopped", CANCELLED)
BYTES_PER_TOKEN = 4  # as is usual in UTF-8
_PIECES = re.compile(r"[A-Z]?[a-z]{1,4}|[^\sa-z]|\n")  # what may be a token
ECHO = "<tools>"  # begins an answer that only repeats the description of the tools


def open_calls(path: Sequence[StoredMessage]) -> tuple[ToolCall, ...]:
    """Return the calls at the end of a path that have no result yet."""
    results: set[str] = set()
    for record in reversed(path):
        if record.role != "tool":
            return tuple(call for call in record.tool_calls if call.id not in results)
        results.update(call.id for call in record.tool_calls)
    return ()


def calls_since_question(
    path: Iterable[StoredMessage], since: int | None = None
) -> list[tuple[ToolCall, ...]]:
    """Return the calls of each answer with calls since the last question, or a later message."""
    answers: list[tuple[ToolCall, ...]] = []
    for record in path:
        if record.role == "user" or record.id == since:
            answers.clear()
        elif record.role == "assistant" and record.tool_calls:
            answers.append(record.tool_calls)
    return answers


def was_refused(path: Sequence[StoredMessage], call: ToolCall) -> bool:
    """Return whether the user has refused the same call since the last question."""
    turn = takewhile(lambda record: record.role != "user", reversed(path))
    refused = (other for record in turn if record.stop == REFUSED for other in record.tool_calls)
    return any((other.name, other.arguments) == (call.name, call.arguments) for other in refused)


def repeats_earlier_calls(answers: Sequence[Sequence[ToolCall]]) -> bool:
    """Return whether the last of some answers has only calls that earlier ones had.

    Small models repeat calls without end; the next answer must then be one without calls.
    """
    sets = [{(call.name, call.arguments) for call in tool_calls} for tool_calls in answers]
    *earlier, last = sets or [set()]
    return bool(last) and last <= set().union(*earlier)


def messages_of(
    path: Sequence[StoredMessage], system: str, model: str, n_ctx: int = 0, dated: bool = False
) -> tuple[Message, ...]:
    """Return the messages that a model with this name, and a context of this size, reads.

    If `dated`, questions have the days on which they were asked.
    """
    repeated = repeated_files(path, n_ctx)
    messages = [Message("system", system)] if system else []
    unanswered: tuple[str, ...] = ()  # ids of calls
    for record in path:
        if record.role == "tool":
            call_id = record.tool_calls[0].id if record.tool_calls else ""
            unanswered = tuple(other for other in unanswered if other != call_id)
            text = record.content or _UNRETURNED.get(record.stop or "", "It returned nothing.")
            messages.append(Message("tool", text, call_id=call_id))
            continue
        messages += [Message("tool", NOT_RUN, call_id=call_id) for call_id in unanswered]
        unanswered = tuple(call.id for call in record.tool_calls)
        content = record.content
        if record.role == "user":
            content = join_message(content, record.attachments, repeated.get(record.id, ()))
            if messages and messages[-1].role == "user":
                # A question that was never answered; many templates want the roles to alternate.
                content = f"{messages.pop().content}\n\n{content}"
        # Token ids mean nothing to another model.
        ids = record.token_ids if record.model == model else ()
        message = Message(record.role, content, ids, record.thought, record.tool_calls)
        if dated and record.role == "user" and record.created:  # else it is not known when
            words = len(record.content) if record.content.strip() else 0
            day = date.fromtimestamp(record.created).isoformat()
            message = replace(message, day=day, attached=len(content) - words)
        messages.append(message)
    if messages and messages[-1].role == "tool":
        messages += [Message("tool", NOT_RUN, call_id=call_id) for call_id in unanswered]
    return tuple(messages)


def without_more_calls(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation whose last result says that no more calls will be run."""
    *before, last = messages
    if last.role != "tool":
        return tuple(messages)
    return (*before, replace(last, content=f"{last.content}\n\n[{NO_MORE}]"))


def passages_of(path: Iterable[StoredMessage]) -> dict[int, Attachment]:
    """Return the passages of a conversation, by their numbers."""
    questions = (record for record in path if record.role == "user")
    attached = (attachment for record in questions for attachment in record.attachments)
    return {passage.number: passage for passage in attached if passage.number and passage.text}


def repeated_files(path: Sequence[StoredMessage], n_ctx: int) -> dict[int, list[Attachment]]:
    """Return, by the numbers of questions, their files that an earlier question has unchanged.

    Only the end of a path counts, as the rest may be dropped. So when a conversation grows, a file
    is written out again with a later question that it came with.
    """
    versions: dict[str, Attachment] = {}
    repeated: dict[int, list[Attachment]] = {}
    for question in (record for record in latest(path, n_ctx) if record.role == "user"):
        for file in question.attachments:
            if file.text and not (file.number or file.is_folder):
                if versions.get(file.name) == file:
                    repeated.setdefault(question.id, []).append(file)
                versions[file.name] = file
    return repeated


def latest(path: Sequence[StoredMessage], n_ctx: int) -> list[StoredMessage]:
    """Return the end of a path that is never dropped to fit a context of this size.

    Half of what the system prompt and the tools leave of it stays. This counts on 3/8 of the whole,
    repeated files apart, and on as many tokens as tokenisers make of numbers and rare letters.
    """
    end = list[StoredMessage]()
    counted = set[str]()  # texts of files
    budget = n_ctx * 3 // 8
    for record in reversed(path):
        read = {file.text for file in record.attachments if not file.is_folder} - counted
        counted |= read
        enough = (text[: BYTES_PER_TOKEN * n_ctx] for text in (record.content, *read))
        budget -= sum(map(_most_tokens, enough))
        if budget < 0:
            break
        end.append(record)
    return end[::-1]


def tokens(text: str) -> int:
    """Return about how many tokens a text has."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def _most_tokens(text: str) -> int:
    """Return about how many tokens a text has at most: rare letters may have one a byte or two."""
    return len(_PIECES.findall(text)) + (len(text.encode("utf-8", "replace")) - len(text)) // 2


def join_message(
    text: str, attachments: Iterable[Attachment], repeated: Collection[Attachment] = ()
) -> str:
    """Return the message that the model reads: each attached text in fences, then the words.

    Attachments come first, so that they can be prefilled while the words are typed. Of files that
    are `repeated`, only the names are written.
    """
    files = [attachment for attachment in attachments if not attachment.is_folder]
    citing = CITING if any(file.number for file in files) else ""
    texts = (f"{f.title} is unchanged, see above." if f in repeated else _fence(f) for f in files)
    return "\n\n".join(part for part in (*texts, citing, text) if part.strip())


def _fence(attachment: Attachment) -> str:
    if attachment.number and not attachment.text:
        return f"{attachment.title}: see above."
    fence = fence_of(attachment.text)
    return f"{attachment.title}:\n{fence}\n{attachment.text}\n{fence}"


def fence_of(text: str) -> str:
    """Return a code fence that nothing in a text closes."""
    runs = re.findall("`{3,}", text)
    return "`" * (max(map(len, runs), default=2) + 1)
