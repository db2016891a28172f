"""Mutants of what turns tokens into text, and text into tokens, and of the cache."""

from functools import partial

from assistant import streamed_text
from assistant.chat import context
from assistant.chat.masking import Masking
from assistant.chat.prompt_tokens import ChatTokens
from assistant.engine.answer import AnswerBuilder
from assistant.streamed_text import TokenText
from models.native.context import Context
from models.native.model import NativeModel
from tests.assistant.chat import test_chat_tokens as chat
from tests.assistant.chat import test_context as contexts
from tests.assistant.chat import test_text_properties as properties
from tests.assistant.engine import test_answer as answers
from tests.models import test_llama_cache as cache
from tests.models import test_llama_guards as guards
from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "keep the tokens after a stop token",
        AnswerBuilder.add,
        "break",
        "pass",
        answers.test_a_stop_token_inside_an_accepted_run_ends_the_answer_there,
    ),
    Mutant(
        "leave rejected tokens in the cache",
        Context.truncate,
        "and self._forget_after(length):",
        ":",
        cache.test_a_rejected_proposal_leaves_no_trace,
    ),
    Mutant(
        "trust the length of the cache instead of its tokens",
        NativeModel.logits,
        "self._context.truncate(min(self.cached(tokens), len(tokens) - rows))",
        "self._context.truncate(min(len(self.held), len(tokens) - rows))",
        cache.test_a_rejected_proposal_leaves_no_trace,
    ),
    Mutant(
        "NaN passes as a number",
        Context.rows,
        "if not np.isfinite(logits.max()):",
        "if logits.max() == np.inf:",
        guards.test_a_model_that_computes_no_numbers_is_refused_by_name,
    ),
    Mutant(
        "control texts in messages are not masked",
        Masking.message,
        "return replace(message, content=content, thought=thought, calls=calls)",
        "return message",
        chat.test_no_control_text_in_a_message_becomes_a_control_token,
    ),
    Mutant(
        "a prompt begins twice where its template writes the beginning",
        ChatTokens.encode,
        "tokens[:1] != [self._vocab.bos]",
        "True",
        partial(
            chat.test_a_prompt_begins_with_one_token_that_begins_texts_whether_its_template_writes_it,
            "<s>",
        ),
    ),
    Mutant(
        "an answer keeps the tokens of its thought in later prompts",
        ChatTokens._keeps_tokens,
        "self.markers.closes not in said",
        "True",
        chat.test_an_answer_with_reasoning_goes_through_the_template,
    ),
    Mutant(
        "a conversation that has outgrown its room loses a turn with every question",
        context._first_turn,
        "> room // 2",
        "> room",
        contexts.test_after_a_cut_several_turns_follow_without_another,
    ),
    Mutant(
        "characters of several tokens are decoded one token at a time",
        TokenText.after,
        'codecs.utf_8_decode(begun + piece, "replace", False)',
        'codecs.utf_8_decode(piece, "replace", True)',
        answers.test_a_character_of_several_tokens_appears_with_the_last_of_them,
    ),
    Mutant(
        "what may begin a stop string is shown at once",
        streamed_text.split,
        "text.endswith(mark[:n])",
        "False",
        properties.test_text_is_held_back_no_longer_than_it_may_begin_a_stop_string,
    ),
)
