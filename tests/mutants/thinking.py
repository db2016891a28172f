"""Mutants of how thoughts are told from answers, and of how they are ended by force."""

from functools import partial

from assistant.chat.masking import Masking
from assistant.chat.thinking import Markers
from assistant.chat.thought_reader import ThoughtReader
from assistant.decoding.loops import verified
from assistant.decoding.rules.token import TokenRule
from assistant.engine.answer import AnswerBuilder
from assistant.engine.rounds import Rounds
from assistant.engine.sources.certain import ForcedSource
from tests.assistant.chat import test_thinking as thoughts
from tests.assistant.engine import test_answer as answers
from tests.exact import test_exact_forcing as exact
from tests.mutants.mutant import Mutant

LAW = exact.test_a_thought_that_is_ended_by_force_has_the_law_of_ars_with_the_same_forcing
drafted = partial(LAW, TokenRule, False, exact.THINK, 2, (), 1, 2, 4)
copied = partial(LAW, TokenRule, True, exact.THINK, 2, (), 1, 2, 4)
continued = partial(LAW, TokenRule, False, exact.THINK, 2, (0, 0), 1, 2, 4)
begun = partial(LAW, TokenRule, False, exact.THINK, 2, (0, 1), 0, 2, 4)
then_a_form = partial(
    exact.test_a_form_that_begins_where_a_thought_ends_has_the_law_of_masked_ars,
    TokenRule,
    [exact.model(4, "zeros")],
    None,
)
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
        ThoughtReader.forced,
        "state.thought >= self.budget",
        "state.thought > self.budget",
        drafted,
    ),
    Mutant(
        "the end of a thought is counted from its budget",
        ThoughtReader.forced,
        "self._closing[state.closing]",
        "self._closing[min(state.thought - self.budget, len(self._closing) - 1)]",
        continued,
    ),
    Mutant(
        "a closing marker begins again with every token",
        ThoughtReader._after,
        "if within else 0",
        "if within and state.closing else 0",
        begun,
    ),
    Mutant(
        "the end of a thought is proposed, and the target's rows are not forced",
        Rounds.__init__,
        "forcing(warp, forced)",
        "warp",
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
        "what a rejected draft had of a thought is kept",
        ThoughtReader.state,
        "del self._read[same:], self._states[same + 1 :]",
        "pass",
        then_a_form,
    ),
    Mutant(
        "a stop token within a thought is overlooked",
        AnswerBuilder.add,
        "ends = sampled.id in self._stop_tokens",
        "ends = sampled.id in self._stop_tokens and not self._text.thinks",
        answers.test_a_stop_token_within_a_thought_ends_the_answer_there,
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
        "before.strip() or not marker",
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
