"""Files that mean no good: refused in a sentence, loaded, or at the worst the end of a worker.

`SPECCHAT_HOSTILE=5000` tries that many mutated files instead of 500.
"""

import os
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from assistant.events import Failed, Ready
from assistant.request import Setup
from models import gguf
from models.errors import ModelError
from tests.assistant.process.driving import ask, running
from tests.hostile_gguf import handmade, mutants
from tests.hostile_texts import ALL

ROOT = Path(__file__).parents[2]
COUNT = int(os.environ.get("SPECCHAT_HOSTILE", "500"))
LONGEST = 400  # characters of a sentence, the path aside
GUARDED, UNGUARDED = "assistant.process.worker", "tests.models.unguarded"
KILLS = 8 if ALL else 4  # workers that are given a file which llama.cpp dies of


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
def killers(refusals) -> dict[Path, str]:
    """The refused files that llama.cpp would have died of, and how."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.models.alone"],
        input="\n".join(map(str, refusals)),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "GGML_NO_BACKTRACE": "1"},
    )
    outcomes = dict(zip(refusals, done.stdout.splitlines(), strict=True))
    print("what llama.cpp does alone with the refused:", Counter(outcomes.values()))
    return {path: outcome for path, outcome in outcomes.items() if outcome.startswith("killed")}


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


def test_nearly_all_that_llama_cpp_would_die_of_is_stopped_before_it(killers, outcomes):
    """At least 99 in 100; the rest costs a worker."""
    missed = [path for path, end in outcomes.items() if getattr(end, "kind", "") == "EngineDied"]
    print(len(killers), "stopped,", len(missed), "missed:", [path.name for path in missed])
    assert len(killers) >= 20
    assert len(missed) * 100 <= len(missed) + len(killers)


def test_whatever_passes_is_loaded_or_ends_in_a_sentence(outcomes):
    ends = {path: end for path, end in outcomes.items() if isinstance(end, Failed)}
    kinds = {end.kind for end in ends.values()}
    assert {"ModelError"} <= kinds <= {"ModelError", "ContextFull", "EngineDied"}
    assert len(ends) < len(outcomes)
    for end in ends.values():
        assert "bug" not in end.message.lower()
        assert len(end.message) < 4 * LONGEST


def test_a_file_that_kills_a_worker_costs_a_sentence_and_the_next_one_loads(killers, tiny_target):
    """The workers of this test do not look at files first."""
    deadly = [path for path, how in killers.items() if "ALRM" not in how]  # those are hangs
    with running(UNGUARDED) as (engine, heard):
        for path in deadly[:: max(1, len(deadly) // KILLS)][:KILLS]:
            engine.submit(Setup(path, n_ctx=512, threads=1, measure=False))
            with suppress(AssertionError):  # some die only of the first question
                heard.until(Ready)
            engine.submit(ask())
            end = heard.until(Failed)
            assert end.kind == "EngineDied"
            assert "SIG" in end.message
            engine.submit(Setup(tiny_target, n_ctx=512, threads=1, measure=False))
            heard.until(Ready)
