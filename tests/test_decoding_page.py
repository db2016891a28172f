"""The walk through `assistant/decoding`: each line of code on the page runs, in its order."""

import re

from tests import ROOT

PAGE = ROOT / "docs/decoding.md"


def test_every_snippet_of_the_walk_through_the_library_runs():
    snippets = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(snippets) == 9
    known: dict[str, object] = {}
    for snippet in snippets:
        exec(compile(snippet, str(PAGE), "exec"), known)
