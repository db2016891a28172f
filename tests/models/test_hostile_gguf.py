"""Files that mean no good: refused by the reader in a sentence, or the end of a worker at worst.

`SPECCHAT_HOSTILE=5000` tries that many mutated files instead of 100, or 500 in a thorough run.
"""

import os
from pathlib import Path

import pytest

from assistant.events import Failed, Finished, Ready
from assistant.request import Setup
from models import gguf
from models.errors import ModelError
from tests.assistant.process.driving import ask, running
from tests.engine import ENGINE
from tests.hostile_gguf import handmade, mutants
from tests.hostile_texts import ALL

COUNT = int(os.environ.get("SPECCHAT_HOSTILE", "500" if ALL else "100"))
LONGEST = 400  # characters of a sentence, the path aside


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "sound").mkdir()
    sound = mutants.bases(folder / "sound")
    made = [*mutants.mutants(sound, COUNT), *handmade.cases(sound[0])]
    paths = [folder / f"{name.replace(' ', '_')}.gguf" for name, _ in made]
    for path, (_, data) in zip(paths, made, strict=True):
        path.write_bytes(data)
    return paths


@pytest.fixture(scope="module")
def refusals(files) -> dict[Path, str]:
    """What the header's reader says of the files that it refuses."""
    found = {}
    for path in files:
        try:
            gguf.read(path)
        except ModelError as error:
            found[path] = str(error)
    return found


def check_sentence(message: str, path: Path) -> None:
    assert str(path) in message or path.name in message, message
    assert len(message.replace(str(path), "")) < LONGEST, message
    assert message.isprintable(), message
    assert message.endswith("."), message


def test_whatever_is_refused_is_refused_in_a_plain_sentence_that_names_the_file(refusals):
    assert len(refusals) > COUNT / 4
    for path, message in refusals.items():
        check_sentence(message, path)


def test_sound_files_are_not_refused(files, refusals):
    sound = [path for path in files if path.name.startswith("fine")]
    assert len(sound) >= 7
    assert not refusals.keys() & set(sound)


def test_a_file_that_ends_the_engine_is_named_in_a_sentence_and_the_next_one_answers(
    tmp_path, tiny_target
):
    (sound, *_) = mutants.bases(tmp_path)
    with running() as (engine, heard):
        for name, data in handmade.killers(sound):
            path = tmp_path / f"{name}.gguf"
            path.write_bytes(data)
            gguf.read(path)  # nothing is wrong with how it is written
            engine.submit(Setup(path, n_ctx=512, threads=1, measure=False, engine=ENGINE))
            end = heard.end()
            assert isinstance(end, Failed)
            assert end.kind in {"EngineDied", "EngineRefused"}
            check_sentence(end.message, path)
        engine.submit(Setup(tiny_target, n_ctx=512, threads=1, measure=False, engine=ENGINE))
        heard.until(Ready)
        engine.submit(ask("Why?", max_tokens=4))
        assert heard.until(Finished).stats.generated_tokens == 4
