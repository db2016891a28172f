"""Links in a message: nothing is opened but web addresses, and those only once they were read.

A key lists them.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.hostile_texts import MARKDOWN, MARKUP, valid
from tests.tui.chat.chat_driver import Chat, open_chat
from tests.tui.chat.turns import Shown, answer, open_page, question
from tui.app.clipboard import has_window, open_address
from tui.chat.conversation.links_screen import LinksScreen
from tui.chat.conversation.user_turn import UserTurn

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
    start: int, launched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    text = "\n\n".join(map(valid, LINKS[start : start + 12]))
    async with open_page(answer(2, text), size=(160, 80)) as page:
        clicked = 0
        for x, y in spots(page):
            before = len(page.app.opened)
            await page.pilot.click(offset=(x, y))
            assert len(page.app.opened) == before
            clicked += 1
            if isinstance(page.app.screen, LinksScreen):
                told = page.screen()
                await page.pilot.press("enter", "escape")
                assert all(link[:60] in told for link in page.app.opened[before:])
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
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert launched


TEXT = """See [the manual](https://manual.example/page?a=1) and <https://other.example>, again
[here](https://manual.example/page?a=1), or write to <mailto:me@example.com>.

- [local](file:///etc/passwd)
- https://bare.example/x
"""


async def listed(chat: Chat, text: str) -> list[str]:
    """Press l on a message, and return the addresses that are seen."""
    await chat.ready()
    chat.screen.conversation.mount(turn := UserTurn(question(9, text)))
    await chat.pilot.pause()
    turn.focus()
    await chat.press("l")
    if not isinstance(chat.app.screen, LinksScreen):
        return []
    options = chat.app.screen._list.options
    return [str(option.prompt) for option in options]


async def test_only_web_addresses_are_listed_and_enter_opens_the_one_that_is_read(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    async with open_chat(target) as chat:
        opened: list[str] = []
        monkeypatch.setattr(chat.app, "open_url", opened.append)
        assert await listed(chat, TEXT) == [
            "https://manual.example/page?a=1",
            "https://other.example",
            "https://bare.example/x",
        ]
        assert opened == []
        await chat.pilot.press("down", "enter")
        assert opened == ["https://other.example"]
        await chat.pilot.press("escape")
        assert chat.app.screen is chat.screen
        assert await listed(chat, "[x](file:///etc/passwd)") == []
        assert any("no web address" in text for text in chat.told)
        assert await listed(chat, "Nothing here.") == []  # nor is the key offered
        assert "l" not in chat.footer


async def test_where_no_browser_has_a_window_the_address_is_copied(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    async with open_chat(target) as chat:
        opened: list[str] = []
        monkeypatch.setattr(chat.app, "open_url", opened.append)
        open_address(chat.screen, "https://a.example")
        await chat.until(lambda: chat.app.clipboard == "https://a.example")
        open_address(chat.screen, "file:///etc/passwd")
        await chat.pilot.pause()
        assert opened == []
        assert chat.app.clipboard == "https://a.example"


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"WAYLAND_DISPLAY": "w"}, "linux", True),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "x"}, "linux", False),
        ({}, "darwin", True),
    ],
)
def test_a_browser_needs_a_window_in_front_of_the_user(
    environment: dict[str, str], platform: str, expected: bool
) -> None:
    assert has_window(environment, platform) is expected
