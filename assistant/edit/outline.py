"""The definitions, imports and names of a source file, by the grammar of its language."""

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module

from tree_sitter import Language, Node, Parser

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
MEMBER_ROLES = ("attribute", "property", "field")
BINDS = {"name", "left", "pattern", "declarator", "parameter", "parameters", "alias"}
OUTLINED = re.compile(  # the beginning of a definition in a language without a grammar
    r"(?im)^[ \t]*(?:(?:\w+[ \t]+){0,3}(?:def|class|func|fun|fn|function|struct|module|record|sub|"
    r"proc|table|view|type|trait|object)[ \t]+(?:\w+[.:])*(\w+)[ \t]*(?=[({\[:=<]|$)|"
    r"(?!else|new|return|await)(?:[\w<>\[\]?]+[ \t]+){1,5}(\w+)\([^;\n]{0,300}\)\s*(?:\{|=>))"
)


@dataclass(slots=True)
class Outline:
    """The definitions, imports and names of a text."""

    error: int = 0  # the first line that does not parse, from 1
    reason: str = ""  # why it does not, where that is known
    definitions: dict[str, list[str]] = field(default_factory=dict)  # texts by last name
    imports: dict[str, str] = field(default_factory=dict)  # statements by the name they import
    bound: set[str] = field(default_factory=set)  # names that are defined or assigned anywhere
    used: dict[str, int] = field(default_factory=dict)  # names in expressions, with their line
    qualifiers: set[str] = field(default_factory=set)  # names before a dot
    members: set[str] = field(default_factory=set)  # names after one
    heading: str = ""  # the docstring or comment at the beginning


def outline(suffix: str, text: str) -> Outline:
    """Return the outline of a text; without a grammar, only what looks like a definition."""
    language, _, variant = GRAMMARS.get(suffix, "").partition(".")
    if not language:
        return _without_grammar(text)
    module = import_module(f"tree_sitter_{language}")
    grammar = getattr(module, f"language_{variant}" if variant else "language")()
    root = Parser(Language(grammar)).parse(text.encode(errors="replace")).root_node
    result = Outline(heading=_heading(root))
    nodes = [(root, "", False)]
    while nodes:
        node, role, is_bound = nodes.pop()
        if (node.is_error or node.is_missing) and not result.error:
            result.error = node.start_point.row + 1
        if IMPORTS.match(node.type):
            _add_import(node, result)
            continue
        if NAMES.search(node.type):
            _add_name(node, role, is_bound, result)
            continue
        if name := _defined_name(node):
            result.definitions.setdefault(name, []).append(_text(node))
            result.bound.add(name)
        for child, of_child in reversed(_children(node)):
            binds = of_child in BINDS or "parameter" in node.type or "pattern" in node.type
            binds = (binds or (is_bound and not of_child)) and "augmented" not in node.type
            of_child = "qualifier" if node.type == "selector_expression" else of_child
            nodes.append((child, of_child, binds and of_child not in ("type", "value")))
    if suffix in (".py", ".pyi"):
        result.error, result.reason = _python_error(text)
    return result


def _without_grammar(text: str) -> Outline:
    heads = [*OUTLINED.finditer(text)]
    result = Outline()
    for head, following in zip(heads, [*heads[1:], None], strict=False):
        body = text[head.start() : following.start() if following else None]
        result.definitions.setdefault(head[1] or head[2], []).append(body)
    names = {head.end(head.lastindex or 0) for head in heads}
    for call in re.finditer(r"\b\w+(?=\()", text):  # \b: or long words take quadratic time
        if call.end() not in names:
            result.used.setdefault(call[0], text.count("\n", 0, call.start()) + 1)
    result.bound |= result.definitions.keys()
    return result


def _python_error(text: str) -> tuple[int, str]:
    """Return the line and message of a syntax error of this Python, which sees more errors."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.lineno or 1, f" ({error.msg})"
    except (ValueError, RecursionError, MemoryError):
        return 1, ""
    return 0, ""


def _add_import(node: Node, result: Outline) -> None:
    statement, names = " ".join(_text(node).split()), set[str]()
    for part in _leaves(node):
        is_path = part.type in ("interpreted_string_literal_content", "interpreted_string_literal")
        if NAMES.search(part.type) or is_path:
            names.add(_text(part).strip('"').rpartition("/")[2])
    for name in names or {statement}:
        result.imports[name] = statement
    result.bound |= names


def _leaves(node: Node) -> Iterator[Node]:
    """Yield the leaves of a node, without the module name of Python's `from`."""
    waiting = [node]
    while waiting:
        children = [child for child, role in _children(waiting.pop()) if role != "module_name"]
        yield from (child for child in children if not child.child_count)
        waiting += (child for child in reversed(children) if child.child_count)


def _children(node: Node) -> list[tuple[Node, str]]:
    """Return the children of a node with their roles; a cursor avoids quadratic time."""
    cursor, children = node.walk(), list[tuple[Node, str]]()
    is_there = cursor.goto_first_child()
    while is_there and cursor.node:
        children.append((cursor.node, cursor.field_name or ""))
        is_there = cursor.goto_next_sibling()
    return children


def _add_name(node: Node, role: str, is_bound: bool, result: Outline) -> None:
    name = _text(node)
    if role in MEMBER_ROLES or node.type in ("field_identifier", "property_identifier"):
        result.members.add(name)
    elif is_bound:
        result.bound.add(name)
    else:
        result.used.setdefault(name, node.start_point.row + 1)
        if role == "qualifier":
            result.qualifiers.add(name)


def _defined_name(node: Node) -> str:
    """Return the last name of the definition that a node is; empty if it is none."""
    if not node.is_named or not DEFINES.search(node.type):
        return ""
    if node.type.endswith("_specifier") and not node.child_by_field_name("body"):
        return ""  # a use of a struct in C looks the same
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
    if "comment" in kind:
        return "comment"
    return "docstring" if kind == "string" else ""


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
