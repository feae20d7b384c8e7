"""The names of a file, each evaluated when first asked for and kept while its text stays."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol
from weakref import WeakKeyDictionary

from ..source.children import children
from ..source.document import Document
from ..source.statements import Statement
from . import outside, statements
from .machine import Frame, Machine, OutOfBudget
from .packages import NotRead
from .values import MISSING, External, Function, ModuleValue, Opaque, Scope, Value

Reads = dict[tuple[str, str], tuple[str, ...]]
"""(module, name) -> what bound it when it was read: anchors of statements, or the signature of a function.

A name that begins with a NUL is an anchor: that statement was read as a whole. The module ``IMPORT`` stands for
the imports: their names are "LEVEL NUL MODULE NUL FOLDER", and what bound them is the file that they led to.
"""

IMPORT: Final = "\0import"


class Modules(Protocol):
    """Where the modules are that a module imports."""

    def still_holds(self, reads: Reads, *, exactly: bool = False) -> bool:
        """Whether every name in ``reads`` is still bound by the same text."""

    def resolve(self, dotted: str, level: int, folder: str) -> Module | None:
        """The module that an import in a file of ``folder`` names; None where it cannot be read."""

    def why_not_read(self, dotted: str, level: int, folder: str) -> str:
        """Why a module of the user's environment is not known; "" for one that is, and for one that is not there."""

    def definition(self, module: str, name: str) -> tuple[Module, str] | NotRead | None:
        """Where a name is defined that ``module``, of the user's environment, has from elsewhere."""

    def import_fingerprint(self, dotted: str, level: int, folder: str) -> tuple[str, ...]:
        """What such an import leads to now; empty where that cannot change."""


@dataclass(slots=True, eq=False)
class _Evaluated:
    variables: dict[str, Value]
    reads: Reads
    exact_reads: Reads


@dataclass(slots=True, eq=False)
class Module:
    """One file as the evaluator sees it. ``update`` gives it a newer text; what did not change is kept."""

    key: str
    anchor_prefix: str
    document: Document
    workspace: Modules
    scope: Scope = field(init=False)
    _binders: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _positions: dict[str, int] = field(default_factory=dict)
    _star_imports: tuple[int, ...] = ()
    _evaluated: dict[str, _Evaluated] = field(default_factory=dict)
    _in_progress: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.scope = Scope({}, None, self)
        self._index()

    def update(self, document: Document) -> None:
        """Go on with a newer version of the file."""
        if document is self.document:
            return
        self.document = document
        self._index()
        self._evaluated = {anchor: kept for anchor, kept in self._evaluated.items() if anchor in self._positions}

    def _index(self) -> None:
        binders: dict[str, list[int]] = {}
        stars: list[int] = []
        self._positions = {}
        for index, statement in enumerate(self.document.statements):
            self._positions[statement.anchor] = index
            for name in bound_names(statement):
                if name == "*":
                    stars.append(index)
                else:
                    binders.setdefault(name, []).append(index)
        self._binders = {name: tuple(indices) for name, indices in binders.items()}
        self._star_imports = tuple(stars)

    def fingerprint(self, name: str) -> tuple[str, ...]:
        """What binds ``name`` now, of a function its signature alone; equal fingerprints mean equal text."""
        if name.startswith("\0"):
            anchor, _, bound = name[1:].partition("\0")
            if bound:
                return (str(self._seen_from(self._binders.get(bound, ()), anchor)),)
            return (name,) if anchor in self._positions else ()
        statements = self.document.statements
        found = self._binders.get(name, self._star_imports)
        return tuple([_signature(statements[index]) for index in found])

    def exact_fingerprint(self, name: str) -> tuple[str, ...]:
        """What binds ``name`` now; changed by every edit of it."""
        if name.startswith("\0"):
            return self.fingerprint(name)
        statements = self.document.statements
        found = self._binders.get(name, self._star_imports)
        return tuple([statements[index].anchor for index in found])

    def read_text(self, anchor: str, machine: Machine) -> None:
        """Note that the outcome depends on the whole statement at ``anchor``."""
        name = "\0" + anchor.removeprefix(self.anchor_prefix)
        machine.reads[(self.key, name)] = (name,)

    def name_of(self, function: Function) -> str | None:
        """The module-level name of ``function``; None where it is a method or stands inside another function."""
        if isinstance(function.node, ast.Lambda) or function.is_bound:
            return None
        position = self._positions.get(function.anchor.removeprefix(self.anchor_prefix))
        if position is None or function.node not in self.document.statements[position].tree:
            return None
        return function.node.name

    def look_up(self, name: str, machine: Machine) -> Value:
        """The value of the module-level ``name``; MISSING where nothing binds it."""
        place = (self.key, name)
        if place in machine.reads and (known := machine.looked_up.get((id(self), name), MISSING)) is not MISSING:
            return known
        machine.reads[place] = self.fingerprint(name)
        machine.exact_reads[place] = self.exact_fingerprint(name)
        indices = self._binders.get(name)
        if indices is None:
            return self._from_star_import(name, machine)
        if len(indices) == 1:
            value = machine.looked_up[(id(self), name)] = self._value_at(indices[0], name, machine)
            return value
        reader = machine.stack[-1].anchor if machine.stack else machine.statement_anchor
        anchor = (reader or "").removeprefix(self.anchor_prefix)
        # The outcome also hangs on where the reader stands among the bindings.
        seen = f"\0{anchor}\0{name}"
        machine.reads[(self.key, seen)] = machine.exact_reads[(self.key, seen)] = self.fingerprint(seen)
        return self._value_at(indices[self._seen_from(indices, anchor)], name, machine)

    def _seen_from(self, indices: tuple[int, ...], anchor: str) -> int:
        """Which of several bindings the statement ``anchor`` reads: the last above it, or the last of all."""
        position = self._positions.get(anchor)
        above = [number for number, index in enumerate(indices) if position is None or index < position]
        return above[-1] if above else len(indices) - 1

    def _from_star_import(self, name: str, machine: Machine) -> Value:
        for index in reversed(self._star_imports):
            for node in self.document.statements[index].tree:
                if isinstance(node, ast.ImportFrom):
                    source = self._resolve(node.module, node.level, machine)
                    if source is not None:
                        value = source.look_up(name, machine)
                        if value is not MISSING:
                            return value
        return MISSING

    def _value_at(self, index: int, name: str, machine: Machine) -> Value:
        statement = self.document.statements[index]
        kept = self._evaluated.get(statement.anchor)
        if kept is None or not self.workspace.still_holds(kept.exact_reads, exactly=True):
            if statement.anchor in self._in_progress:
                return Opaque(name, f"`{name}` is defined by way of itself")
            kept = self._evaluate(statement)
            self._evaluated[statement.anchor] = kept
        machine.reads.update(kept.reads)
        machine.exact_reads.update(kept.exact_reads)
        return kept.variables.get(name, Opaque(name, f"`{name}` is not set on every path"))

    def _evaluate(self, statement: Statement) -> _Evaluated:
        machine = Machine(statement_anchor=self.anchor_prefix + statement.anchor)
        frame = Frame(Scope({}, self.scope, self), self.anchor_prefix + statement.anchor, "<module>")
        self._in_progress.add(statement.anchor)
        try:
            statements.execute(machine, statement.tree, frame)
        except (OutOfBudget, RecursionError):
            pass
        finally:
            self._in_progress.discard(statement.anchor)
        return _Evaluated(frame.scope.variables, machine.reads, machine.exact_reads)

    def _resolve(self, dotted: str | None, level: int, machine: Machine) -> Module | None:
        """The module that an import of this file names; the outcome depends on which file that is."""
        if self.document.path is None:
            return None
        dotted, folder = dotted or "", str(self.document.path.parent)
        fingerprint = self.workspace.import_fingerprint(dotted, level, folder)
        if fingerprint:
            name = f"{level}\0{dotted}\0{folder}"
            machine.reads[(IMPORT, name)] = machine.exact_reads[(IMPORT, name)] = fingerprint
        return self.workspace.resolve(dotted, level, folder)

    def _reason(self, node: ast.ImportFrom) -> str:
        """Why the module that ``node`` imports from is not known, where it is one of the environment."""
        path = self.document.path
        return self.workspace.why_not_read(node.module or "", node.level, str(path.parent)) if path is not None else ""

    def _defined_elsewhere(self, node: ast.ImportFrom, name: str, machine: Machine) -> Value:
        """What a package of the environment has under ``name`` though its file does not bind it; MISSING: nothing."""
        path = self.document.path
        if path is None or node.level or not node.module:
            return MISSING
        found = self.workspace.definition(node.module, name)
        if found is None:
            return MISSING
        asked, folder = f"{node.module}:{name}", str(path.parent)
        fingerprint = self.workspace.import_fingerprint(asked, 0, folder)
        machine.reads[(IMPORT, f"0\0{asked}\0{folder}")] = fingerprint
        machine.exact_reads[(IMPORT, f"0\0{asked}\0{folder}")] = fingerprint
        if isinstance(found, NotRead):
            return Opaque(name, f"`{name}` comes from `{node.module}`: {found.why}")
        module, inner = found
        return module.look_up(inner, machine)

    def submodule(self, name: str, machine: Machine) -> Module | None:
        """The module ``name`` of the package that this module is, None where it is none: ``import a.b`` and ``a.b``."""
        path = self.document.path
        return self._resolve(name, 1, machine) if path is not None and path.name == "__init__.py" else None

    def imported(self, node: ast.Import | ast.ImportFrom, machine: Machine) -> Iterator[tuple[str, Value]]:
        """The names that an import binds, with their values."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname is None:
                    top = alias.name.partition(".")[0]
                    module = self._resolve(top, 0, machine)
                    yield top, ModuleValue(module) if module is not None else External(top)
                else:
                    module = self._resolve(alias.name, 0, machine)
                    yield alias.asname, ModuleValue(module) if module is not None else outside.external(alias.name)
            return
        source = self._resolve(node.module, node.level, machine)
        for alias in node.names:
            if alias.name == "*":
                continue
            bound = alias.asname or alias.name
            value: Value = MISSING
            if source is not None:
                value = source.look_up(alias.name, machine)
            if value is MISSING:
                inner = f"{node.module}.{alias.name}" if node.module else alias.name
                submodule = self._resolve(inner, node.level, machine)
                if submodule is not None:
                    value = ModuleValue(submodule)
                elif (value := self._defined_elsewhere(node, alias.name, machine)) is not MISSING:
                    pass
                elif reason := self._reason(node):
                    value = Opaque(bound, f"`{alias.name}` comes from `{node.module}`: {reason}")
                elif node.level or source is not None:
                    reason = (
                        f"`{alias.name}` is imported from `{'.' * node.level}{node.module or ''}`, which was not found"
                    )
                    value = Opaque(bound, reason)
                else:
                    value = outside.external(inner)
            yield bound, value


_DEFINITION: Final = re.compile(r"(?:@[^\n]*\n)*(?:async +)?(?:def|class) +(\w+)")


def bound_names(statement: Statement) -> tuple[str, ...]:
    """The module-level names that ``statement`` may bind ("*" for a star import), in order."""
    cached = _BOUND.get(statement)
    if cached is None:
        # Most names of a file that others import are never asked for, and their definitions need no parsing.
        definition = None if statement.broken else _DEFINITION.match(statement.parsed)
        if definition is not None:
            cached = (definition[1],)
        else:
            names: dict[str, None] = {}
            for node in statement.tree:
                _collect(node, names)
            cached = tuple(names)
        _BOUND[statement] = cached
    return cached


# Statements never change, so that this only saves time; it goes with the statements.
_BOUND: WeakKeyDictionary[Statement, tuple[str, ...]] = WeakKeyDictionary()


def _collect(node: ast.AST, names: dict[str, None]) -> None:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            names[name] = None
        case ast.Import(names=aliases):
            for alias in aliases:
                names[alias.asname or alias.name.partition(".")[0]] = None
        case ast.ImportFrom(names=aliases):
            for alias in aliases:
                names["*" if alias.name == "*" else alias.asname or alias.name] = None
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            pass
        case ast.Name(id=name, ctx=ast.Store()):
            names[name] = None
        case _:
            for child in children(node):
                _collect(child, names)


def _signature(statement: Statement) -> str:
    """What others see of a function without running it: decorators, name, parameters. Of anything else, the anchor."""
    cached = _SIGNATURES.get(statement)
    if cached is None:
        cached = statement.anchor
        match statement.tree:
            case (ast.FunctionDef(body=[first, *_]) | ast.AsyncFunctionDef(body=[first, *_]) as node,) if (
                not statement.broken and first.lineno > node.lineno
            ):
                head = statement.parsed.split("\n")[: first.lineno - 1]
                cached = f"def {statement.occurrence} " + "\n".join(head)
        _SIGNATURES[statement] = cached
    return cached


_SIGNATURES: WeakKeyDictionary[Statement, str] = WeakKeyDictionary()
