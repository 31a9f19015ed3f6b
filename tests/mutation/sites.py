"""Where the source can be changed a little, which of these places are drawn, and a tree that holds all mutants."""

from __future__ import annotations

import ast
import copy
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

#: The rooms that hold what the framework computes.
ROOMS = ("fit", "formula", "projection", "scenarios", "evaluation", "tables")
#: So many mutants of one kind in a room at most: numbers and comparisons alone would fill the sample.
MAX_OF_KIND = {"return": 1}
MAX_OF_OTHER_KINDS = 3

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_PAIRS = (
    ("min", "max"), ("minimum", "maximum"), ("fmin", "fmax"), ("nanmin", "nanmax"), ("argmin", "argmax"),
    ("any", "all"), ("floor", "ceil"),
)  # fmt: skip
OPPOSITES = dict(_PAIRS) | {b: a for a, b in _PAIRS}
#: Arguments that decide where a warning points to, how much is remembered: no answer depends on them.
WITHOUT_EFFECT = ("stacklevel", "maxsize")


@dataclass(frozen=True)
class Site:
    """A place in a file and what stands there in the mutant; columns count bytes, as those of `ast` do."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    original: str
    mutated: str
    where: str  #: the function or class around it, dotted
    text: str  #: its first line
    nth: int  #: of the places of which all this is the same
    at_import: bool  #: evaluated when the module is imported, not when a function is called

    @property
    def room(self) -> str:
        """The room of the framework it stands in."""
        return Path(self.path).parts[1]

    @property
    def key(self) -> tuple[Any, ...]:
        """What is the same in another version of the file, where only other lines changed."""
        indent = len(self.text) - len(self.text.lstrip())
        return self.path, self.where, self.text.strip(), self.column - indent, self.kind, self.mutated, self.nth

    def overlaps(self, other: Site) -> bool:
        """Whether both change the same text."""
        ends = (self.end_line, self.end_column), (other.end_line, other.end_column)
        begins = (self.line, self.column), (other.line, other.column)
        return self.path == other.path and begins[0] < ends[1] and begins[1] < ends[0]

    def json(self) -> dict[str, Any]:
        """Return its fields."""
        return asdict(self)


# --- what can be changed ----------------------------------------------------------------------------------------------


def _text(node: ast.AST, **changes: object) -> str:
    """Return the source of the node, changed so."""
    changed = copy.copy(node)
    for name, value in changes.items():
        setattr(changed, name, value)
    return ast.unparse(changed)


def _number(value: float) -> str:
    """Return another number."""
    if isinstance(value, bool):
        return str(not value)
    return repr(value + 1 if isinstance(value, int) else value * 2 or 1.0)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _is_sequence(node: ast.AST) -> bool:
    """Whether a sum or multiple of it is text or a list, not a number."""
    text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return text or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp)


def _of_expression(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    """Yield the kind, the node that is replaced and the text that replaces it."""
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                yield "comparison", node, _text(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        if not (_is_sequence(node.left) or _is_sequence(node.right)):
            yield "arithmetic", node, _text(node, op=OPERATORS[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield "logic", node, _text(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Not):
            yield "negation", node, ast.unparse(node.operand)
        elif isinstance(node.op, ast.USub) and _is_number(node.operand):
            yield "number", node, f"-{_number(node.operand.value)}"  # type: ignore[attr-defined]
        elif isinstance(node.op, ast.USub):
            yield "arithmetic", node, ast.unparse(node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield "truth" if isinstance(node.value, bool) else "number", node, _number(node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OPPOSITES:
        yield "extremum", node.func, OPPOSITES[node.func.id]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in OPPOSITES:
        yield "extremum", node.func, _text(node.func, attr=OPPOSITES[node.func.attr])
    elif isinstance(node, ast.Slice):
        for bound, by in ((node.lower, "+"), (node.upper, "-")):
            if bound is not None and not _is_number(bound) and not isinstance(bound, ast.UnaryOp):
                yield "slice", bound, f"({ast.unparse(bound)}) {by} 1"
    if isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.UnaryOp):
        yield "negation", node.test, f"not ({ast.unparse(node.test)})"
    if isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield "negation", test, f"not ({ast.unparse(test)})"
    if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield "return", node.value, "None"


def _is_effect(node: ast.stmt) -> bool:
    """Whether the statement can be left out, and what follows still has its names."""
    if isinstance(node, ast.Assign):
        return len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    return isinstance(node, ast.Raise | ast.AugAssign) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    )


def _called(node: ast.AST) -> str:
    """Return the name of the function that is called, if one is."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2]
    return ""


class _Reader:
    """Reads one file and collects what can be changed in it."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.lines = path, source.encode().split(b"\n")
        self.found: list[Site] = []
        self._same: Counter[tuple[Any, ...]] = Counter()

    def add(self, kind: str, node: Any, mutated: str, where: str, within: bool) -> None:
        """Add a place: this node, replaced by this text (none: the statement is left out)."""
        span = self.lines[node.lineno - 1 : node.end_lineno]
        span[-1] = span[-1][: node.end_col_offset]
        span[0] = span[0][node.col_offset :]
        original = b"\n".join(span).decode()
        text = self.lines[node.lineno - 1].decode()
        key = where, text.strip(), node.col_offset, kind, mutated
        self.found.append(
            Site(
                self.path, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, kind, original,
                mutated, where, text, self._same[key], not within,
            )
        )  # fmt: skip
        self._same[key] += 1

    def starts_and_ends_its_lines(self, node: ast.stmt) -> bool:
        """Whether the statement has its lines for itself."""
        before = self.lines[node.lineno - 1][: node.col_offset]
        after = self.lines[(node.end_lineno or 0) - 1][node.end_col_offset :].strip()
        return not before.strip() and (not after or after.startswith(b"#"))

    def visit(self, node: ast.AST, where: str = "", within: bool = False, types: bool = False) -> None:
        """Collect from a node and what is in it; `within` a function, or where `types` are written with ``|``."""
        if isinstance(node, ast.JoinedStr | ast.pattern):
            return  # text, and what has no place of its own before Python 3.12
        if isinstance(node, ast.stmt) and within and _is_effect(node) and self.starts_and_ends_its_lines(node):
            self.add("statement", node, "", where, within)
        if isinstance(node, ast.Raise | ast.Assert):
            return  # the rest is a message
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    self.visit(default, where, within)
            name = getattr(node, "name", "<lambda>")
            for child in node.body if isinstance(node.body, list) else [node.body]:
                self.visit(child, f"{where}.{name}".lstrip("."), True)
            return
        if isinstance(node, ast.ClassDef):
            for child in node.body:
                self.visit(child, f"{where}.{node.name}".lstrip("."), within)
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.visit(node.value, where, within)
            return
        if isinstance(node, ast.Assign) and any(ast.unparse(t) in ("__all__", "__slots__") for t in node.targets):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.keyword) and node.arg in WITHOUT_EFFECT:
            return
        types = types or _called(node) in ("isinstance", "issubclass", "cast", "TypeVar")
        union = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and (types or not within)
        if not union:
            for kind, place, mutated in _of_expression(node):
                self.add(kind, place, mutated, where, within)
        if not (isinstance(node, ast.UnaryOp) and _is_number(node.operand)):
            for child in ast.iter_child_nodes(node):
                self.visit(child, where, within, types)


def places(path: str, source: str) -> list[Site]:
    """Return what can be changed in a file, in the order of its lines."""
    reader = _Reader(path, source)
    reader.visit(ast.parse(source))
    return sorted(reader.found, key=lambda s: (s.line, s.column, s.kind, s.mutated))


def places_of(tree: Path, room: str) -> list[Site]:
    """Return what can be changed in the files of a room."""
    files = sorted((tree / "forecast" / room).rglob("*.py"))
    return [s for p in files for s in places(p.relative_to(tree).as_posix(), p.read_text(encoding="utf-8"))]


# --- a sample ---------------------------------------------------------------------------------------------------------


def sample(tree: Path, seed: int, each: int, rooms: Iterable[str] = ROOMS) -> list[Site]:
    """Draw so many places of each room, none of which overlap; a room's do not depend on the other rooms."""
    drawn: list[Site] = []
    for room in rooms:
        here: list[Site] = []
        kinds: Counter[str] = Counter()
        candidates = places_of(tree, room)
        random.Random(f"{seed} {room}").shuffle(candidates)
        for site in candidates:
            if len(here) == each:
                break
            if kinds[site.kind] < MAX_OF_KIND.get(site.kind, MAX_OF_OTHER_KINDS) and not any(map(site.overlaps, here)):
                here.append(site)
                kinds[site.kind] += 1
        drawn += sorted(here, key=lambda s: (s.path, s.line, s.column))
    return drawn


def found_again(tree: Path, sites: Iterable[Site]) -> list[Site | None]:
    """Return the same places in another version of the tree; none where their line is another there."""
    sites = list(sites)
    known = {s.key: s for room in {s.room for s in sites} for s in places_of(tree, room)}
    return [known.get(s.key) for s in sites]


# --- the mutants ------------------------------------------------------------------------------------------------------


def mutated(source: str, site: Site) -> str:
    """Return the source of a file with this one change."""
    lines = source.encode().split(b"\n")
    before = lines[site.line - 1][: site.column]
    after = lines[site.end_line - 1][site.end_column :]
    text = f"({site.mutated})" if site.mutated else "pass"
    lines[site.line - 1 : site.end_line] = [before + text.encode() + after]
    return b"\n".join(lines).decode()


def with_all(source: str, sites: Iterable[tuple[int, Site]], probe: str) -> str:
    """Return the source of a file in which each place asks the probe by its number which variant counts.

    No line moves: the probe is imported behind the statement that has to come first.
    """
    lines = source.encode().split(b"\n")
    inserted: list[tuple[int, int, str]] = []
    for number, site in sites:
        if site.mutated:
            inserted.append((site.line, site.column, f"(({site.mutated}) if _mutant_({number}) else "))
            inserted.append((site.end_line, site.end_column, ")"))
        else:
            inserted.append((site.line, site.column, f"if not _mutant_({number}): "))
    body = ast.parse(source).body
    first = [n for n in body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    first = first or [n for n in body[:1] if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    ask = f"from {probe} import is_active as _mutant_"
    if first:
        inserted.append((first[-1].end_lineno or 0, first[-1].end_col_offset or 0, f"; {ask}"))
    else:
        inserted.append((1, 0, f"{ask}; "))
    for line, column, text in sorted(inserted, reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[:column] + text.encode() + old[column:]
    return b"\n".join(lines).decode()


def write_all(tree: Path, sites: Iterable[tuple[int, Site]], probe: str) -> None:
    """Put all these mutants into the files of a tree, asleep."""
    files: dict[str, list[tuple[int, Site]]] = defaultdict(list)
    for number, site in sites:
        files[site.path].append((number, site))
    for name, here in files.items():
        path = tree / name
        path.write_text(with_all(path.read_text(encoding="utf-8"), here, probe), encoding="utf-8")
