"""Broken variants of the shipped code, each with the test that notices.

`python -m tests.mutants` runs them all and prints the table. A mutant is a small change of source
text, compiled into the function in place: whoever calls the function runs the mutant.
"""

import inspect
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

import pytest

from assistant import decoding, sampling, verify, warp
from assistant.answer import Answer
from assistant.chat.detokenizer import Detokenizer
from assistant.chat.stops import StopStrings
from assistant.chat.tokens import ChatTokens
from assistant.drafting.model import ModelDrafter
from models.llama.model import LlamaModel
from tests.assistant import test_answer as answers
from tests.assistant import test_chat_tokens as chat
from tests.assistant import test_exactness as exact
from tests.assistant import test_sampling as draws
from tests.assistant import test_stops as stops
from tests.assistant import test_warp as rows
from tests.assistant import toys
from tests.models import test_llama_cache as cache
from tests.models import test_llama_guards as guards


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one function, and the test that must fail with it."""

    name: str
    function: Callable[..., Any]
    old: str
    new: str
    killed_by: Callable[..., Any]

    @contextmanager
    def alive(self) -> Iterator[None]:
        function = cast(FunctionType, self.function)
        original = function.__code__
        function.__code__ = self._code(function)
        try:
            yield
        finally:
            function.__code__ = original

    def _code(self, function: FunctionType) -> CodeType:
        source = textwrap.dedent(inspect.getsource(function))
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: not one place says {self.old!r}")
        names: dict[str, Any] = {}
        text = source.replace(self.old, self.new)
        exec(compile(text, f"<{self.name}>", "exec"), function.__globals__, names)
        return cast(FunctionType, names[function.__name__]).__code__

    def death(self) -> str | None:
        """Return how the test ends with the mutant alive; None if it does not notice."""
        with self.alive(), tempfile.TemporaryDirectory() as folder:
            return failure(self.killed_by, Path(folder))

    @property
    def test(self) -> str:
        """The name of the test that is there for it."""
        if isinstance(self.killed_by, partial):
            return str(self.killed_by.func.__name__)
        return str(self.killed_by.__name__)


def failure(test: Callable[..., Any], folder: Path) -> str | None:
    """Run a test; return the kind of error it ends in, if it does."""
    wanted = inspect.signature(test).parameters
    try:
        test(**({"tmp_path": folder} if "tmp_path" in wanted else {}))
    except (Exception, pytest.fail.Exception) as error:
        return type(error).__name__
    return None


ROUND = exact.test_a_round_has_the_law_of_the_target_whatever_the_draft_is
WARPED = exact.test_warped_rows_have_the_law_of_the_warped_target
SOURCES = exact.test_a_draft_may_come_from_any_source_and_end_anywhere
plain_round = partial(ROUND, ("full", "full"))
warped_rows = partial(WARPED, toys.best_two)
penalised_rows = partial(WARPED, toys.repeats_halved)
discarded_proposals = partial(SOURCES, toys.DiscardsUnlikely, 1)

RESIDUAL_WITHOUT_TOKEN = """\
        from assistant.warp import one_hot
        if accepted < len(tokens):
            draft = one_hot(tokens[accepted])
        return Verdict(accepted, residual(target, draft), tuple(read), tuple(drawn))"""
ONE_UNIFORM = """\
        from types import SimpleNamespace
        u = rng.random()
        once = SimpleNamespace(random=lambda: u)
        verdict = verify(draft.tokens, draft.rows, rows, once)
        new = (*draft.tokens[: verdict.accepted], draw(verdict.row, once))"""
ONE_UNIFORM_OLD = """\
        verdict = verify(draft.tokens, draft.rows, rows, rng)
        new = (*draft.tokens[: verdict.accepted], draw(verdict.row, rng))"""
TARGET_UNWARPED = (
    "rows = (Row(*map(__import__('numpy').array, (range(len(row)), row))) "
    "for i, row in enumerate(logits))"
)
RAW_ROW = "rows.append(Row(__import__('numpy').arange(self._shared), self.model.logits(before)[0]))"

MUTANTS = (
    Mutant(
        "always accept",
        verify.accepts,
        "return bool(",
        "return True or bool(",
        plain_round,
    ),
    Mutant(
        "replace a rejected proposal from the target's row",
        verify.residual,
        "return Row(target.ids[left], excess[left]) if left.any() else target",
        "return target",
        plain_round,
    ),
    Mutant(
        "residual excludes the rejected token alone",
        verify.verify,
        "        return Verdict(accepted, residual(target, draft), tuple(read), tuple(drawn))",
        RESIDUAL_WITHOUT_TOKEN,
        plain_round,
    ),
    Mutant(
        "verify with the draft's raw row, though the draft was warped",
        ModelDrafter.propose,
        "        rows.append(row)",
        "        before = context[:-1]\n        " + RAW_ROW,
        warped_rows,
    ),
    Mutant(
        "propose the draft's best token, but verify with its soft row",
        ModelDrafter.propose,
        "draw(row, rng)",
        "int(row.ids[row.probs.argmax()])",
        plain_round,
    ),
    Mutant(
        "warp the draft's side only",
        decoding.speculative,
        "rows = (warp(row, context[: len(tokens) + i]) for i, row in enumerate(logits))",
        TARGET_UNWARPED,
        warped_rows,
    ),
    Mutant(
        "draw the extra token from the row before",
        decoding.speculative,
        "in enumerate(logits)",
        "in enumerate([*logits[:-1], logits[-2]] if len(logits) > 1 else logits)",
        plain_round,
    ),
    Mutant(
        "use one uniform to accept and to replace",
        decoding.speculative,
        ONE_UNIFORM_OLD,
        ONE_UNIFORM,
        plain_round,
    ),
    Mutant(
        "penalties do not see the proposals of the round",
        decoding.speculative,
        "context[: len(tokens) + i]",
        "tokens",
        penalised_rows,
    ),
    Mutant(
        "penalties see one proposal too many",
        decoding.speculative,
        "context[: len(tokens) + i]",
        "context[: len(tokens) + i + 1]",
        penalised_rows,
    ),
    Mutant(
        "keep the tokens after a stop token",
        Answer.add,
        "break",
        "pass",
        answers.test_a_stop_token_inside_an_accepted_run_ends_the_answer_there,
    ),
    Mutant(
        "leave rejected tokens in the cache",
        LlamaModel._truncate,
        "if length and llama.llama_memory_seq_rm(self._memory, SEQUENCE, length, -1):",
        "if length:",
        cache.test_a_rejected_proposal_leaves_no_trace,
    ),
    Mutant(
        "trust the length of the cache instead of its tokens",
        LlamaModel.logits,
        "self._truncate(min(self.cached(tokens), len(tokens) - rows))",
        "self._truncate(min(len(self._tokens), len(tokens) - rows))",
        cache.test_a_rejected_proposal_leaves_no_trace,
    ),
    Mutant(
        "ignore the last row of a draft that may have ended by chance",
        verify.verify,
        "residual(target, draft)",
        "target if accepted == len(tokens) else residual(target, draft)",
        discarded_proposals,
    ),
    Mutant(
        "accept with <=, so that a uniform of 0 accepts a forbidden token",
        verify.accepts,
        ") < target",
        ") <= target",
        exact.test_token_the_target_forbids_is_never_accepted_even_when_the_uniform_is_0,
    ),
    Mutant(
        "compare probabilities without the uniform",
        verify.accepts,
        "uniform * draft",
        "draft",
        plain_round,
    ),
    Mutant(
        "lose the last proposal that was accepted",
        decoding.speculative,
        "draft.tokens[: verdict.accepted]",
        "draft.tokens[: max(0, verdict.accepted - 1)]",
        plain_round,
    ),
    Mutant(
        "residual keeps the size of the difference, not its sign",
        verify.residual,
        "target.probs - draft.probs_of(target.ids)",
        "abs(target.probs - draft.probs_of(target.ids))",
        plain_round,
    ),
    Mutant(
        "search the cumulative sum from the other side",
        sampling.draw,
        'side="right"',
        'side="left"',
        draws.test_the_smallest_uniform_draws_the_first_token_and_a_boundary_the_next,
    ),
    Mutant(
        "fall off the end of the cumulative sum",
        sampling.draw,
        "min(index, len(cumulative) - 1)",
        "index",
        draws.test_a_product_that_rounds_up_to_the_total_draws_the_last_token,
    ),
    Mutant(
        "top-k keeps everything that equals the last one kept",
        warp.top_k,
        "if len(ids) > k:",
        "if False:",
        rows.test_ties_are_kept_by_id,
    ),
    Mutant(
        "the nucleus lacks the token that reaches its probability",
        warp.nucleus,
        ") + 1",
        ")",
        rows.test_the_nucleus_is_the_smallest_set_that_has_the_probability,
    ),
    Mutant(
        "NaN passes as a number",
        LlamaModel._rows,
        "if not np.isfinite(logits.max()):",
        "if logits.max() == np.inf:",
        guards.test_a_model_that_computes_no_numbers_is_refused_by_name,
    ),
    Mutant(
        "control texts in messages are not masked",
        ChatTokens._masked,
        "return replace(message, content=self._control.sub(number, message.content))",
        "return message",
        chat.test_no_control_text_in_a_message_becomes_a_control_token,
    ),
    Mutant(
        "characters of several tokens are decoded one token at a time",
        Detokenizer.decode,
        "return self._decoder.decode(self._piece(token))",
        'return self._piece(token).decode("utf-8", "replace")',
        answers.test_a_character_of_several_tokens_appears_with_the_last_of_them,
    ),
    Mutant(
        "what may begin a stop string is shown at once",
        StopStrings._suspicious,
        "text.endswith(string[:length])",
        "False",
        stops.test_a_stop_string_across_tokens_is_never_shown,
    ),
)


def main() -> int:
    width = max(len(mutant.name) for mutant in MUTANTS)
    deaths = [mutant.death() for mutant in MUTANTS]
    for mutant, death in zip(MUTANTS, deaths, strict=True):
        verdict = f"killed by {mutant.test} ({death})" if death else "SURVIVES"
        print(f"{mutant.name:<{width}}  {verdict}")
    print(f"{len(deaths) - deaths.count(None)} of {len(deaths)} killed")
    return 1 if None in deaths else 0


if __name__ == "__main__":
    sys.exit(main())
