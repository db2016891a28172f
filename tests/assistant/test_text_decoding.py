"""Attachments, edits and tools decode a file to the same text, and write it back as it was."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assistant.edit import text_file
from assistant.passages import file_lines
from assistant.session.attachments import read
from assistant.streamed_text import decode
from assistant.tools.toolbox import ToolSet
from assistant.tools.values import ToolSettings
from models.errors import UsageError
from tests.assistant.edit.edits import proposed
from tests.assistant.tools.toolboxes import call

TEXT = "Größe: 3 €\n“two”\nthree – ü\nfour\nfive\n"
PLAIN = TEXT.translate({0x20AC: "E", 0x201C: '"', 0x201D: '"', 0x2013: "-"})
TABLE, READ = Path(__file__).with_name("encoded.txt"), ("latin-1", "windows-1252")
"""Encodings, with texts that are read in these two, and refused in the others."""
ROWS = [row.split("\t") for row in TABLE.read_text("utf-8").splitlines()]
ENCODED = [
    (f"+API-Key\n{TEXT}".encode(), "utf-8"),
    (TEXT.encode("utf-8-sig"), "utf-8"),
    (b"\xff\xfe" + TEXT.encode("utf-16-le"), "utf-16-le"),
    (b"\xfe\xff" + TEXT.replace("\n", "\r\n").encode("utf-16-be"), "utf-16-be"),
    (TEXT.replace("\n", "\r\n").encode("windows-1252"), "windows-1252"),
    (PLAIN.encode("latin-1"), "latin-1"),
    (PLAIN.encode("latin-1") + b"\x81\x93\n", "latin-1"),  # which Windows lacks
    (f"four: lagreØkonomi, delay_µs, home»shop, ©by, Mªdel\n{PLAIN}".encode("latin-1"), "latin-1"),
    (b"three\nfour\nfive\n" + b"log " * 1000 + b"dam\x86ged\n", "windows-1252"),
    *((f"four\n{row}\n{PLAIN}".encode(code), code) for code, row in ROWS if code in READ),
]
BINARY = [
    b"\x89PNG\r\n\x1a\n\0\0",
    "Größe\0b".encode(),
    b"\xff\xfea\0\0\0",
    b"\xff\xfea",
    b"\xe9\x04 x",
    b"x" * 9000 + b"\0",
    b"Vir\xc3\xa1g and \xff a broken b\xc3\xa9gin",
    *(b"PK\3\4 a", rb"{\rtf1 a}", b"\xd0\xcf\x11\xe0 a", b"na+AOk-ve"),
    "It’s what you’d expect".encode() + b" \xe9 \n",
    *(row.encode(code, "ignore") for code, row in ROWS if code not in READ),
]


@given(st.binary() | st.tuples(st.sampled_from([each[:3] for each, _ in ENCODED]), st.binary()))
@example(b"\xef\xbb\xbf\xe9")
@example(b"\x93\x81")
def test_a_text_is_encoded_again_to_the_same_bytes(data: bytes | tuple[bytes, bytes]) -> None:
    data = data if isinstance(data, bytes) else b"".join(data)
    try:
        text, encoding, bom = decode(data, "x")
    except UsageError:
        return
    assert bom + text.encode(encoding) == data


@pytest.mark.parametrize(("data", "encoding"), ENCODED)
def test_a_character_cut_at_the_end_of_the_data_is_left_out(data: bytes, encoding: str) -> None:
    whole = decode(data, "x")
    assert whole.encoding == encoding
    if encoding.startswith("utf"):
        for end in range(len(whole.bom), len(data)):
            assert whole.text.startswith(decode(data[:end], "x", is_cut=True).text)


@pytest.mark.parametrize(("data", "encoding"), ENCODED)
async def test_a_file_has_the_same_text_wherever_it_is_read(
    tmp_path: Path, data: bytes, encoding: str
) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(data)
    attached, file = read(path, "file.txt"), text_file.read(path)
    assert file.encode(attached.text) == data
    changed = "vier – ü" if "utf" in encoding else "vier ü"
    answer = f"```\n{attached.text.replace('four', changed)}\n```"
    (new,) = proposed(answer.replace("\r\n", "\n"), attached)
    assert file.encode(new.text) == data.replace("four".encode(encoding), changed.encode(encoding))
    tools = ToolSet(ToolSettings((tmp_path,)))
    by_tool = await call(tools, "files__read", json.dumps({"path": "file.txt"}))
    lines = [line.text for line in file_lines.lines(data, ".txt")]
    for text in (attached.text, by_tool.text, "\n".join(lines)):
        assert text.replace("\r\n", "\n").rstrip() == file.text.rstrip()


@pytest.mark.parametrize("data", BINARY)
async def test_binary_data_is_no_text_anywhere(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(data)
    for opened in (read, text_file.read):
        with pytest.raises(UsageError, match=r"file\.txt is not text"):
            opened(path)
    with pytest.raises(file_lines.UnsupportedFile, match="is not text"):
        file_lines.lines(data, ".txt")
    by_tool = await call(ToolSet(ToolSettings((tmp_path,))), "files__read", '{"path": "file.txt"}')
    assert "is not text" in by_tool.text
    assert ("line 1 has bytes" in by_tool.text) == data.startswith((b"Vir", b"It"))
