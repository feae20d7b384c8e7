"""What a statement holds, by its syntax alone: call sites, functions, names used. Kept by tree."""

from __future__ import annotations

import ast
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from ..source.children import children
from ..source.statements import Statement

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_SITE_NAMES: Final = frozenset({"emit_pipeline", "core_map"})
_OF_PALLAS_CALL: Final = frozenset({"grid_spec", "grid", "in_specs", "out_specs", "scratch_shapes"})


@dataclass(frozen=True, slots=True, eq=False)
class EntryFunction:
    """A function that nothing encloses but classes: what can be evaluated on its own."""

    node: FunctionNode
    qualified_name: str
    classes: tuple[str, ...]
    holds_site: bool
    names: frozenset[str]
    given_numbers: frozenset[str]
    """The functions that it calls with a number written in the call."""
    forwards: bool = False
    """It hands on its own arguments, the kernel among them: ``pl.pallas_call(*args, **kwargs)``."""

    @property
    def required_parameters(self) -> int:
        """How many positional parameters have no default (``self`` not counted)."""
        arguments = self.node.args
        positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
        keyword_only = sum(1 for default in arguments.kw_defaults if default is None)
        return max(0, positional - (1 if self.classes else 0)) + keyword_only

    def gives_known_arguments(self, callees: AbstractSet[str]) -> bool:
        """Whether it may call one of ``callees`` with arguments that are known whatever it is given itself."""
        return self.required_parameters == 0 or bool(self.given_numbers & callees)


@dataclass(frozen=True, slots=True, eq=False)
class Lexical:
    """The outline of one statement."""

    functions: tuple[EntryFunction, ...]
    loose_site: bool
    """A call site stands outside every function."""
    names: frozenset[str]
    site_holders: frozenset[int]
    """``id`` of every function node that has a call site inside."""


def outline(statement: Statement) -> Lexical:
    """The outline of ``statement``, made once."""
    cached = _OUTLINES.get(statement)
    if cached is None:
        cached = _outline(statement.tree)
        _OUTLINES[statement] = cached
    return cached


# Statements never change, so that this only saves time; it goes with the statements.
_OUTLINES: WeakKeyDictionary[Statement, Lexical] = WeakKeyDictionary()


def only_defines(statement: Statement) -> bool:
    """Whether a statement outside functions binds names and calls nothing."""
    return all(isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef) for node in statement.tree)


class _Walk:
    def __init__(self) -> None:
        self.functions: list[EntryFunction] = []
        self.site_holders: set[int] = set()
        self.loose_site = False
        self.names: set[str] = set()
        self.given_numbers: set[str] = set()
        self.forwards = False

    def found_site(self, enclosing: tuple[ast.AST, ...]) -> None:
        self.site_holders.update(map(id, enclosing))
        if not enclosing:
            self.loose_site = True

    def visit(self, node: ast.AST, classes: tuple[str, ...], enclosing: tuple[ast.AST, ...]) -> None:
        # The commonest kinds come first: every node of every file goes through here.
        if isinstance(node, ast.Name):
            self.names.add(node.id)
            if _is_site(node):
                self.found_site(enclosing)
            return
        if isinstance(node, ast.Attribute):
            self.names.add(node.attr)
            if _is_site(node):
                self.found_site(enclosing)
            self.visit(node.value, classes, enclosing)
            return
        if isinstance(node, ast.Call):
            self._note_call(node, enclosing)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if not enclosing:
                self._note_function(node, classes)
                return
            enclosing = (*enclosing, node)
        elif isinstance(node, ast.Lambda):
            enclosing = (*enclosing, node)
        elif isinstance(node, ast.ClassDef) and not enclosing:
            classes = (*classes, node.name)
        for child in children(node):
            self.visit(child, classes, enclosing)

    def _note_call(self, node: ast.Call, enclosing: tuple[ast.AST, ...]) -> None:
        if _passes_number(node):
            self.given_numbers.add(called_name(node.func))
        if node.keywords and wrapped_form({keyword.arg or "" for keyword in node.keywords}):
            self.found_site(enclosing)
        if node.args and isinstance(node.args[0], ast.Starred) and _is_site(node.func):
            self.forwards = True

    def _note_function(self, node: FunctionNode, classes: tuple[str, ...]) -> None:
        outer = self.names
        self.names = set()
        self.given_numbers = set()
        self.forwards = False
        for child in children(node):
            self.visit(child, classes, (node,))
        names = frozenset(self.names)
        self.names = outer | names
        qualified = ".".join((*classes, node.name))
        holds_site = id(node) in self.site_holders
        numbers = frozenset(self.given_numbers)
        self.functions.append(EntryFunction(node, qualified, classes, holds_site, names, numbers, self.forwards))


def wrapped_form(keywords: AbstractSet[str]) -> str | None:
    """The form of kernel call whose keywords these are, None where they are not those of one."""
    if "out_type" in keywords and "mesh" in keywords:
        return "kernel"
    if "grid_spec" in keywords or ("out_shape" in keywords and keywords & _OF_PALLAS_CALL):
        return "pallas_call"
    return None


def _is_site(node: ast.AST) -> bool:
    """A mention of a function that starts kernels."""
    if isinstance(node, ast.Attribute):
        return _names_site(node.attr) or (
            node.attr == "kernel"
            and isinstance(node.value, ast.Name)
            and node.value.id in ("pl", "pallas", "plsc", "pltpu")
        )
    return isinstance(node, ast.Name) and _names_site(node.id) and isinstance(node.ctx, ast.Load)


def _names_site(name: str) -> bool:
    """Wrappers of ``pallas_call`` are called like it: ``pallas_call_compat``, ``buffered_pallas_call``."""
    return name in _SITE_NAMES or "pallas_call" in name


def _outline(tree: tuple[ast.stmt, ...]) -> Lexical:
    walk = _Walk()
    for node in tree:
        walk.visit(node, (), ())
    return Lexical(
        tuple(walk.functions),
        walk.loose_site,
        frozenset(walk.names),
        frozenset(walk.site_holders),
    )


def is_generator(node: FunctionNode) -> bool:
    """Whether the function itself (not one inside it) yields."""
    cached = _GENERATORS.get(node)
    if cached is None:
        cached = _yields(node)
        _GENERATORS[node] = cached
    return cached


_GENERATORS: WeakKeyDictionary[FunctionNode, bool] = WeakKeyDictionary()


def _yields(node: FunctionNode) -> bool:
    queue: list[ast.AST] = list(node.body)
    while queue:
        current = queue.pop()
        if isinstance(current, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(current, FunctionNode | ast.Lambda | ast.ClassDef):
            queue.extend(children(current))
    return False


def _passes_number(node: ast.Call) -> bool:
    for one in (*node.args, *[keyword.value for keyword in node.keywords]):
        if isinstance(one, ast.Constant):
            if one.value.__class__ in _NUMBERS:
                return True
        elif isinstance(one, _SEQUENCES):
            for item in one.elts:
                if isinstance(item, ast.Constant) and item.value.__class__ in _NUMBERS:
                    return True
    return False


_NUMBERS: Final = frozenset({int, float})
_SEQUENCES: Final = (ast.Tuple, ast.List)


def called_name(node: ast.expr) -> str:
    """The last part of the name that a call names; "" where it names none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def stored_attributes(node: ast.ClassDef) -> tuple[str, ...]:
    """The attributes that methods of a class set on their first parameter, ``self`` by custom."""
    names: dict[str, None] = {}
    for method in node.body:
        if not isinstance(method, FunctionNode) or not (method.args.posonlyargs or method.args.args):
            continue
        first = (*method.args.posonlyargs, *method.args.args)[0].arg
        for part in ast.walk(method):
            match part:
                case ast.Attribute(value=ast.Name(id=owner), attr=name, ctx=ast.Store()) if owner == first:
                    names[name] = None
    return tuple(names)
