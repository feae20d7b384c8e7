"""What the rules on JAX's names share: which part of a written name is at fault, and how to write another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from pallas_lens.knowledge.api_names import Change, NameState, name_state
from pallas_lens.model.api_use import ApiUse
from pallas_lens.model.finding import Severity
from pallas_lens.model.module_facts import ModuleFacts
from pallas_lens.model.span import Span
from pallas_lens.model.versions import Version

from .context import Context


@dataclass(frozen=True, slots=True)
class ChangedName:
    """A use of a name that is deprecated or gone.

    ``path`` is the changed name's own, ``text`` how the file writes it; the use may go
    on behind it (``pltpu.TPUMemorySpace.SMEM``). ``whole_span`` is that of ``text``,
    ``span`` that of its last component.
    """

    use: ApiUse
    path: str
    text: str
    change: Change
    span: Span
    whole_span: Span


def changed_names(facts: ModuleFacts, context: Context, state: NameState) -> Iterator[ChangedName]:
    """Each place once that uses a name in ``state``, unless it is guarded."""
    imported = {use.path for use in facts.api_uses if use.is_import}
    seen: set[Span] = set()
    for use in facts.api_uses:
        if use.guarded or (use.path in imported and not use.is_import and "." not in use.text):
            continue
        found = _changed_name(use, context, state)
        if found is not None and found.span not in seen:
            seen.add(found.span)
            yield found


def _changed_name(use: ApiUse, context: Context, state: NameState) -> ChangedName | None:
    if not _has_changed(use.path, context.jax_version):
        return None
    components = use.text.split(".")
    # The shortest changed path is the one at fault: what hangs on it goes with it.
    for dropped in range(use.path.count(".") - 1, -1, -1):
        path = use.path.rsplit(".", dropped)[0] if dropped else use.path
        change = name_state(path, context.jax_version)
        if change is None or change.state is not state:
            continue
        if dropped == 0:
            return ChangedName(use, path, use.text, change, use.attribute_span, use.span)
        if dropped < len(components) and _is_written_in_one_line(use):
            text = ".".join(components[:-dropped])
            whole = replace(use.span, end_column=use.span.start_column + len(text))
            span = replace(whole, start_column=whole.end_column - len(text.rpartition(".")[2]))
            return ChangedName(use, path, text, change, span, whole)
        return ChangedName(use, path, use.text, change, use.span, use.span)
    return None


@lru_cache(maxsize=4096)
def _has_changed(path: str, version: Version) -> bool:
    """Whether JAX changed ``path`` or what it hangs on; asked anew of every name at every keystroke."""
    names = path.split(".")
    return any(name_state(".".join(names[:count]), version) is not None for count in range(2, len(names) + 1))


def _is_written_in_one_line(use: ApiUse) -> bool:
    span = use.span
    return span.start_row == span.end_row and span.end_column - span.start_column == len(use.text)


def spelled(path: str, context: Context) -> str | None:
    """How the file writes ``path``; None where it does not import the module."""
    module, _, name = path.rpartition(".")
    return context.spelling(module, name)


def readable(path: str, context: Context) -> str:
    """``path`` as the file writes it, else by the customary short names of the modules."""
    written = spelled(path, context)
    if written is not None:
        return written
    module, _, name = path.rpartition(".")
    short = {"jax.experimental.pallas": "pl", "jax.experimental.pallas.tpu": "pltpu"}.get(module, module)
    return f"{short}.{name}"


def severity_of_gone(context: Context) -> Severity | None:
    """The rule's own severity where the user's JAX is known, else a warning: theirs may be older."""
    return None if context.jax_version_is_known else Severity.WARNING


def versions_text(since: object, context: Context) -> str:
    """ "since JAX 0.7.2 (yours is 0.12.0.1)"."""
    yours = f" (yours is {context.jax_version})" if context.jax_version_is_known else ""
    return f"since JAX {since}{yours}"
