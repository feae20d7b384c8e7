"""``--fix``: safe fixes written to the file, which is never left half written or broken."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from pallas_lens.features.diagnostics import Diagnostic, apply_edits, without_overlaps
from pallas_lens.file_discovery import SourceFile
from pallas_lens.source.document import Document, update_document
from pallas_lens.source.syntax import ParseFailure, parse

_MOST_ROUNDS = 8


class FixFailed(Exception):
    """The file stays as it was; the message says why."""


def fix_file(
    source: SourceFile,
    document: Document,
    found: tuple[Diagnostic, ...],
    diagnose: Callable[[Document], tuple[Diagnostic, ...]],
) -> tuple[Document, tuple[Diagnostic, ...], int]:
    """Apply safe fixes until none is left.

    Returns the document as it then is, what is still found in it, and how many findings went.

    Raises:
        FixFailed: when the fixed text does not parse although the old one did, or cannot be written.
    """
    if source.path.suffix == ".ipynb":
        raise FixFailed("fixes are not written to notebooks; use the quick fixes of the editor")
    before = len(found)
    text = document.text
    for _ in range(_MOST_ROUNDS):
        fixes = [fix for one in found if (fix := one.safe_fix) is not None]
        if not fixes:
            break
        changed = apply_edits(text, without_overlaps(fixes))
        if changed == text:
            break
        if isinstance(parse(changed), ParseFailure) and not isinstance(parse(text), ParseFailure):
            raise FixFailed("the fixed text would not parse, which is a fault of Pallas Lens; please report it")
        text = changed
        document = update_document(document, text, document.version + 1)
        found = diagnose(document)
    if text != source.text:
        _write(source, text)
    return document, found, before - len(found)


def _write(source: SourceFile, text: str) -> None:
    """Write beside the file and rename, so that a reader sees the old text or the new, whatever happens."""
    content = (b"\xef\xbb\xbf" if source.has_byte_order_mark else b"") + text.encode("utf-8")
    target = source.path.resolve()
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _keep_mode(target, temporary)
        if target.read_bytes() != _bytes_of(source):
            raise FixFailed("it was changed by something else in the meantime; run the command again")
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise FixFailed(error.strerror or str(error)) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _bytes_of(source: SourceFile) -> bytes:
    return (b"\xef\xbb\xbf" if source.has_byte_order_mark else b"") + source.text.encode("utf-8")


def _keep_mode(target: Path, temporary: str) -> None:
    with contextlib.suppress(OSError):
        os.chmod(temporary, target.stat().st_mode & 0o7777)
