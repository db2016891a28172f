"""The first frame waits for no engine and no store."""

import os
import subprocess
import sys
from pathlib import Path

from tests import ROOT
from tests.patience import WAIT_S

MODELS = ("llama_cpp", "numpy", "huggingface_hub", "httpx2", "jinja2", "gguf")
OTHERS = ("markdown_it", "pygments.lexers", "psutil")  # Textual itself imports tree_sitter: 25 ms
FIRST_FRAME = """
import asyncio, sys
from tui.app.app import SpecchatApp
from assistant.settings.settings import Settings

seen = []
display = SpecchatApp._display

def watched(app, screen, renderable):
    if renderable is not None and screen.is_current and not seen:
        seen.append(set(sys.modules))
    display(app, screen, renderable)

async def main():
    SpecchatApp._display = watched
    app = SpecchatApp(Settings(offline=True))
    async with app.run_test() as pilot:
        while not seen:
            await pilot.pause()
        app.exit()
    print("tui.chat.prompt.prompt" in seen[0], sorted(seen[0].intersection(sys.argv[1:])))

asyncio.run(main())
"""


def imported(tmp_path: Path, names: tuple[str, ...]) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FRAME, *names],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_first_frame_waits_for_the_interface_alone(tmp_path: Path) -> None:
    assert imported(tmp_path, (*MODELS, *OTHERS)) == "True []"
