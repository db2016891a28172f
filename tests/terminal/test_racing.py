"""A race at a real terminal, from the chat and from the command line."""

from pathlib import Path

from tests.terminal.terminal import DONE, ESCAPE, F, gone, opened

OUTCOME = "SpS was"


def test_a_prompt_races_and_the_chat_is_there_again(tmp_path: Path, models: list[str]) -> None:
    with opened(tmp_path, *models, "--max-tokens", "30", size=(120, 40)) as terminal:
        terminal.shows("ready")
        terminal.press("Which is faster?" + F[4])
        terminal.shows("ArS", "SpS", "Which is faster?")
        terminal.shows(OUTCOME)
        terminal.press(ESCAPE)
        terminal.shows("ready")
        terminal.press("\r")
        terminal.shows(DONE)
        terminal.quit()


def test_a_race_from_the_command_line_is_shown_and_left(tmp_path: Path, models: list[str]) -> None:
    race = ["race", "Which is faster?", *models, "--max-tokens", "30"]
    with opened(tmp_path, *race, size=(120, 40)) as terminal:
        terminal.shows("ArS", "SpS", "Which is faster?")
        terminal.shows(OUTCOME)
        workers = terminal.workers()
        terminal.press(ESCAPE)
        assert terminal.end() == 0
        assert gone(workers)
