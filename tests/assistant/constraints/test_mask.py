"""`Mask`: the tokens that a constraint allows, with small and real vocabularies."""

import json
import random

import numpy as np
import pytest

from assistant.constraints.grammar import matcher_of, tokenizer_of
from assistant.constraints.mask import ConstraintMask
from assistant.decoding.mask import constrained
from assistant.decoding.warp import warp_with
from assistant.request import Constraint, Sampling
from models.errors import UsageError
from tests.assistant.constraints.word_vocabulary import WordVocabulary
from tests.patience import ALL

WORDS = WordVocabulary("ab", "abc", "b")
A, B, C = (WORDS.tokenize(text)[0] for text in "abc")
AB, ABC, B_WORD, BYTE_B = 0, 1, 2, 3 + ord("b")
PERSON = {
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
}
FORMS = (
    Constraint(
        "schema", json.dumps({**PERSON, "required": ["name"], "additionalProperties": False})
    ),
    Constraint("schema", '{"type": "object"}'),
    Constraint("regex", "(ab|cd)*x[a-z]{2,4}"),
    Constraint("grammar", 'root ::= item+\nitem ::= "- " [^\\n]+ "\\n"'),
)


def mask_of(form, words=WORDS, tokenizer=None, prompt=(), start=None):
    tokenizer = tokenizer or words.tokenizer()
    matcher = matcher_of(form, tokenizer)
    start = start or (lambda context: len(prompt))
    return ConstraintMask(matcher, tokenizer, words.stop_tokens, list(prompt), start)


def after_ca(context):
    """Return the place after [C, A] in what follows a prompt of two tokens."""
    places = range(2, len(context) - 1)
    return next((i + 2 for i in places if context[i : i + 2] == [C, A]), None)


def allowed(mask, tokens, n_vocab):
    """Return the tokens that may follow, as the mask writes it into logits."""
    logits = mask.masked(np.zeros(n_vocab, np.float32), tokens)
    return set(np.flatnonzero(np.isfinite(logits)).tolist())


def test_tokens_may_follow_that_begin_something_which_has_the_form():
    mask = mask_of(Constraint("regex", "a(bc|bd)?"), prompt=[C, C])
    assert allowed(mask, [C, C], WORDS.size) == {A, AB, ABC}
    assert allowed(mask, [C, C, A], WORDS.size) == {B_WORD, BYTE_B, WORDS.stop}
    assert allowed(mask, [C, C, ABC], WORDS.size) == {WORDS.stop}


def test_after_what_the_form_forbids_everything_is_allowed_and_after_the_end_only_the_end():
    mask = mask_of(Constraint("regex", "abc"))
    assert len(allowed(mask, [C], WORDS.size)) == WORDS.size
    assert allowed(mask, [ABC, WORDS.stop], WORDS.size) == {WORDS.stop}
    assert mask.count_allowed([C], [A]) == 0
    assert mask.only_token([C]) is None


def test_of_a_run_as_much_fits_as_the_form_allows_and_never_the_end():
    mask = mask_of(Constraint("regex", "(ab)*"))
    assert mask.count_allowed([], [AB, A, B, C]) == 3
    assert mask.count_allowed([], [AB, WORDS.stop]) == 1
    assert mask.count_allowed([AB], [B]) == 0


def test_the_end_is_never_proposed_though_nothing_else_may_follow():
    mask = mask_of(Constraint("regex", "abc"))
    assert mask.only_token([ABC]) is None
    assert not mask.fixed_text_tokens([ABC])


def test_a_token_that_ends_answers_is_never_text_of_a_form():
    words = WordVocabulary("ab", "abc", "b")
    words.pieces[words.stop] = b"b"
    mask = mask_of(Constraint("regex", "a[bx]"), words)
    assert words.stop not in allowed(mask, [A], words.size)
    assert mask.count_allowed([A], [words.stop]) == 0


def test_a_form_may_begin_after_some_tokens_have_come():
    mask = mask_of(Constraint("regex", "ab"), prompt=[C, A], start=after_ca)
    for thinking in ([C, A], [C, A, B], [C, A, C], [C, A, C, C]):
        assert len(allowed(mask, thinking, WORDS.size)) == WORDS.size
        assert mask.only_token(thinking) is None
        assert mask.count_allowed(thinking, [A, B]) == 2
    begun = [C, A, C, B, C, A]
    assert mask.only_token(begun) == AB  # the way in which the vocabulary spells it
    assert allowed(mask, [*begun, AB], WORDS.size) == {WORDS.stop}


def test_a_draft_is_masked_where_its_own_logits_stand_and_may_lack_all_that_is_allowed():
    mask = mask_of(Constraint("regex", "ab?"))
    logits = np.zeros(3, np.float32)
    places = {A: 2, AB: 0}

    def placed(ids):
        return np.array([places[i] for i in ids.tolist() if i in places], np.intp)

    assert np.isfinite(mask.masked(logits, [], placed)).tolist() == [True, False, True]
    assert mask.masked(logits, [A], placed) is None


def test_a_form_that_leaves_no_token_the_model_could_say_is_told():
    mask = mask_of(Constraint("regex", "a[bc]"))
    logits, rows = np.zeros(WORDS.size, np.float32), constrained(warp_with(Sampling()), mask)
    assert len(rows(logits, []).ids) > 0
    logits[[A, AB]] = -np.inf
    assert rows(logits, []).ids.tolist() == [WORDS.size]


@pytest.fixture(scope="module")
def real_tokenizer(real_vocab):
    return tokenizer_of(real_vocab, real_vocab.size)


@pytest.mark.weights
@pytest.mark.some(2)
def test_allowed_tokens_depend_on_the_tokens_so_far_alone(real_vocab, real_tokenizer):
    """Forth, back and elsewhere, with all questions in between, and as a new mask says."""
    vocab, n_vocab = real_vocab, real_vocab.size
    tokenizer, rng = real_tokenizer, random.Random(1)
    for form in FORMS:
        mask, tokens = mask_of(form, vocab, tokenizer), list[int]()
        for _ in range(30 if ALL else 12):
            if tokens and rng.random() < 0.3:
                del tokens[-rng.randint(1, len(tokens)) :]
            if rng.random() < 0.5:
                mask.fixed_text_tokens(tokens)
            may = allowed(mask, tokens, n_vocab)
            assert may == allowed(mask_of(form, vocab, tokenizer), tokens, n_vocab)
            ahead = [rng.choice(sorted(may)) for _ in range(2)]
            assert mask.count_allowed(tokens, ahead[:1]) == (ahead[0] not in vocab.stop_tokens)
            allowed(mask, [*tokens, *ahead], n_vocab)
            if not may - vocab.stop_tokens:
                break
            tokens.append(rng.choice(sorted(may - vocab.stop_tokens)))


@pytest.mark.weights
@pytest.mark.some(2)
def test_each_real_vocabulary_spells_what_forms_ask_for(real_vocab, real_tokenizer):
    tokenizer = real_tokenizer
    text = '{"name": "Zoë 張", "tags": ["a b", "\\n"]}'
    assert b"".join(map(real_vocab.piece, tokenizer.tokenize_str(text))) == text.encode()
    mask = mask_of(Constraint("schema", '{"const": {"name": "Zoë"}}'), real_vocab, tokenizer)
    chosen: list[int] = []
    while more := mask.fixed_text_tokens(chosen):
        chosen += more
    assert json.loads(b"".join(map(real_vocab.piece, chosen))) == {"name": "Zoë"}


def test_a_vocabulary_that_does_not_spell_or_never_ends_is_refused():
    silent = WordVocabulary("a", single=False)
    with pytest.raises(UsageError, match="changes text"):
        tokenizer_of(silent, silent.size)
    endless = WordVocabulary("a")
    endless.stop_tokens = frozenset()
    with pytest.raises(UsageError, match="no stop token"):
        tokenizer_of(endless, endless.size)
