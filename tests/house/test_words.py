"""Names that stood for terms of the field do not come back: a reader knows those of the field."""

import ast
import io
import re
import tokenize

from tests import ROOT
from tests.sources import MODULES

OLD = frozenset(
    """_tell told hear _hear say _say asks settle decide grant adopt in_words take_in take_back
    give_back kept keep_looks look again saw saw_plain saw_other saw_verify saw_tables sureness
    SURE Doubt doubted_s Reference Staircase evidence strength least most room held decided READINGS
    Setup Steer Count Counted ReadAhead AllRead Ghost Noticed Noted remarks form AnswerForm FormMask
    Forms talk Talk ShownPath Answering Asking Calling Record Resuming AskedFolders odd unread
    Unread flaw misfit _hindrance hindrance place _place found shipped begun worth each""".split()  # noqa: SIM905 - it is easier to read
)
"""For `tell` say emit, for `found` what was found (hits, match), for `place` path or index."""


def test_no_name_is_an_everyday_word_for_a_term_of_the_field():
    names = []
    for path in MODULES:
        module = path.relative_to(ROOT).as_posix()
        tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
        names += [f"{module}:{token.start[0]}: {token.string}" for token in tokens
                  if token.type == tokenize.NAME and token.string in OLD]  # fmt: skip
    assert not names


PARTICIPLE = re.compile(r"_?([a-z]+ed|chosen|drawn|found|held|kept|left|sent|shown|taken|written)")


def test_a_function_that_acts_is_named_by_a_verb():
    """It acts if it is awaited or is a context manager; others may be named by what they return."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                decorators = " ".join(map(ast.unparse, node.decorator_list))
                acts = isinstance(node, ast.AsyncFunctionDef) or "contextmanager" in decorators
                is_handler = decorators.startswith("on(")
                assert not acts or is_handler or not PARTICIPLE.fullmatch(node.name), node.name


def test_a_test_imports_no_other_test_and_names_its_subject():
    for path in (ROOT / "tests").rglob("test_*.py"):
        faults = r"^from tests\S*\.test_\w+ import|^(async )?def test_what"
        assert not re.search(faults, path.read_text(), re.M), path
