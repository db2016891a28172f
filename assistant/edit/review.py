"""What a new version of a file breaks or loses that the request does not ask for."""

import builtins
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import groupby, pairwise
from operator import attrgetter

from tree_sitter import Language, Node, Parser

from assistant.edit.comparison import compare

GRAMMARS = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript",
    ".jsx": "javascript", ".ts": "typescript.typescript", ".tsx": "typescript.tsx", ".go": "go",
    ".rs": "rust", ".java": "java", ".c": "c", ".h": "cpp", ".cc": "cpp", ".cpp": "cpp",
    ".hpp": "cpp", ".json": "json", ".toml": "toml", ".css": "css", ".html": "html", ".sh": "bash",
}  # fmt: skip
"""The grammar of each kind of file: its package without `tree_sitter_`, and its variant."""
DEFINES = re.compile(
    r"function|method|class|struct|enum_(?:item|decl|spec)|trait|interface|record|union|macro|"
    r"type_(?:spec|alias|item)|constructor|mod_item|namespace_def|preproc_(?:function_)?def|const_|"
    r"static_item|variable_declarator|public_field"
)
IMPORTS = re.compile(r"^(?:import_|future_import|use_decl|preproc_include|using_dir)")
NAMES = re.compile(r"identifier$|^constant$")
BINDS = {"name", "left", "pattern", "declarator", "parameter", "parameters", "alias"}
OUTLINED = re.compile(
    r"(?im)^[ \t]*(?:(?:\w+[ \t]+){0,3}(?:def|class|func|fun|fn|function|struct|module|record|sub|"
    r"proc|table|view|type|trait|object)[ \t]+(?:\w+[.:])*(\w+)[ \t]*(?=[({\[:=<]|$)|"
    r"(?!else|new|return|await)(?:[\w<>\[\]?]+[ \t]+){1,5}(\w+)\([^;\n]{0,300}\)\s*(?:\{|=>))"
)
"""The beginning of a definition in a language without a grammar."""
REMOVES = re.compile(
    r"(?i)remov|delet|\bdrop|strip|get rid|unused|dead code|entfern|lösch|streich|supprim|enl[eè]v|"
    r"elimin|borra|quita|rimuov|verwijder|удал|删|移除|削除|삭제"
)
RESHAPES = re.compile(
    r"(?i)merg|inlin|combin|unif|split|simplif|short|condens|refactor|rewrit|replac|convert|"
    r"turn\b|\brecord\b|\binto\b|dataclass|zusammen|ersetz|vereinfach|kürz|umschreib|remplac|reemplaz|"
    r"объедин|замен|упрост|合并|替换|短く"
)
RENAMES = re.compile(
    r"(?i)renam|[a-z]+case\b|umbenenn|renomm|renombr|rinomin|hernoem|переимен|重命名|改名"
)
ADDS = re.compile(
    r"(?i)\W*(?:please\s+)?(?:add|document|comment|annotat|explain|log|füg|ajout|añad|aggiung|добав|"
    r"添加|追加)"
)
RECORDS = re.compile(r"(?i)\brecord|dataclass|to (?:a )?(?:\w+ )?(?:function|component|struct)")
"""What a class may become without its methods."""
SIGN = attrgetter("sign")
CODE = re.compile(r"(?!#|//|/\*|\*|--|\W*$)")
"""The beginning of a line that is neither a comment nor only brackets."""
TEXT_ONLY = re.compile(
    r"(?i)comment|docstring|quote|space|print|logging|hint|annotat|block|loop|kommentar"
)
"""What may be removed or converted without touching a definition."""
NEEDS_IMPORT = {
    ".java": "List ArrayList Map HashMap Set HashSet Arrays Collections Optional Objects "
    "Collectors Stream Scanner Random Deque ArrayDeque IOException Path Files Instant Duration",
    ".rs": "HashMap HashSet BTreeMap BTreeSet VecDeque Arc Rc RefCell Mutex RwLock PathBuf File",
    ".js": "useState useEffect useMemo useCallback useRef useReducer useContext",
}
"""Names that mean nothing without an import, where others may stand in other files."""
PROSE = ("", ".md", ".markdown", ".mdx", ".txt", ".rst", ".csv", ".tsv", ".log")
LIKE, REMAINING, LISTED = 0.5, 0.4, 5
"""The share of its words that a renamed definition has in common with the old one, the share of
definitions that remain after a removal, and the names in a sentence."""


@dataclass(slots=True)
class Outline:
    """What a text defines, imports and uses."""

    error: int = 0  # the first line that does not parse, from 1
    reason: str = ""  # why it does not, where that is known
    definitions: dict[str, list[str]] = field(default_factory=dict)  # texts by last name
    imports: dict[str, str] = field(default_factory=dict)  # statements by the name they import
    bound: set[str] = field(default_factory=set)  # names that anything gives a meaning
    used: dict[str, int] = field(default_factory=dict)  # names in expressions, with their line
    qualifiers: set[str] = field(default_factory=set)  # names before a dot
    members: set[str] = field(default_factory=set)  # names after one
    heading: str = ""  # the docstring or comment at the beginning


def review(suffix: str, old: str, new: str, request: str) -> tuple[str, ...]:
    """Return what a new version breaks or loses that a request does not name, a sentence each.

    Args:
        suffix: the suffix of the file's name, by which its language is known.
        old: the text of the whole file.
        new: the text that would replace it.
        request: what the user asked for.
    """
    if (suffix := suffix.lower()) in PROSE:
        return ()
    before, after = outline(suffix, old), outline(suffix, new)
    problems = list[str]()
    if not before.error and after.error:
        line = new.split("\n")[after.error - 1].strip()
        problems.append(f"It no longer parses, from line {after.error}{after.reason}: {line}")
    asked = _asked(request, before, after)
    lost = [
        name for name in _lost(before, after) if not _may_go(name, before, after, request, asked)
    ]
    if lost:
        problems.append(f"It loses {_listed(lost)}.")
    elif ADDS.match(asked) and not any(verb.search(asked) for verb in (REMOVES, RESHAPES, RENAMES)):
        problems += _left_out(old.split("\n"), new.split("\n"))
    if not before.error and not after.error:
        problems += _undefined(suffix, before, after)
        problems += _left_over(before, after, new, asked)
        problems += _lost_imports(suffix, before, after, request)
    if before.heading and not after.heading and not re.search("(?i)doc|comment|head", request):
        problems.append(f"It loses the {before.heading} that the file begins with.")
    return tuple(dict.fromkeys(problems))


def outline(suffix: str, text: str) -> Outline:
    """Return the outline of a text; without a grammar only what its lines seem to define."""
    language, _, variant = GRAMMARS.get(suffix, "").partition(".")
    if not language:
        heads = [*OUTLINED.finditer(text)]
        found = Outline()
        for head, following in zip(heads, [*heads[1:], None], strict=False):
            body = text[head.start() : following.start() if following else None]
            found.definitions.setdefault(head[1] or head[2], []).append(body)
        names = {head.end(head.lastindex or 0) for head in heads}
        for call in re.finditer(r"\w+(?=\()", text):
            if call.end() not in names:
                found.used.setdefault(call[0], text.count("\n", 0, call.start()) + 1)
        found.bound |= found.definitions.keys()
        return found
    module = import_module(f"tree_sitter_{language}")
    grammar = getattr(module, f"language_{variant}" if variant else "language")()
    root = Parser(Language(grammar)).parse(text.encode(errors="replace")).root_node
    found = Outline(heading=_heading(root))
    nodes = [(root, "", False)]
    while nodes:
        node, role, is_bound = nodes.pop()
        if (node.is_error or node.is_missing) and not found.error:
            found.error = node.start_point.row + 1
        if IMPORTS.match(node.type):
            _add_import(node, found)
            continue
        if NAMES.search(node.type):
            _add_name(node, role, is_bound, found)
            continue
        if name := _defined(node):
            found.definitions.setdefault(name, []).append(_text(node))
            found.bound.add(name)
        for child, of_child in reversed(_children(node)):
            binds = of_child in BINDS or "parameter" in node.type or "pattern" in node.type
            binds = (binds or (is_bound and not of_child)) and "augmented" not in node.type
            of_child = "qualifier" if node.type == "selector_expression" else of_child
            nodes.append((child, of_child, binds and of_child not in ("type", "value")))
    if suffix in (".py", ".pyi"):
        found.error, found.reason = _python_error(text)
    return found


def _python_error(text: str) -> tuple[int, str]:
    """Return the line that this Python refuses, and why: it knows more than the grammar."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.lineno or 1, f" ({error.msg})"
    except (ValueError, RecursionError, MemoryError):
        return 1, ""
    return 0, ""


def _add_import(node: Node, found: Outline) -> None:
    statement, names = " ".join(_text(node).split()), set[str]()
    for part in _leaves(node):
        is_path = part.type in ("interpreted_string_literal_content", "interpreted_string_literal")
        if NAMES.search(part.type) or is_path:
            names.add(_text(part).strip('"').rpartition("/")[2])
    for name in names or {statement}:
        found.imports[name] = statement
    found.bound |= names


def _leaves(node: Node) -> Iterator[Node]:
    """Yield what has no children; without the module that Python's `from` and `as` name."""
    for child, role in _children(node):
        if role != "module_name":
            yield from _leaves(child) if child.child_count else (child,)


def _children(node: Node) -> list[tuple[Node, str]]:
    """Return the children of a node with their roles, by a cursor: asking each is quadratic."""
    cursor, children = node.walk(), list[tuple[Node, str]]()
    is_there = cursor.goto_first_child()
    while is_there and cursor.node:
        children.append((cursor.node, cursor.field_name or ""))
        is_there = cursor.goto_next_sibling()
    return children


def _add_name(node: Node, role: str, is_bound: bool, found: Outline) -> None:
    name = _text(node)
    is_member = role in ("attribute", "property", "field") or node.type in (
        "field_identifier", "property_identifier",
    )  # fmt: skip
    if is_member:
        found.members.add(name)
        return
    if is_bound:
        found.bound.add(name)
        return
    found.used.setdefault(name, node.start_point.row + 1)
    if role == "qualifier":
        found.qualifiers.add(name)


def _defined(node: Node) -> str:
    """Return the last name of what a node defines; empty if it defines nothing."""
    if not node.is_named or not DEFINES.search(node.type):
        return ""
    if node.type.endswith("_specifier") and not node.child_by_field_name("body"):
        return ""  # C names a struct so where it is used
    if node.type == "variable_declarator" and not re.search(
        "function|arrow|class", getattr(node.child_by_field_name("value"), "type", "")
    ):
        return ""
    named = node.child_by_field_name("name")
    while named is None and (inner := node.child_by_field_name("declarator")):  # of C
        node, named = inner, inner if NAMES.search(inner.type) else None
    return _text(named) if named else ""


def _heading(root: Node) -> str:
    first = root.named_children[0] if root.named_children else None
    if first is not None and first.type == "expression_statement" and first.named_children:
        first = first.named_children[0]
    kind = first.type if first else ""
    return "comment" if "comment" in kind else "docstring" if kind == "string" else ""


def _lost(old: Outline, new: Outline) -> list[str]:
    """Return the definitions that are missing, without those within another such one."""
    lost = [
        n for n, texts in old.definitions.items() if len(new.definitions.get(n, ())) < len(texts)
    ]
    outer = [text for name in lost if name not in new.definitions for text in old.definitions[name]]
    return [
        name for name in lost
        if not any(old.definitions[name][0] in text != old.definitions[name][0] for text in outer)
    ]  # fmt: skip


def _asked(request: str, *outlines: Outline) -> str:
    """Return a request without the names of definitions, which may be verbs."""
    first, *others = re.findall(r"\w+|\W+", request) or [""]
    names = {name for outline in outlines for name in outline.definitions}
    return "".join([first, *(word for word in others if word not in names)])


def _left_out(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield where three statements or more are gone, and their words are not in their place."""
    gone = Counter(map(str.strip, old)) - Counter(map(str.strip, new))
    for hunk in compare(old, new).hunks:
        runs = [(sign, [line.text for line in run]) for sign, run in groupby(hunk.lines, SIGN)]
        number = hunk.begin
        for (sign, lines), (following, added) in pairwise([*runs, (" ", [])]):
            words = {*re.findall(r"\w+", " ".join(added if following == "+" else []))}
            lost = [
                at for at, line in enumerate(map(str.strip, lines), number)
                if CODE.match(line) and line in gone and _is_mostly_new(line, words)
            ]  # fmt: skip
            if sign == "-" and len(lost) > 2:
                yield f"It leaves out lines {lost[0]} to {lost[-1]}."
            number += len(lines) * (sign != "+")


def _is_mostly_new(line: str, words: set[str]) -> bool:
    own = re.findall(r"\w+", line)
    return sum(word not in words for word in own) * 2 > len(own)


def _may_go(name: str, old: Outline, new: Outline, request: str, asked: str) -> bool:
    """Return whether a request explains that a definition is gone.

    A definition may go if the request names it and does not only add, if one that is like it
    stands in its place, or if removals or another shape are `asked` for, nothing uses it any
    more, and most of the others remain.
    """
    words, reshapes = {*re.findall(r"\w+", request)}, RESHAPES.search(asked)
    renames, removes = reshapes or RENAMES.search(asked), REMOVES.search(asked)
    is_verb = request.split()[:1] == [name]
    if name in words and not is_verb and (renames or removes or not ADDS.match(asked)):
        return True
    added = [other for other in new.definitions if other not in old.definitions]
    if any((other in words or renames) and _is_like(name, other, old, new) for other in added):
        return True
    if not (reshapes or removes) or TEXT_ONLY.search(asked):
        return False
    remaining = sum(other in new.definitions for other in old.definitions)
    is_record = reshapes and RECORDS.search(asked)
    remain = remaining >= min(REMAINING * len(old.definitions), 2)
    return name not in new.used and bool(remain or is_record)


def _is_like(name: str, other: str, old: Outline, new: Outline) -> bool:
    one, two = (
        Counter(re.findall(r"\w+", text))
        for text in (old.definitions[name][0], new.definitions[other][0])
    )
    return (one & two).total() >= LIKE * max(one.total(), two.total())


def _undefined(suffix: str, old: Outline, new: Outline) -> Iterator[str]:
    """Yield the names that are used, and that nothing defines any more, or yet."""
    is_open = any(re.search(r"\*;?$", statement) for statement in new.imports.values())
    script = suffix in (".jsx", ".ts", ".tsx")
    imported = NEEDS_IMPORT.get(".js" if script else suffix, "").split()
    for name, line in new.used.items():
        is_new = not is_open and name not in old.used and name not in old.bound
        is_missed = name in imported or (suffix == ".go" and name in new.qualifiers)
        if suffix == ".py":
            is_missed = not hasattr(builtins, name) and "__" not in name
        opened = re.sub(r"\w+(;?)$", r"*\1", old.imports.get(name, ""))
        is_old = name in old.bound and opened not in new.imports.values()
        if name not in new.bound and (is_old or (is_new and is_missed)):
            yield f"{name} is used in line {line}, and defined nowhere."


def _left_over(old: Outline, new: Outline, text: str, asked: str) -> Iterator[str]:
    """Yield definitions that are gone, and are used of an object that had them."""
    owner = r"[\w\])]" if RENAMES.search(asked) else r"\b(?:self|this|cls)"
    for name in old.definitions.keys() - new.definitions.keys() - new.bound:
        use = re.search(rf"{owner}(?:\.|->){re.escape(name)}\b(?!\s*=[^=])", text)
        if use and not re.search(rf"\b(?:self|this)\.{re.escape(name)}\s*[:=]", text):
            line = text.count("\n", 0, use.start()) + 1
            yield f"{name} is used in line {line}, and defined nowhere."


def _lost_imports(suffix: str, old: Outline, new: Outline, request: str) -> Iterator[str]:
    """Yield the imports that are gone, of those that are used without being named."""
    asked = re.search("(?i)import|include|unused", request)
    if not asked and not REMOVES.search(request):
        for name, statement in old.imports.items():
            is_indirect = name == statement or suffix == ".rs"  # of a trait, only methods are used
            gone = ({*old.used} - old.bound) | old.members
            is_explained = is_indirect and gone - {*new.used} - new.members
            if name not in {*new.imports, *old.used, *new.bound} and not is_explained:
                yield f"It loses {statement}."


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{', '.join(names[:LISTED])}{more}"


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
