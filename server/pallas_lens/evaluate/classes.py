"""Classes of the program: dataclasses, named tuples, enums and plain ones."""

from __future__ import annotations

import ast
import re
from typing import Final

from . import attributes, calling, expressions, statements
from .arguments import Arguments
from .machine import Frame, Machine
from .texts import written
from .values import MISSING, Class, External, Function, Instance, Opaque, Scope, Value

_ENUM_BASES = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})


def make_class(machine: Machine, node: ast.ClassDef, frame: Frame) -> Class:
    """The class that ``node`` defines; its body is run for the attributes."""
    bases = tuple(machine.settled(expressions.evaluate(machine, base, frame)) for base in node.bases)
    scope = Scope({}, frame.scope, frame.scope.module, is_class=True)
    statements.execute(machine, node.body, Frame(scope, frame.anchor, node.name))
    return Class(node, scope, bases, _kind(machine, node, bases, frame), _fields(node, scope, bases))


def _kind(machine: Machine, node: ast.ClassDef, bases: tuple[Value, ...], frame: Frame) -> str:
    for base in bases:
        if isinstance(base, External):
            if base.path in _ENUM_BASES:
                return "enum"
            if base.path in ("typing.NamedTuple", "typing_extensions.NamedTuple"):
                return "namedtuple"
        if isinstance(base, Class) and base.kind != "plain":
            return base.kind
    for decorator in node.decorator_list:
        text = written(decorator)
        if "dataclass" in text or "struct" in text:
            return "dataclass"
    return "plain"


def is_registered_tree(class_: Class) -> bool:
    """Whether JAX takes objects of the class apart: named tuples, and dataclasses that are registered with it."""
    if class_.kind == "namedtuple":
        return True
    return class_.kind == "dataclass" and any(
        "register" in text or "struct" in text or "pytree" in text for text in map(written, class_.node.decorator_list)
    )


_ARRAY_ANNOTATION: Final = re.compile(
    r"(?:jax\.|jnp\.)?(?:Array|ndarray|ArrayLike)|(?:\w+\.)*(?:Float|Int|UInt|Bool|Shaped)\w*\[.*"
)


def says_array(annotation: ast.expr | None) -> bool:
    """Whether an annotation names one array: ``jax.Array``, ``Float[Array, "m k"]``."""
    return annotation is not None and _ARRAY_ANNOTATION.fullmatch(written(annotation)) is not None


def array_fields(class_: Class) -> frozenset[str]:
    """The fields of a class that are annotated as arrays."""
    own = {
        statement.target.id
        for statement in class_.node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and says_array(statement.annotation)
    }
    return frozenset(own).union(*(array_fields(base) for base in class_.bases if isinstance(base, Class)))


def _fields(node: ast.ClassDef, scope: Scope, bases: tuple[Value, ...]) -> tuple[tuple[str, Value], ...]:
    fields: dict[str, Value] = {}
    for base in bases:
        if isinstance(base, Class):
            fields.update(base.fields)
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            annotation = written(statement.annotation)
            if "ClassVar" not in annotation:
                fields[statement.target.id] = scope.variables.get(statement.target.id, MISSING)
    return tuple(fields.items())


def method_kind(function: Function) -> str:
    """ "property", "static", "class" or "method", by the decorators of the ``def``."""
    if isinstance(function.node, ast.Lambda):
        return "method"
    for decorator in function.node.decorator_list:
        text = written(decorator)
        if text in ("property", "functools.cached_property", "cached_property"):
            return "property"
        if text == "staticmethod":
            return "static"
        if text == "classmethod":
            return "class"
    return "method"


def instantiate(machine: Machine, class_: Class, arguments: Arguments) -> Value:
    """``class_(...)``."""
    if class_.kind == "enum":
        return machine.fresh(f"{class_.node.name}(…)", "the member depends on a value")
    instance = Instance(class_, {})
    constructor = attributes.class_attribute(machine, class_, "__init__")
    if isinstance(constructor, Function):
        bound = Function(
            constructor.node,
            constructor.scope,
            constructor.anchor,
            constructor.defaults,
            constructor.keyword_defaults,
            instance,
            True,
        )
        calling.invoke_function(machine, bound, arguments)
        return instance
    if class_.kind == "plain" and not class_.fields:
        return instance
    for index, (name, default) in enumerate(class_.fields):
        value = arguments.get(index, name)
        if value is MISSING:
            unknown_rest = arguments.rest is not None or arguments.open_keywords
            value = Opaque(f"{class_.node.name}.{name}", f"`{name}` is not given")
            if default is not MISSING and not unknown_rest:
                value = _field_default(machine, default)
        machine.journal.write(instance.fields, name, value)
    after = attributes.class_attribute(machine, class_, "__post_init__")
    if isinstance(after, Function):
        bound = Function(after.node, after.scope, after.anchor, after.defaults, after.keyword_defaults, instance, True)
        calling.invoke_function(machine, bound, Arguments((), {}))
    return instance


def _field_default(machine: Machine, default: Value) -> Value:
    if isinstance(default, Instance) and "default" in default.fields:
        return default.fields["default"]
    if isinstance(default, Opaque) and "field(" in default.text:
        return machine.fresh("field", "the default comes from a factory")
    return default
