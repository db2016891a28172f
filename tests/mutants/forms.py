"""Mutants of answers with a form."""

from functools import partial

from assistant.decoding import mask
from assistant.decoding.rules.token import TokenRule
from assistant.engine.rounds import Rounds
from assistant.forms.grammar import _Spells
from assistant.forms.mask import FormMask
from tests.assistant.forms import test_mask as masks
from tests.exact import test_exact_forms as forms
from tests.exact.toy import best_two, repeats_halved
from tests.mutants.mutant import Mutant

LAW = forms.test_an_answer_with_a_form_has_the_law_of_masked_ars
CUT = partial(LAW, TokenRule, best_two, forms.FORMS[1], "model")
HISTORY = partial(LAW, TokenRule, repeats_halved, forms.FORMS[2], "suffix, model")

MASKED = "return warp(allowed, history)"
MASKED_AFTER = """\
row = warp(logits, history)
        kept = [bool(allowed[i] > 0) for i in row.ids]
        if not any(kept):
            return warp(allowed, history)
        return Row(row.ids[kept], row.probs[kept] / row.probs[kept].sum())"""

MUTANTS = (
    Mutant("mask the target's rows after the warp", mask.by_form, MASKED, MASKED_AFTER, CUT),
    Mutant(
        "keep a mask after a rejection",
        FormMask._follow,
        "self._sets.pop(place, None)",
        "pass",
        HISTORY,
    ),
    Mutant(
        "mask the rows of a draft alone",
        Rounds.__init__,
        "forced), mask)",
        "forced), None)",
        CUT,
    ),
    Mutant(
        "mask all rows of a round by what was said before it",
        mask.by_form,
        "mask.masked(logits, history)",
        "mask.masked(logits, history[:-1])",
        CUT,
    ),
    Mutant(
        "a token that ends answers is text of a form",
        _Spells.__init__,
        'b"" if i in stops else vocab.piece(i)',
        "vocab.piece(i)",
        masks.test_a_token_that_ends_answers_is_never_text_of_a_form,
    ),
    Mutant(
        "the end of a form is proposed",
        FormMask.only,
        "None if allowed.ids[0] in self._stops else",
        "",
        masks.test_the_end_is_never_proposed_though_nothing_else_may_follow,
    ),
    Mutant(
        "let everything through where the form leaves nothing",
        mask.by_form,
        'raise NothingAllowed("The form leaves no token that the model could say.")',
        "return warp(logits, history)",
        masks.test_a_form_that_leaves_no_token_the_model_could_say_is_told,
    ),
    Mutant(
        "forget what was read after a rejection, but go on from there",
        FormMask._follow,
        "self._matcher.rollback(len(self._read) - same)",
        "pass",
        HISTORY,
    ),
)
