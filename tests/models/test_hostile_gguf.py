"""Files that mean no good: refused in a sentence, loaded, or at the worst the end of a worker.

`SPECCHAT_HOSTILE=5000` tries that many mutated files instead of 100, or 500 in a thorough run.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

from assistant.events import Failed, Ready
from assistant.request import Setup
from models import gguf
from models.errors import ModelError
from tests.assistant.process.driving import ask, running
from tests.hostile_gguf import handmade, mutants
from tests.hostile_texts import ALL

COUNT = int(os.environ.get("SPECCHAT_HOSTILE", "500" if ALL else "100"))
LONGEST = 400  # characters of a sentence, the path aside


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "sound").mkdir()
    sound = mutants.bases(folder / "sound")
    made = [*mutants.mutants(sound, COUNT), *handmade.cases(sound)]
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


@pytest.fixture(scope="module")
def outcomes(files, refusals, tiny_target) -> dict[Path, Ready | Failed]:
    """How loading ends, in an engine's process, for the files that are not refused."""
    found: dict[Path, Ready | Failed] = {}
    with running() as (engine, heard):
        for path in files:
            if path not in refusals:
                engine.submit(Setup(path, n_ctx=512, threads=1, measure=False))
                end = heard.end()
                if isinstance(end, Ready):
                    engine.submit(ask("<|im_end|> é\0\x7f 漢" * 3, max_tokens=4))
                    said = heard.end()
                    end = said if isinstance(said, Failed) else end
                found[path] = end
        engine.submit(Setup(tiny_target, n_ctx=512, threads=1))
        heard.until(Ready)
    print(len(files), "files,", len(refusals), "refused by the reader, and of the others")
    print(Counter(getattr(outcome, "kind", "Ready") for outcome in found.values()))
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
    assert len(sound) >= 8
    assert not refusals.keys() & set(sound)


def test_next_to_nothing_that_passes_kills_a_worker(outcomes):
    missed = [path for path, end in outcomes.items() if getattr(end, "kind", "") == "EngineDied"]
    print(len(missed), "missed:", [path.name for path in missed])
    assert len(missed) * 1000 <= len(outcomes)


def test_whatever_passes_is_loaded_or_ends_in_a_sentence(outcomes):
    ends = {path: end for path, end in outcomes.items() if isinstance(end, Failed)}
    kinds = {end.kind for end in ends.values()}
    assert {"ModelError"} <= kinds <= {"ModelError", "ContextFull", "EngineDied"}
    assert len(ends) < len(outcomes)
    for end in ends.values():
        assert "bug" not in end.message.lower()
        assert len(end.message) < 4 * LONGEST
