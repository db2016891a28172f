"""Links in an answer: nothing is opened but web addresses, and those only once they were read."""

import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.hostile_texts import MARKDOWN, MARKUP, valid
from tests.tui.chat.turns import Shown, answer, open_page

LAUNCHES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn")
SCHEMES = (
    *("file", "javascript", "data", "vbscript", "ftp", "ssh", "mailto", "tel", "x-apple", "smb"),
    *("HTTP", "https", "JavaScript", "http\t", " https", "httpx", "view-source:http", ""),
)
LINKS = [
    *(f"[a{i}]({scheme}://evil.example/{i})" for i, scheme in enumerate(SCHEMES)),
    *(f"[b{i}](<{scheme}:evil.example/{i}>)" for i, scheme in enumerate(SCHEMES)),
    *(text.replace("{m}", "7741") for text in (*MARKDOWN, *MARKUP)),
    "[c](//evil.example)", "[d](../../etc/passwd)", "[e](https://evil.example/\x1b]0;x\x07)",
    "<ftp://evil.example>", "<mailto:a@b.example>", "[f](\\\\server\\share)", "[g](#x)", "[h](a:b)",
]  # fmt: skip


@pytest.fixture
def launched() -> Iterator[list[str]]:
    """What asks the system for another program while the test runs."""
    seen: list[str] = []
    running = True

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if running and (event in LAUNCHES or event.startswith("webbrowser.")):
            seen.append(f"{event} {arguments}")

    sys.addaudithook(hear)
    yield seen
    running = False


def spots(page: Shown) -> list[tuple[int, int]]:
    """One place on the screen of everything there that does something when it is clicked."""
    screen = page.app.screen
    found: dict[str, tuple[int, int]] = {}
    for y in range(screen.size.height):
        for x in range(screen.size.width):
            if action := screen.get_style_at(x, y).meta.get("@click"):
                found.setdefault(str(action), (x, y))
    return list(found.values())


@pytest.mark.parametrize("start", range(0, len(LINKS), 12))
@pytest.mark.some(3)
async def test_of_all_links_only_web_addresses_are_opened_and_only_after_they_were_shown(
    start: int, launched: list[str]
) -> None:
    text = "\n\n".join(map(valid, LINKS[start : start + 12]))
    async with open_page(answer(2, text), size=(160, 80)) as page:
        clicked = 0
        for x, y in spots(page):
            for _ in range(2):
                before = len(page.app.opened)
                told = "".join(each.message for each in page.app._notifications)
                await page.pilot.click(offset=(x, y))
                assert all(link in told for link in page.app.opened[before:])
                clicked += 1
        assert {urlsplit(link).scheme for link in page.app.opened} <= {"http", "https"}
        assert not [link for link in page.app.opened if not link.isprintable()]
        assert page.app._exit is False
        if start == 0:
            assert clicked > 4
            assert len(page.app.opened) >= 2
    assert launched == []


async def test_no_key_opens_a_link_that_was_not_shown(launched: list[str]) -> None:
    async with open_page(answer(2, "[x](https://evil.example) <https://evil.example>")) as page:
        page.view.focus_last()
        for key in ("enter", "enter", "space", "tab", "enter", "o", "shift+tab", "enter"):
            await page.pilot.press(key)
        assert page.app.opened == []
    assert launched == []


def test_a_launch_would_be_heard(launched: list[str]) -> None:
    import subprocess

    subprocess.run([sys.executable, "-c", ""], check=True)
    assert launched
