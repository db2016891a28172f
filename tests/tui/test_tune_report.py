"""What a tuning found, in words."""

from dataclasses import replace
from pathlib import Path

from assistant.lab.tune.events import Depth, Outlook, Payoff, SettingTrial, Tuned
from assistant.request import Tuning
from tui.lab.tune import lines

NEAR = Depth(
    16,
    {1: 0.040, 2: 0.060, 4: 0.072},
    {1: 0.020, 8: 0.070},
    (Payoff(1, None, 0.5), Payoff(3, 0.9512, 0.345)),
    (Outlook(0.6, "draft", 0, 1.0), Outlook(0.8, "copying", 3, 1.6444)),
)
LOSER = SettingTrial("flash attention off", "target", {1: 1.05, 8: 1.25}, 1.1456)
WINNER = SettingTrial("threads: 6", "target", {1: 0.9}, 0.9, is_used=True)
FILE = SettingTrial("/here/other-q8_0.gguf", "file", {1: 1.5}, 1.5, speedup=0.9)
TUNED = Tuned((Path("/t.gguf"), Path("/d.gguf")), (Tuning(), Tuning()), (LOSER,), True, (NEAR,))


def text(tuned: Tuned) -> str:
    return "\n".join(lines(tuned))


def test_widths_are_told_in_milliseconds_and_as_ratios_to_one_token_each_depth_beside_the_other():
    deep = replace(NEAR, tokens=1024, verify={1: 0.05, 2: 0.08, 4: 0.12})
    both = replace(TUNED, depths=(NEAR, deep))
    near, wide = (
        next(line.split() for line in lines(tuned) if line.split()[:1] == ["4"])
        for tuned in (TUNED, both)
    )
    assert near == ["4", "72.0", "ms", "1.80"]
    assert wide == [*near, "120.0", "ms", "2.40"]


def test_break_evens_are_rates_or_never() -> None:
    rows = {line.split()[0]: line.split()[1:] for line in lines(TUNED) if line.split()}
    assert rows["3"] == ["0.95", "0.34"]
    assert "never" in text(TUNED)


def test_losing_settings_are_named_with_their_ratio() -> None:
    assert "flash attention off" in text(TUNED)
    assert " 1.15  (1: 1.05, 8: 1.25)" in text(TUNED)
    assert text(TUNED).endswith("they stay.")


def test_a_better_setting_is_said_to_be_used() -> None:
    assert text(replace(TUNED, trials=(LOSER, WINNER))).endswith("with target: threads: 6.")


def test_what_is_not_kept_is_not_said_to_be_used() -> None:
    last = text(replace(TUNED, trials=(WINNER,), is_kept=False)).splitlines()[-1]
    assert "nothing of this was kept" in last


def test_sentences_say_what_pays() -> None:
    said = text(TUNED)
    assert "25.0 tokens/s without speculation" in said
    assert "A step of the draft takes 0.50 of that." in said
    assert "drafted text accepted at 60% does not pay." in said
    assert "copied text accepted at 80% makes it 1.64 times as fast (lookahead 3)." in said


def test_a_faster_file_comes_with_the_option_that_uses_it() -> None:
    assert "no gain" in text(replace(TUNED, trials=(FILE,)))
    faster = replace(FILE, speedup=1.2)
    assert "--target /here/other-q8_0.gguf" in text(replace(TUNED, trials=(faster,)))


def test_what_could_not_be_measured_says_why() -> None:
    note = replace(FILE, ratios={}, ratio=None, speedup=None, note="It takes 9.0 GB.")
    assert "other-q8_0.gguf: not measured. It takes 9.0 GB." in text(replace(TUNED, trials=(note,)))


def test_a_target_alone_has_no_draft_in_its_tables() -> None:
    alone = replace(NEAR, draft={}, outlooks=NEAR.outlooks[1:], payoffs=(Payoff(1, None, 0.5),))
    said = text(replace(TUNED, paths=(Path("/t.gguf"),), tunings=(Tuning(),), depths=(alone,)))
    assert "step of the draft" not in said
