"""Writing `config.toml`: what the user wrote there stays."""

import os
import stat
import tomllib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models.errors import StorageError
from tests.tui.settings.test_config import HERE, LINES, understood_or_refused
from tui.settings.config_file import Config, read
from tui.settings.config_writer import changed, commented, literal, template, write
from tui.settings.keys import KEYS, PRESET_KEYS
from tui.settings.toml_positions import statements

MINE = """\
# how I like it
mode = "sps"   # faster here

# warm
temperature = 1.5
folderz = 3

[presets.code]  # for work
temperature = 0.2   # cold
# the end

[keys]
"chat.new" = "ctrl+k"
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "config.toml"


def put(path, text: str) -> Config:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, newline="")
    return read(path)


def test_comments_order_and_unknown_keys_stay(path):
    seen = put(path, MINE)
    write(seen, {"temperature": 0.5, "mode": "ars"}, {"code": {"temperature": 0.1}})
    expected = MINE.replace("1.5", "0.5").replace('"sps"', '"ars"').replace("0.2 ", "0.1 ")
    assert path.read_text() == expected


def test_new_keys_go_above_the_tables(path):
    now = write(put(path, MINE), {"theme": "nord"}, {"prose": {"top_k": 3}})
    text = path.read_text()
    assert text.index("theme") < text.index("[presets.code]")
    assert now == read(path)
    assert now.values["theme"] == "nord"
    assert now.presets["prose"] == {"top_k": 3}
    for line in MINE.splitlines():
        assert line in text


def test_the_first_change_makes_the_documented_file(path):
    write(read(path), {"theme": "nord", "top_k": 3}, {})
    lines = path.read_text().splitlines()
    documented = template().splitlines()
    assert len(lines) == len(documented)
    differing = [new for new, old in zip(lines, documented, strict=True) if new != old]
    assert differing == ["top_k = 3", 'theme = "nord"']


def test_a_comment_below_a_table_stays_a_comment(path):
    text = '[keys]\n# theme = "textual-dark"\n'
    now = write(put(path, text), {"theme": "nord"}, {})
    assert now.values == {"theme": "nord"}
    assert text in path.read_text()


def test_file_is_private(path):
    write(read(path), {"theme": "nord"}, {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["config.toml"]


def test_a_link_stays_a_link(path, tmp_path):
    dotfile = tmp_path / "dotfiles.toml"
    dotfile.write_text('mode = "sps"\n')
    path.parent.mkdir()
    path.symlink_to(dotfile)
    write(read(path), {"mode": "ars"}, {})
    assert path.is_symlink()
    assert dotfile.read_text() == 'mode = "ars"\n'


def test_windows_line_ends_stay(path):
    write(put(path, 'mode = "sps"\r\n# mine\r\n'), {"mode": "ars"}, {})
    assert path.read_bytes() == b'mode = "ars"\r\n# mine\r\n'


def test_changes_of_another_program_stay(path):
    seen = put(path, MINE)
    path.write_text(MINE.replace("# warm", "# hot").replace("folderz", "threads"))
    write(seen, {"mode": "ars"}, {})
    assert "# hot" in path.read_text()
    assert read(path).values["threads"] == 3


@pytest.mark.parametrize(
    ("old", "new", "changes", "complaint"),
    [
        ("1.5", "2.5", ({"temperature": 0.5}, {}), "changed by another program meanwhile, also te"),
        ("0.2 ", "0.3 ", ({}, {"code": {"temperature": 0.1}}), "preset code"),
    ],
)
def test_what_another_program_changed_too_is_not_overwritten(path, old, new, changes, complaint):
    seen = put(path, MINE)
    theirs = MINE.replace(old, new)
    path.write_text(theirs)
    with pytest.raises(StorageError, match=complaint):
        write(seen, *changes)
    assert path.read_text() == theirs


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_a_clear_refusal(path):
    seen = put(path, MINE)
    path.parent.chmod(0o500)
    with pytest.raises(StorageError, match="cannot be written: Permission denied"):
        write(seen, {"mode": "ars"}, {})
    path.parent.chmod(0o700)
    assert path.read_text() == MINE


def test_a_folder_that_cannot_be_made_is_a_clear_refusal(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written: Not a directory"):
        write(Config(tmp_path / "file" / "config.toml"), {"mode": "ars"}, {})


def test_a_text_of_several_lines_is_written_as_one(path):
    system = 'Be brief.\n\n"""Really""" \\o/ \t.\n'
    assert write(read(path), {"system": system}, {}).values["system"] == system
    assert "Be brief.\n\n" in path.read_text()


FINE = st.sampled_from(
    [
        *(f"{key.name} = {literal(key.default)}" for key in KEYS.values()),
        *(commented(key) for key in KEYS.values()),
        "# mine",
        "",
        "  # deeper",
        "folderz = [\n  1, # one\n]",
        "system = '''\n# top_k = 40\n''' # end",
        "[presets.a]",
        "[presets.b] # work",
        "presets.c.top_k = 3",
        "presets = {d = {top_k = 3}}",
        "[keys]",
        '"chat.new" = "ctrl+k"',
    ]
)
VALID = {
    name: st.text().map(key.kind.parse).filter(lambda value: value is not None)
    for name, key in KEYS.items()
    if name in ("system", "target", "model_folders")
} | {
    "temperature": st.floats(0, 100),
    "top_k": st.integers(0, 1000),
    "mode": st.sampled_from(["auto", "sps", "ars"]),
    "save": st.booleans(),
}


@given(
    st.one_of(st.lists(FINE, max_size=10, unique=True), st.lists(LINES, max_size=8)).map("\n".join),
    st.fixed_dictionaries({}, optional=VALID),
    st.dictionaries(
        st.text(min_size=1),
        st.fixed_dictionaries({}, optional={k: v for k, v in VALID.items() if k in PRESET_KEYS}),
        max_size=2,
    ),
)
@settings(max_examples=300)
@example("presets.c.top_k = 3\nthreads = 2", {}, {"m": {}, "n": {}})  # tomlkit loses something
def test_what_was_written_is_read_and_the_rest_is_as_it_was(text, changes, presets):
    if "\r" in text or understood_or_refused(text) is None:
        return
    try:
        new = changed(text, changes, presets, HERE)
    except StorageError:
        return  # refused, with nothing written
    before, after = tomllib.loads(text), tomllib.loads(new)
    for name, value in changes.items():
        assert after[name] == (list(value) if isinstance(value, tuple) else value)
    for name, preset in presets.items():
        assert after["presets"][name] == preset
    for name in set(before) - set(changes) - {"presets"}:
        assert repr(after[name]) == repr(before[name])
    if not presets:
        assert comments(text) - comments(new) <= {commented(KEYS[name]) for name in changes}


def test_names_that_no_toml_has_are_refused_with_a_reason(path):
    with pytest.raises(StorageError, match="only UTF-8"):
        write(read(path), {"target": os.fsdecode(b"\xff.gguf")}, {})
    assert not path.exists()


def comments(text: str) -> set[str]:
    return {
        statement.strip()
        for _, statement, _ in statements(text)
        if statement.lstrip().startswith("#")
    }
