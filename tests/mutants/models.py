"""Mutants of what lies between models: vocabularies that differ, and a cache of yesterday."""

from functools import partial

from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.model import ModelSource
from assistant.engine.resume import Resuming
from models.mapping import shared_tokens
from models.native import state
from models.native.state import RecurrentState
from tests.assistant.engine import test_resuming as resuming
from tests.exact.toy import best_two
from tests.models import test_llama_cache as caches
from tests.models import test_llama_state as states
from tests.models import test_mapping_tokens as mapping
from tests.mutants.mutant import Mutant

PERMUTED = mapping.test_output_keeps_the_law_of_the_target_though_ids_are_permuted_and_missing
MORE_TOKENS = states.test_a_state_is_refused_if_it_holds_more_or_fewer_tokens_than_is_said
NAMED = "Row(self._mapping.named(row.ids), row.probs, row.margin)"
LACKING = NAMED.replace("row.probs", "row.probs * (1 - self._mapping.is_part * row.probs[0])")

MUTANTS = (
    Mutant(
        "rows of a draft lack the mass of tokens that the target does not have",
        ModelSource.row,
        NAMED,
        LACKING,
        partial(PERMUTED, TokenRule, best_two, 1),
    ),
    Mutant(
        "ids of a mapping do not ascend",
        shared_tokens,
        "sorted(pairs.items())",
        "pairs.items()",
        mapping.test_ids_ascend_wherever_the_control_tokens_are_so_that_each_can_be_looked_up,
    ),
    Mutant(
        "a snapshot of one text is taken for another",
        Resuming._restore,
        "self._model.restore(held, state)",
        "self._model.restore(tokens[: len(held)], state)",
        resuming.test_what_comes_back_for_a_question_that_differs_is_what_both_begin_with,
    ),
    Mutant(
        "a snapshot may hold more tokens than it says",
        state.put_back,
        "last == count - 1",
        "last >= count - 1",
        partial(MORE_TOKENS, held=states.TOKENS[:-1]),
    ),
    Mutant(
        "slots that an earlier batch has left are gone back to",
        RecurrentState.evaluated,
        "min(self.slots, count - 1)",
        "self.slots",
        partial(
            caches.test_only_the_tokens_of_the_last_batch_are_taken_back_by_slots, kind="qwen35"
        ),
    ),
    Mutant(
        "a copy of what was taken back is kept",
        RecurrentState.go_back,
        "self._copy.length > length",
        "self._copy.length > held",
        partial(caches.test_a_copy_of_what_was_taken_back_is_not_gone_back_to, kind="qwen35"),
    ),
    Mutant(
        "a state that was stopped half-way is gone on with",
        RecurrentState.mark_broken,
        "self._filled = -1",
        "self._filled = 0",
        partial(caches.test_a_cancelled_recurrent_model_goes_back_or_begins_again, kind="lfm2"),
    ),
)
