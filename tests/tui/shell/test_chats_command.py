import json
from codecs import BOM_UTF8
from contextlib import closing
from functools import partial

import pytest

from assistant.store.store import Store
from models.errors import StorageError, UsageError
from tests.assistant.store.conversations import talk
from tests.sources import light
from tests.tui.shell.program import invoke
from tui.shell.chats_command import chats


@pytest.fixture
def filled(home):
    with closing(Store(home / "chats.db")) as store:
        talk(store, "How is bread baked?", "And \x1b]0;cake\x07?")
        talk(store, "A poem \u202eplease")
    return home / "chats.db"


run = partial(invoke, chats)


def ids(*search: str) -> list[int]:
    """Return the numbers of the conversations that are listed."""
    listed = run(*(search or ("list",)), "--json").stdout
    return [chat["id"] for chat in json.loads(listed)]


def test_chats_are_listed_newest_first(filled):
    lines = run().stdout.splitlines()
    assert lines[0].endswith("A poem \ufffdplease")
    assert lines[1].split()[0] == "1"
    assert ids() == [2, 1]
    few = run("list", "--limit", "1")
    assert len(few.stdout.splitlines()) == 1
    assert few.stderr == "There are more than 1; --limit shows them.\n"
    assert run("list", "--limit", "2").stderr == ""


def test_an_imported_title_is_one_row_however_long(filled, tmp_path):
    lines = run("export", "--all", "--format", "jsonl").stdout.splitlines()
    heads = [json.loads(line) for line in lines if '"title"' in line]
    titles = ("two\nrows\r\tof it", "x" * 2_000_000)
    text = "\n".join(lines)
    for head, title in zip(heads, titles, strict=True):
        text = text.replace(json.dumps(head["title"]), json.dumps(title))
    (tmp_path / "chats.jsonl").write_text(text)
    run("import", str(tmp_path / "chats.jsonl"))
    rows = run().stdout.splitlines()
    assert len(rows) in (2, 4)
    assert all(len(row) < 300 for row in rows)
    assert any(row.endswith("two␊rows␍␉of it") for row in rows)


def test_looking_makes_no_file(home):
    assert "no conversations" in run("list").stderr
    assert "Nothing" in run("search", "x").stderr
    assert not home.exists()


def test_a_search_shows_where_it_matched(filled):
    result = run("search", "answer", "bre")
    assert "How is bread baked?" in result.stdout
    assert "Answer to How is bread" in result.stdout
    assert ids("search", "poem") == [2]


def test_exports_go_to_a_new_private_file_and_come_back(filled, tmp_path):
    out = tmp_path / "out.jsonl"
    run("export", "--all", "-o", str(out))
    assert out.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="exists"):
        run("export", "1", "-o", str(out))
    run("delete", "1", "2", "--yes")
    assert len(run("import", str(out)).stdout.splitlines()) == len(ids()) == 2
    again = run("import", "-", input=BOM_UTF8 + out.read_bytes()).stdout.splitlines()
    assert all(line.endswith("(there already)") for line in again)
    assert len(ids()) == 2


def test_the_form_of_an_export_is_asked_for_or_follows_from_the_name(filled, tmp_path):
    assert run("export", "1").stdout.startswith("---\ntitle:")
    assert json.loads(run("export", "1", "--format", "jsonl").stdout.splitlines()[0])["specchat"]
    run("export", "1", "-o", str(tmp_path / "one.md"))
    assert (tmp_path / "one.md").read_text().startswith("---\ntitle:")
    for arguments in (("export",), ("export", "1", "--all")):
        with pytest.raises(UsageError, match="numbers"):
            run(*arguments)


def test_an_export_that_fails_leaves_no_half_file(filled, tmp_path):
    with pytest.raises(StorageError, match="no conversation 9"):
        run("export", "1", "9", "-o", str(tmp_path / "half.md"))
    assert not (tmp_path / "half.md").exists()
    with pytest.raises(StorageError, match="cannot be written"):
        run("export", "1", "-o", str(tmp_path / "none" / "x.md"))


def test_several_files_are_imported_or_the_broken_one_is_named_and_none_is(filled, tmp_path):
    first, second, bad = (tmp_path / name for name in ("1.jsonl", "2.jsonl", "3.jsonl"))
    run("export", "1", "-o", str(first))
    run("export", "2", "-o", str(second))
    bad.write_text("nonsense")
    run("delete", "1", "2", "--yes")
    with pytest.raises(StorageError, match=r"3\.jsonl: line 1 is not from a specchat export"):
        run("import", str(first), str(bad))
    bad.write_text("")
    with pytest.raises(StorageError, match=r"3\.jsonl: there is no conversation in it"):
        run("import", str(first), str(bad))
    assert ids() == []
    assert len(run("import", str(first), str(second)).stdout.splitlines()) == 2


def test_a_file_without_end_is_not_imported(filled, monkeypatch):
    monkeypatch.setattr("tui.shell.chats_command.MAX_IMPORT_BYTES", 100_000)
    with pytest.raises(StorageError, match="/dev/zero: more than"):
        run("import", "/dev/zero")


def test_delete_asks_and_then_leaves_nothing_in_the_file(filled):
    assert "poem" in run("delete", "2", input="n\n").stderr
    with pytest.raises(UsageError, match="--yes"):
        run("delete", "2", input="")
    assert ids() == [2, 1]
    run("delete", "2", "--yes")
    assert ids() == [1]
    assert b"poem" not in filled.read_bytes()
    with pytest.raises(StorageError, match="no conversation 2"):
        run("delete", "2", "--yes")


def test_a_number_is_a_number():
    for bad in ("0", "-1", "x", "9" * 40):
        assert run("show", bad).exit_code == 2


@pytest.mark.parametrize("arguments", [("list",), ("search", "bread"), ("show", "1")])
def test_chats_load_nothing_heavy(filled, arguments):
    assert "bread" in light("chats", *arguments)
