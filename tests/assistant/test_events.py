"""How likely the accept test was to keep a proposal, whatever the rule."""

from assistant.events import Ghost, Origin, Token


def token(origin=Origin.DRAFT, uniform=0.3, threshold=None) -> Token:
    return Token(1, "a", origin, "model", 0.2, 0.4, 0, uniform, threshold=threshold)


def test_under_the_token_rule_it_is_target_over_draft():
    assert token().acceptance_prob == 0.5
    assert Ghost(1, "a", "model", 0, 0.4, 0.2, 0.9).acceptance_prob == 0.5
    assert Ghost(1, "a", "model", 0, 0.2, 0.4, 0.9).acceptance_prob == 1


def test_under_the_block_rule_it_is_the_threshold():
    assert token(threshold=0.9).acceptance_prob == 0.9
    assert Ghost(1, "a", "model", 0, 0.4, 0.2, 0.9, 0.0).acceptance_prob == 0
    assert token(uniform=None, threshold=1.0).acceptance_prob == 1


def test_there_is_none_where_no_uniform_decided():
    assert token(uniform=None).acceptance_prob is None  # with a seed
    assert token(Origin.RESIDUAL, 0.9, 0.4).acceptance_prob is None  # the uniform met another
    assert Ghost(1, "a", "model", 0, 0.4, 0.2, None).acceptance_prob is None
    assert Ghost(1, "a", "model", 0, 0.4, None, None).acceptance_prob is None
