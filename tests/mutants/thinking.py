"""Mutants of how thoughts are told from answers, and of how they are ended by force."""

from functools import partial

from assistant.chat.masking import Masking
from assistant.chat.thinking import Markers
from assistant.chat.thought_end import ThoughtBudget
from assistant.decoding.loops import verified
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.forced import ForcedSource
from assistant.engine.rounds import Rounds
from tests.assistant.chat import test_thinking as thoughts
from tests.exact import test_exact_forcing as exact
from tests.mutants.mutant import Mutant

LAW = exact.test_a_thought_that_is_ended_by_force_has_the_law_of_ars_with_the_same_forcing
drafted = partial(LAW, TokenRule, "model", 2, 1, 2, 4)
copied = partial(LAW, TokenRule, "forced, suffix, model", 2, 1, 2, 4)
talked_about = partial(
    thoughts.test_thought_and_answer_are_distinguished_wherever_the_text_is_cut,
    thoughts.THINK,
    thoughts.START,
    "The tag <think> is </think>.",
    "",
    "The tag <think> is </think>.",
)

MUTANTS = (
    Mutant(
        "a thought is ended one token late",
        ThoughtBudget.forced,
        "place = thought - self._tokens",
        "place = thought - self._tokens - 1",
        drafted,
    ),
    Mutant(
        "the end of a thought is proposed, and the target's rows are not forced",
        Rounds._verified,
        "self._target_warp",
        "self._warp",
        copied,
    ),
    Mutant(
        "a thought is ended in rounds without proposals alone",
        Rounds._verified,
        "self._target_warp",
        "self._warp if draft.proposals else self._target_warp",
        drafted,
    ),
    Mutant(
        "what is forced does not depend on the proposals of the round",
        verified,
        "context[: len(tokens) + i]",
        "tokens",
        drafted,
    ),
    Mutant(
        "what was read of another draft is taken for this one's",
        ThoughtBudget._read,
        "self._known.get(answer[:known], (self._begin, 0))",
        "next(reversed(self._known.values()), (self._begin, 0))",
        thoughts.test_what_is_forced_depends_on_the_tokens_alone_in_whatever_order_it_is_asked,
    ),
    Mutant(
        "only the first token of an end is proposed",
        ForcedSource.offer,
        "len(run) < room",
        "len(run) < 1",
        exact.test_what_is_forced_costs_no_evaluation_of_its_own,
    ),
    Mutant(
        "a marker that an answer talks about begins a thought",
        Markers.read,
        "not (marker and end == blank)",
        "not marker",
        talked_about,
    ),
    Mutant(
        "control texts in thoughts are not masked",
        Masking.message,
        "thought=thought, calls=calls)",
        "thought=message.thought, calls=calls)",
        thoughts.test_a_thought_is_left_to_the_template_and_commands_nothing,
    ),
)
