"""The shipped rounds with the rules that have no seed, on real files."""

import pytest

from assistant.decoding.sources.model import ModelSource
from assistant.decoding.sources.suffix import SuffixSource
from assistant.engine.reply import Assistant
from assistant.lab.opening import Opener
from assistant.lab.prove import turns
from assistant.lab.prove.enumeration import AcceptsAll
from assistant.lab.prove.pair import paired
from assistant.lab.prove.side_by_side import STRAYS, by_ars
from assistant.request import Sampling, Setup
from models.cancel import CancelFlag
from models.mapping import Mapping
from tests import tiny


def proved(rule, folder):
    """Return the check of one rule on a pair whose draft is often wrong."""
    like = {"seed": 12, "like": 11, "noise": 1.0, "stops": False}
    large = tiny.write(folder / "target.gguf", seed=11, stops=False)
    small = tiny.write(folder / "draft.gguf", **like)
    opener = Opener(Setup(large, threads=1), CancelFlag())
    with opener.open(large) as target, opener.open(small, max_rows=1) as draft:
        source = ModelSource(draft, Mapping.by_number(target.n_vocab, draft.n_vocab))
        assistant = Assistant(target, target.weights.vocab, [SuffixSource(), source])
        pair = paired(assistant, Sampling(temperature=12.0), 3, 5)
        alone = by_ars(pair, pair.prompt("Why?"), 24, pair.seed)
        found = {check.what: check for check in turns.turns(pair, alone, 24, 0.0)}
    return found[f"the {rule} rule"]


@pytest.mark.parametrize("rule", ["token", "block"])
def test_a_rule_without_a_seed_says_what_ars_says_where_nothing_is_left_to_chance(rule, tmp_path):
    check = proved(rule, tmp_path)
    assert check.holds, check
    assert 0 < check.figures["accepted"] < check.figures["proposed"]


@pytest.mark.parametrize("rule", ["token", "block"])
def test_a_rule_without_a_seed_that_is_wrong_is_found(rule, tmp_path, monkeypatch):
    monkeypatch.setattr(f"assistant.engine.decoding_sequence.{rule.title()}Rule", AcceptsAll)
    check = proved(rule, tmp_path)
    assert (check.holds, check.note) == (False, STRAYS)
