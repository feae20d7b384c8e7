"""Messages from the editor, read ahead in a thread so that the server can see what is still to come.

A language server that answers each change as it comes lags behind a fast typist. With
the messages that wait in view, it skips what the next one makes stale: no delay is
needed, and nothing is answered for an old version.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, BinaryIO

_log = logging.getLogger(__name__)

Message = dict[str, Any]

_CHANGES = frozenset({"textDocument/didChange", "notebookDocument/didChange"})


class MessageQueue:
    """Reads JSON-RPC messages from ``stream`` in a daemon thread; used from one event loop."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._messages: deque[Message] = deque()
        self._closed = False
        self._wake = asyncio.Event()

    def start(self) -> None:
        """Begin to read; to be called in the event loop that will consume the messages."""
        loop = asyncio.get_running_loop()
        thread = threading.Thread(target=self._read, args=(loop,), name="editor messages", daemon=True)
        thread.start()

    async def next(self) -> Message | None:
        """The next message; None when the editor has closed the stream."""
        while not self._messages:
            if self._closed:
                return None
            self._wake.clear()
            await self._wake.wait()
        return self._messages.popleft()

    @property
    def is_empty(self) -> bool:
        """Whether no message waits."""
        return not self._messages

    def holds_change_of(self, uris: frozenset[str]) -> bool:
        """Whether a change of one of these documents waits."""
        return any(message.get("method") in _CHANGES and _uri_of(message) in uris for message in tuple(self._messages))

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while (body := _read_body(self._stream)) is not None:
                try:
                    message = json.loads(body)
                except ValueError:
                    _log.error("The editor sent something that is not JSON: %r", body[:200])
                    continue
                if isinstance(message, dict):
                    self._messages.append(message)
                    loop.call_soon_threadsafe(self._wake.set)
        except (OSError, ValueError, RuntimeError):
            # The stream or the event loop was closed under the thread: the server is stopping.
            _log.debug("The editor's stream ended.", exc_info=True)
        self._closed = True
        _call_quietly(loop, self._wake.set)


def _call_quietly(loop: asyncio.AbstractEventLoop, action: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(action)
    except RuntimeError:
        _log.debug("The event loop had already stopped.")


def _read_body(stream: BinaryIO) -> bytes | None:
    """The body of one message, None at the end of the stream."""
    length: int | None = None
    while True:
        header = stream.readline()
        if not header:
            return None
        if not header.strip():
            if length is not None:
                body = stream.read(length)
                return body if len(body) == length else None
            continue
        name, _, value = header.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)


def _uri_of(message: Message) -> str | None:
    parameters = message.get("params")
    if not isinstance(parameters, dict):
        return None
    document = parameters.get("textDocument") or parameters.get("notebookDocument")
    return document.get("uri") if isinstance(document, dict) else None
