"""Review a new version of a file: the damage and the losses beyond the request."""

import builtins
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from assistant.edit.comparison import opcodes
from assistant.edit.outline import Outline, outline

WISHES = Path(__file__).with_name("wishes.txt").read_text("utf-8").split("\n\n")
REMOVES, RESHAPES, SHORTENS, RENAMES, ADDS, RECORDS, TEXT_ONLY = (
    re.compile(words, re.VERBOSE) for words in WISHES
)
CODE = re.compile(r"(?!#|//|/\*|\*|--|\W*$)")  # begins neither a comment nor only brackets
NEEDS_IMPORT = {  # what means nothing without an import, where others may stand in other files
    ".java": "List ArrayList Map HashMap Set HashSet Arrays Collections Optional Objects "
    "Collectors Stream Scanner Random Deque ArrayDeque IOException Path Files Instant Duration",
    ".rs": "HashMap HashSet BTreeMap BTreeSet VecDeque Arc Rc RefCell Mutex RwLock PathBuf File",
    ".js": "useState useEffect useMemo useCallback useRef useReducer useContext",
}
PROSE = ("", ".md", ".markdown", ".mdx", ".txt", ".rst", ".csv", ".tsv", ".log")
LIKE, REMAINING, LISTED, MANY = 0.5, 0.4, 5, 10
"""The share of its words that a renamed definition has in common with the old one, the share of
definitions that remain after a removal, the names in a sentence, and lost lines that are many."""


def review(
    suffix: str, old: str, new: str, request: str, end: int = 0, fewest: int = 3
) -> tuple[str, ...]:
    """Return a sentence for each fault and loss of a new version that a request does not name.

    The suffix of the file's name says in which language it is, and `end` how many lines stand up to
    the end of the part that was rewritten, if it is not the file's.
    """
    suffix = suffix.lower()
    runs = lines_left_out(suffix, old, new, request, end, fewest)
    numbers = (f"lines {a} to {b}" if b > a else f"line {b}" for a, b in runs)
    left_out = [f"It leaves out {lines}." for lines in numbers]
    if suffix in PROSE:
        return tuple(left_out)
    before, after = outline(suffix, old), outline(suffix, new)
    problems = list[str]()
    if not before.error and after.error:
        line = new.split("\n")[after.error - 1].strip()
        fails = "no longer parses" if old else "does not parse"
        problems.append(f"It {fails}, from line {after.error}{after.reason}: {line}")
    wish = _wish(request, before, after)
    lost = [
        name for name in _losses(before, after) if not _may_go(name, before, after, request, wish)
    ]
    if lost:
        more = f" and {len(lost) - LISTED} more" if len(lost) > LISTED else ""
        problems.append(f"It loses {', '.join(lost[:LISTED])}{more}.")
    else:
        problems += left_out
    if not before.error and not after.error:
        problems += _undefined_names(suffix, before, after)
        problems += _left_over(before, after, new, wish)
        problems += _lost_imports(suffix, before, after, request)
    if before.heading and not after.heading and not re.search("(?i)doc|comment|head", request):
        problems.append(f"It loses the {before.heading} that the file begins with.")
    return tuple(dict.fromkeys(problems))


def _losses(old: Outline, new: Outline) -> list[str]:
    """Return the definitions that are missing, without those inside another missing one."""
    lost = [
        n for n, texts in old.definitions.items() if len(new.definitions.get(n, ())) < len(texts)
    ]
    outer = [text for name in lost if name not in new.definitions for text in old.definitions[name]]
    return [
        name for name in lost
        if not any(old.definitions[name][0] in text != old.definitions[name][0] for text in outer)
    ]  # fmt: skip


def _wish(request: str, *outlines: Outline) -> str:
    """Return a request without the names of definitions, which may look like verbs."""
    first, *others = re.findall(r"\w+|\W+", request) or [""]
    names = {name for outline in outlines for name in outline.definitions}
    return "".join([first, *(word for word in others if word not in names)])


def lines_left_out(
    suffix: str, old: str, new: str, wish: str, end: int = 0, fewest: int = 3
) -> Iterator[tuple[int, int]]:
    """Yield the numbers of lines that are gone unasked, and that nothing similar replaces.

    Three are enough if the wish adds something, or if nothing replaces them at an end of the file
    or part, since models stop early, or `fewest` if none is new, as in excerpts; else more than
    `MANY`, and four for each line in their place.
    """
    if any(verb.search(wish) for verb in (REMOVES, RESHAPES, SHORTENS)) or not new.strip():
        return
    adds = ADDS.match(wish) and not RENAMES.search(wish)
    begins = re.compile(r".*\w") if suffix in PROSE else CODE
    before, after = (text.rstrip("\n").split("\n") for text in (old, new))
    there, here = (Counter(filter(None, map(str.strip, lines))) for lines in (before, after))
    gone = there - here
    enough = 3 if here - there or gone.total() < 2 else fewest
    for tag, a, a_end, b, b_end in opcodes(before, after):
        words = {*re.findall(r"\w+", " ".join(after[b:b_end]))}
        lost = [
            number for number, line in enumerate(map(str.strip, before[a:a_end]), a + 1)
            if begins.match(line) and line in gone and _is_mostly_new(line, words)
        ]  # fmt: skip
        is_cut = b == b_end and (a == 0 or a_end in (end, len(before)))
        is_many = len(lost) > max(MANY, 4 * (b_end - b))
        if tag != "equal" and len(lost) >= enough and (adds or is_cut or is_many):
            yield lost[0], lost[-1]


def _is_mostly_new(line: str, words: set[str]) -> bool:
    own = re.findall(r"\w+", line)
    return sum(word not in words for word in own) * 2 > len(own)


def _may_go(name: str, old: Outline, new: Outline, request: str, wish: str) -> bool:
    """Return whether a request explains that a definition is gone.

    A definition may go if the request names it and does not only add, if one that is like it
    stands in its place, or if the `wish` is a removal or another shape, nothing uses it any more,
    and most of the others remain.
    """
    words = {*re.findall(r"\w+", request)}
    removes, reshapes = REMOVES.search(wish), RESHAPES.search(wish)
    renames = reshapes or RENAMES.search(wish)
    is_named = name in words and request.split()[0] != name  # there it is a verb
    if is_named and (renames or removes or not ADDS.match(wish)):
        return True
    added = new.definitions.keys() - old.definitions.keys()
    if any((other in words or renames) and _is_like(name, other, old, new) for other in added):
        return True
    if not (reshapes or removes) or TEXT_ONLY.search(wish) or name in new.used:
        return False
    remaining = len(old.definitions.keys() & new.definitions.keys())
    most_remain = remaining >= min(REMAINING * len(old.definitions), 2)
    return most_remain or bool(reshapes and RECORDS.search(wish))


def _is_like(name: str, other: str, old: Outline, new: Outline) -> bool:
    texts = old.definitions[name][0], new.definitions[other][0]
    one, two = (Counter(re.findall(r"\w+", text)) for text in texts)
    return (one & two).total() >= LIKE * max(one.total(), two.total())


def _undefined_names(suffix: str, old: Outline, new: Outline) -> Iterator[str]:
    """Yield the names that are used and not defined: no longer, or not yet."""
    statements = new.imports.values()
    imports_all = any(re.search(r"\*;?$", statement) for statement in statements)
    is_script = suffix in (".jsx", ".ts", ".tsx")
    imported = NEEDS_IMPORT.get(".js" if is_script else suffix, "").split()
    for name, line in new.used.items():
        if name in new.bound:
            continue
        if name in old.bound:
            with_others = re.sub(r"\w+(;?)$", r"*\1", old.imports.get(name, ""))
            is_missing = with_others not in statements
        elif name in old.used or imports_all:
            is_missing = False
        elif suffix == ".py":
            is_missing = not hasattr(builtins, name) and "__" not in name
        else:
            is_missing = name in imported or (suffix == ".go" and name in new.qualifiers)
        if is_missing:
            yield f"{name} is used in line {line}, and defined nowhere."


def _left_over(old: Outline, new: Outline, text: str, wish: str) -> Iterator[str]:
    """Yield definitions that are gone and still used as members of an object."""
    owner = r"[\w\])]" if RENAMES.search(wish) else r"\b(?:self|this|cls)"
    for name in old.definitions.keys() - new.definitions.keys() - new.bound:
        use = re.search(rf"{owner}(?:\.|->){re.escape(name)}\b(?!\s*=[^=])", text)
        if use and not re.search(rf"\b(?:self|this)\.{re.escape(name)}\s*[:=]", text):
            line = text.count("\n", 0, use.start()) + 1
            yield f"{name} is used in line {line}, and defined nowhere."


def _lost_imports(suffix: str, old: Outline, new: Outline, request: str) -> Iterator[str]:
    """Yield the imports that are gone although they may be used indirectly."""
    if re.search("(?i)import|include|unused", request) or REMOVES.search(request):
        return
    uses = ({*old.used} - old.bound) | old.members
    has_fewer_uses = not uses <= {*new.used} | new.members
    for name, statement in old.imports.items():
        is_indirect = name == statement or suffix == ".rs"  # of a trait, only methods are used
        is_needless = is_indirect and has_fewer_uses
        if name not in {*new.imports, *old.used, *new.bound} and not is_needless:
            yield f"It loses {statement.rstrip(';')}."
