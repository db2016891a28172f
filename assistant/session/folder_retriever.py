"""Folders that questions are about: their indexes are kept up to date, and searched."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain, zip_longest
from math import inf
from time import monotonic, time
from typing import TYPE_CHECKING

from assistant.events import ModelInfo, Warned
from assistant.session.active_branch import ActiveBranch
from assistant.session.citing import before_question
from assistant.session.events import Changed, Emit, Preparing
from assistant.session.messages import tokens
from assistant.store.values import Attachment, StoredMessage
from models.errors import StorageError
from models.files.places import cache_dir, collapse_user, expand_user

if TYPE_CHECKING:  # most conversations are about no folder
    from assistant.passages.folder_index import FolderIndex
    from assistant.passages.splitting import Passage
    from assistant.settings.settings import Settings

FRESH_S = 30.0  # for which an index is not brought up to date again, unless files have changed
POLL_S = 0.05  # between two checks whether the folders of a question have been read
UNMEASURED_S = 0.01  # of prefill that are assumed for a token before any were measured
PASSAGE = 350  # tokens of a usual passage
MIN_PASSAGES, MAX_PASSAGES = 2, 40  # before a question: one alone is the wrong one too often


class FolderRetriever:
    """Keep the indexes of folders up to date, and find passages in them."""

    def __init__(self, emit: Emit, settings: "Callable[[], Settings]") -> None:
        self._emit, self._settings = emit, settings
        self._read: dict[str, float] = {}  # time of the last indexing; inf while indexing
        self._started: dict[str, float] = {}  # its start, in seconds since 1970
        self._news: dict[str, str] = {}  # the sentence that was shown for each
        self._progress = Preparing("", 0.0)  # of the folder that is being read

    def names(self, attachments: Iterable[Attachment]) -> tuple[str, ...]:
        """Return the folders that a question with these attachments is about."""
        attached = (file.name for file in attachments if file.is_folder and not file.text)
        about = (f"{collapse_user(folder).rstrip('/')}/" for folder in self._settings().about)
        return tuple(dict.fromkeys([*about, *attached]))

    def claim_stale(
        self, attachments: Iterable[Attachment], asked: bool = False
    ) -> tuple[str, ...]:
        """Return the folders that were not read for a while; the caller must `read` them now.

        These are all if a question is `asked`, since files may have changed since.
        """
        now, names = monotonic(), self.names(attachments)
        max_age = 0.0 if asked else FRESH_S
        stale = tuple(name for name in names if now - self._read.get(name, -inf) > max_age)
        self._read.update(dict.fromkeys(stale, inf))
        return stale

    async def read(self, names: Sequence[str]) -> None:
        """Update the indexes of folders; emit the progress, and then what has changed."""
        from assistant.passages.folder_index import update

        for name in names:
            news, self._progress = self._news.get(name, ""), Preparing(f"reading {name}", 0.0)
            last, now = self._started.get(name, -inf), time()
            try:
                is_fresh = 0 <= now - last < FRESH_S  # the clock may have been set back
                if is_fresh and not await asyncio.to_thread(_index(name).is_stale, last):
                    continue
                self._started[name] = now
                folder = expand_user(name).absolute()
                async for done, of, _ in update(folder, cache_dir() / "passages"):
                    text = f"reading {name}: {done:,} of {of:,} files"
                    self._progress = Preparing(text, done / max(of, 1))
                    self._emit(self._progress)
                news = _summary(name)
            except StorageError as error:
                news = ""
                self._emit(Warned(str(error)))
            finally:
                self._read[name] = monotonic()
                self._emit(Preparing(news if news != self._news.get(name) else "", None))
                self._news[name] = news

    async def look_up(
        self, branch: ActiveBranch, model: ModelInfo | None, wanted: Callable[[], bool]
    ) -> None:
        """Find passages for the question at the end of a branch, attach them, and show that.

        The question waits for folders that are being read. Nothing is done if it has passages
        already, or is not `wanted` any more.
        """
        latest = branch.leaf
        if model is None or latest is None or latest.role != "user":
            return
        if any(attachment.number for attachment in latest.attachments):
            return
        before, names = branch.records[:-1], self.names(latest.attachments)
        while wanted() and inf in map(self._read.get, names):
            self._emit(self._progress)
            await asyncio.sleep(POLL_S)
        attachments, instead = await self.find(latest, before, model)
        question = branch.leaf
        if not wanted() or question is None:
            return  # it was withdrawn
        for note in self._notes(question.attachments, attachments, instead):
            self._emit(Warned(note))
        if attachments != question.attachments:
            self._emit(Changed(branch.update(replace(question, attachments=attachments))))

    async def find(
        self, question: StoredMessage, path: Sequence[StoredMessage], model: ModelInfo
    ) -> tuple[tuple[Attachment, ...], Mapping[str, str]]:
        """Return the attachments of a question which follows a path, and its passages, best last.

        A text without a passage that fits is read as a whole, as for a summary, unless an earlier
        question had it and it is longer than half of the context. Also return the words that no
        passage has, each with the one that was searched for instead.
        """
        given = question.attachments
        if not (self.names(given) or any(file.is_folder for file in given)):
            return given, {}
        return await asyncio.to_thread(self._find, question, path, model)

    def _find(
        self, question: StoredMessage, path: Sequence[StoredMessage], model: ModelInfo
    ) -> tuple[tuple[Attachment, ...], dict[str, str]]:
        from assistant.engine.profile import profile_of
        from assistant.passages.folder_index import find_in_text

        token_s = profile_of(model.path, "verify", cache_dir()).prompt_token_s or UNMEASURED_S
        in_time = int(self._settings().about_seconds / token_s / PASSAGE)
        half_context = model.n_ctx // 2
        limit = min(max(in_time, MIN_PASSAGES), max(half_context // PASSAGE, 1), MAX_PASSAGES)
        earlier = [record.content for record in reversed(path) if record.role == "user"]
        texts = [file for file in question.attachments if file.is_folder and file.text]
        searches = {name: _index(name).find for name in self.names(question.attachments)}
        searches |= {file.name: partial(find_in_text, file.whole.name, file.text) for file in texts}
        hits = {name: find(question.content, earlier, 2 * limit) for name, find in searches.items()}
        instead = dict(chain.from_iterable(hit.instead.items() for hit in hits.values()))
        # The best of each folder, then the second of each; a text that several have is given once.
        ranked = ([_attachment(name, hit) for hit in hits[name].passages] for name in searches)
        distinct: dict[str, Attachment] = {}  # by their texts
        for passage in filter(None, chain.from_iterable(zip_longest(*ranked))):
            distinct.setdefault(passage.text, passage)
        # Short passages leave room for more of them.
        sizes = zip(distinct.values(), accumulate(map(tokens, distinct)), strict=True)
        fitting = (
            passage for index, (passage, total) in enumerate(sizes)
            if index < limit or total <= limit * PASSAGE
        )  # fmt: skip
        passages = before_question(fitting, path, model.n_ctx)
        # A text without a hit is read as a whole, unless it is long and an earlier question had it.
        known = {file.whole.name for record in path for file in record.attachments}
        read_whole = [
            file for file in texts if not hits[file.name].passages
            and (file.whole.name not in known or tokens(file.text) <= half_context)
        ]  # fmt: skip
        files = (file.whole if file in read_whole else file for file in question.attachments)
        return (*files, *passages), instead

    def _notes(
        self, before: Sequence[Attachment], after: Sequence[Attachment], instead: Mapping[str, str]
    ) -> list[str]:
        """Return what the user has to know about a search, by a question's attachments."""
        names, notes = self.names(before), list[str]()
        nothing = "Nothing"
        for name in names:
            if not os.path.isdir(expand_user(name).absolute()):
                notes.append(f"{name} is missing, or is not a folder.")
            elif not _index(name).state.is_current:
                notes.append(f"{name} could not be read to its end.")
                nothing = "Nothing that was read"
        notes += [
            f"“{absent}” is nowhere there; “{other}” was looked for."
            for absent, other in instead.items()
        ]
        names += tuple(file.whole.name for file in after if file.is_folder and file.text)
        whole = [file.name for file in after if file not in before and not file.number]
        if whole:
            notes.append(f"No passage of {' or '.join(whole)} fits the question, so all is needed.")
        if names and not any(attachment.number for attachment in after):
            notes.append(f"{nothing} in {' or '.join(names)} is about this; answered without it.")
        return notes


def _attachment(name: str, passage: "Passage") -> Attachment:
    folder = expand_user(name).absolute()
    is_within = passage.path.is_relative_to(folder)
    path = f"{name}{passage.path.relative_to(folder)}" if is_within else name[:-1]
    return Attachment(path, passage.text, 0, passage.first, passage.last, passage.note)


def _summary(name: str) -> str:
    """Return a sentence on the indexed files of a folder, and on those left out."""
    state = _index(name).state
    skipped = f" Left out: {state.skipped_count:,}. {' '.join(state.skipped)}"
    files = "1 file" if state.files == 1 else f"{state.files:,} files"
    return f"{name} can be asked about: {files}." + (skipped if state.skipped else "")


def _index(name: str) -> "FolderIndex":
    from assistant.passages.folder_index import FolderIndex

    return FolderIndex(expand_user(name).absolute(), cache_dir() / "passages")
