"""The first frame waits for no engine and no store."""

from tests.scripts import printed

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


def test_first_frame_waits_for_the_interface_alone() -> None:
    assert printed(FIRST_FRAME, *MODELS, *OTHERS).splitlines()[-1] == "True []"
