"""The mapping of a draft's tokens to its target's: by bytes, each at most once."""

import itertools

import numpy as np
import pytest

from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.rule import TokenRule
from assistant.decoding.sources.draft import Cascade
from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from assistant.decoding.warp import warp
from assistant.request import Sampling
from models.gguf import FileVocabulary, read_vocabulary
from models.gguf.vocabulary import BYTE, BYTE_NAMES, NORMAL, UNUSED
from models.mapping import shared_tokens
from tests.exact.law_of_rounds import law_of_round
from tests.exact.toy import Toy, best_two, chain_rule, completed, repeats_halved

CONTROL = 3
NAME_OF = {byte: chr(name).encode() for name, byte in BYTE_NAMES.items()}
BYTES = tuple(NAME_OF[byte] for byte in range(256))


def gpt2(*words: str, kinds: dict[int, int] | None = None, base: tuple[bytes, ...] = BYTES):
    """A vocabulary of all bytes and of words, as GPT-2 writes them."""
    texts = [*base, *(b"".join(NAME_OF[byte] for byte in word.encode()) for word in words)]
    return FileVocabulary(texts, [(kinds or {}).get(i, NORMAL) for i in range(len(texts))])


def sentencepiece(*words: str):
    """A vocabulary of all bytes and of words, as SentencePiece writes them."""
    texts = [b"<0x%02X>" % byte for byte in range(256)]
    texts += [word.replace(" ", "▁").encode() for word in words]
    return FileVocabulary(texts, [BYTE] * 256 + [NORMAL] * len(words), "llama")


def mapped(target: FileVocabulary, draft: FileVocabulary) -> VocabularyMapping:
    return VocabularyMapping(*shared_tokens(target, draft))


def pairs(mapping: VocabularyMapping, n_draft: int) -> dict[int, int]:
    """Return the draft's id of each of the target's, read off what the mapping does to rows."""
    drafts = mapping.shared(np.arange(n_draft, dtype=np.float32)).astype(int)
    targets = mapping.to_target(np.arange(len(drafts)))
    return dict(zip(targets.tolist(), drafts.tolist(), strict=True))


def test_equal_vocabularies_cost_nothing():
    mapping = mapped(gpt2("one"), gpt2("one"))
    logits, ids, tokens = np.zeros(257, np.float32), np.array([3, 5]), [1, 2]
    assert np.shares_memory(mapping.shared(logits), logits)
    assert mapping.to_target(ids) is ids
    assert mapping.indices(tokens) is tokens
    assert mapping.to_draft(tokens) == tokens


@pytest.mark.parametrize("longer", ["target", "draft"])
def test_padding_of_one_side_is_never_proposed_and_read_as_token_0(longer):
    padded, plain = gpt2("one", "pad", kinds={257: UNUSED}), gpt2("one")
    target, draft = (padded, plain) if longer == "target" else (plain, padded)
    mapping = mapped(target, draft)
    assert len(mapping.shared(np.zeros(draft.size, np.float32))) == 257
    assert mapping.to_draft([5, target.size - 1]) == [5, 0 if longer == "target" else 256]


def test_tokens_of_the_same_bytes_are_the_same_however_they_are_written():
    target, draft = gpt2(" the", "Größe", "\n\n"), sentencepiece("\n\n", "Größe", " the", "other")
    mapping = mapped(target, draft)
    shared = pairs(mapping, draft.size)
    assert shared == {byte: byte for byte in range(256)} | {256: 258, 257: 257, 258: 256}
    assert mapping.to_draft([256, 65]) == [258, 65]


def test_character_is_preferred_to_the_byte_that_it_is():
    target, draft = gpt2(), sentencepiece("A")
    assert pairs(mapped(target, draft), draft.size)[65] == 256


def test_control_tokens_are_the_same_by_name_and_never_text():
    name = "<|end|>"
    target = gpt2(name, "x", kinds={256: CONTROL})
    as_control = gpt2("y", name, kinds={257: CONTROL})
    as_text = gpt2("y", name)
    assert pairs(mapped(target, as_control), 258)[256] == 257
    assert 256 not in pairs(mapped(target, as_text), 258)


def test_ids_ascend_wherever_the_control_tokens_are_so_that_each_can_be_looked_up():
    target = gpt2("<|end|>", "ab", kinds={256: CONTROL})
    draft = gpt2("ab", "cd", "<|end|>", kinds={258: CONTROL})
    mapping = mapped(target, draft)
    probs = np.arange(1.0, mapping.size + 1)
    row = Row(mapping.to_target(np.arange(mapping.size)), probs / probs.sum())
    assert row.ids.tolist() == list(range(258))
    assert [row.prob(token) for token in range(258)] == row.probs.tolist()
    assert pairs(mapping, draft.size)[256] == 258


def test_each_token_is_mapped_at_most_once_whatever_the_vocabularies_are():
    rng = np.random.default_rng(0)
    words = ["ab", "abc", " a", "a ", "né", "<x>"]
    for _ in range(50):
        target = gpt2(*rng.permutation(words), kinds={257: int(rng.choice([1, 3, 4, 5]))})
        draft = (gpt2, sentencepiece)[rng.integers(2)](*rng.choice(words, 8))  # some twice
        shared = pairs(mapped(target, draft), draft.size)
        assert list(shared) == sorted(shared)
        assert len({*shared.values()}) == len(shared)
        for ours, theirs in shared.items():
            assert target.piece(ours) == draft.piece(theirs)
            assert not target.is_unused(ours)


def test_a_token_that_the_draft_lacks_is_spelt_by_the_longest_that_it_has():
    target, draft = gpt2("unbelievable", "🎈"), gpt2("un", "believ", "able", "unb")
    mapping = mapped(target, draft)
    spelt = mapping.to_draft([256])
    assert b"".join(map(draft.piece, spelt)) == b"unbelievable"
    assert spelt[0] == 259
    assert mapping.to_draft([257]) == list("🎈".encode())


def test_something_is_read_for_every_token():
    target, draft = gpt2("é"), gpt2("x", base=BYTES[:128])
    assert mapped(target, draft).to_draft([256]) == [0]


def test_beginning_of_a_text_is_read_as_the_beginning_of_what_is_read_for_it():
    target, draft = gpt2("unbelievable", " the", "x" * 9), gpt2("believ", " t")
    mapping = mapped(target, draft)
    tokens = np.random.default_rng(1).integers(0, target.size, 60).tolist()
    whole = mapping.to_draft(tokens)
    for end in range(len(tokens)):
        part = mapping.to_draft(tokens[:end])
        assert whole[: len(part)] == part


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=0),
        Sampling(temperature=0.7, top_k=3),
        Sampling(temperature=1.2, top_k=0, top_p=0.8, repeat_penalty=1.6, repeat_window=5),
        Sampling(temperature=1, top_k=0, top_p=1, min_p=0.05, repeat_penalty=0.7),
    ],
)
def test_warping_what_is_shared_is_warping_a_row_in_which_all_else_is_impossible(sampling):
    rng = np.random.default_rng(2)
    target, draft = gpt2("ab", "cd", " the"), gpt2(" the", "xy", "ab")
    mapping = mapped(target, draft)
    shared = pairs(mapping, draft.size)
    for _ in range(20):
        logits = rng.normal(0, 3, draft.size).astype(np.float32)
        logits[0] = logits.max() + 1
        history = [*rng.integers(0, target.size, 12).tolist(), 257]  # which the draft lacks
        dense = np.full(target.size, -np.inf, np.float32)
        dense[list(shared)] = logits[list(shared.values())]
        expected = warp(dense, sampling, history)
        row = warp(mapping.shared(logits), sampling, mapping.indices(history))
        assert mapping.to_target(row.ids).tolist() == expected.ids.tolist()
        np.testing.assert_allclose(row.probs, expected.probs, rtol=1e-6)


# Draft tokens 0 and 3 are the target's 3 and 1; its 1 and 2 mean nothing to the target.
PERMUTED = VocabularyMapping({1: 3, 3: 0}, 4, lambda token: (1, 2) if token else ())


@pytest.mark.parametrize("rule", [TokenRule, BlockRule])
@pytest.mark.parametrize("warped", [best_two, repeats_halved])
@pytest.mark.parametrize("k", [1, 2])
def test_output_keeps_the_law_of_the_target_though_ids_are_permuted_and_missing(rule, warped, k):
    lengths = set()
    for seed, style in itertools.product(range(3), ("full", "zeros")):
        target, draft = Toy(4, seed, style), Toy(4, seed + 300)
        round_ = law_of_round(rule, target, Cascade(ModelSource(draft, PERMUTED)), k, warped)
        assert completed(round_, target, k + 1, warped) == chain_rule(target, k + 1, warped)
        lengths |= set(map(len, round_))
    assert lengths == set(range(1, k + 2))  # rejected at each place, and accepted


@pytest.mark.weights
def test_a_foreign_draft_covers_most_of_what_the_default_target_says(default_pair, smollm2):
    target, foreign = read_vocabulary(default_pair[0]), read_vocabulary(smollm2)
    mapping = mapped(target, foreign)
    assert 35_000 < mapping.size < 45_000
    for ours, theirs in itertools.islice(pairs(mapping, foreign.size).items(), 0, None, 97):
        assert target.piece(ours) == foreign.piece(theirs)
