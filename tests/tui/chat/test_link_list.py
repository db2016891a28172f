"""The links of a message are listed by a key, and opened only where they can be read."""

from pathlib import Path

import pytest

from tests.tui.chat.chat_driver import Chat, open_chat
from tests.tui.chat.turns import answer, open_page
from tui.app.clipboard import has_window, open_address
from tui.chat.conversation.links_screen import LinksScreen
from tui.chat.conversation.markdown_reading import addresses, read
from tui.chat.conversation.user_turn import UserTurn

TEXT = """See [the manual](https://manual.example/page?a=1) and <https://other.example>, again
[here](https://manual.example/page?a=1), or write to <mailto:me@example.com>.

- [local](file:///etc/passwd)
- https://bare.example/x
"""


def test_every_address_is_found_once_in_order() -> None:
    assert addresses(read(TEXT) or ()) == [
        "https://manual.example/page?a=1",
        "https://other.example",
        "mailto:me@example.com",
        "https://bare.example/x",
    ]


async def test_the_key_is_offered_where_there_may_be_links() -> None:
    async with open_page(answer(2, "Nothing here."), answer(4, TEXT)) as page:
        page.view.focus_last()
        await page.pilot.press("l")
        assert page.wanted == [("links", TEXT)]
        assert page.keys().get("l") == "Links"
        await page.pilot.press("k", "k", "k")
        assert page.keys().get("l") is None


async def listed(chat: Chat, text: str) -> list[str]:
    """Press l on a message, and return the addresses that are seen."""
    await chat.ready()
    chat.screen.conversation.mount(turn := UserTurn(text))
    await chat.pilot.pause()
    turn.focus()
    await chat.pilot.press("l")
    await chat.pilot.pause()
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


async def test_a_message_with_nothing_to_open_says_so(target: Path) -> None:
    async with open_chat(target) as chat:
        assert await listed(chat, "[x](file:///etc/passwd)") == []
        assert any("no web address" in notice.message for notice in chat.app._notifications)


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
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "w"}, "linux", True),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "x"}, "linux", False),
        ({}, "darwin", True),
        ({"SSH_CONNECTION": "x"}, "darwin", False),
    ],
)
def test_a_browser_needs_a_window_in_front_of_the_person(
    environment: dict[str, str], platform: str, expected: bool
) -> None:
    assert has_window(environment, platform) is expected
