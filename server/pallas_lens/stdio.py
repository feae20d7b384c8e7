"""The server's ends of the pipes: standard input is read ahead, standard output belongs to the protocol alone."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from typing import BinaryIO

from .message_queue import MessageQueue
from .server import PallasLensServer

_log = logging.getLogger("pallas_lens")


def serve() -> int:
    """Speak LSP on standard input and output until the editor says goodbye; returns the exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # Trees and models are many objects that live long; at Python's own thresholds the collector would walk all of
    # them on every few keystrokes.
    gc.set_threshold(50_000, 10, 10)
    gc.freeze()
    server = PallasLensServer()
    code = 0
    try:
        asyncio.run(_serve(server, _private_stdin(), _private_stdout()))
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except (KeyboardInterrupt, BrokenPipeError):
        _log.warning("The connection to the editor is lost.")
    finally:
        server.close()
    return code


async def _serve(server: PallasLensServer, stdin: BinaryIO, stdout: BinaryIO) -> None:
    protocol = server.protocol
    protocol.set_writer(_Writer(stdout))
    queue = server.queue = MessageQueue(stdin)
    queue.start()
    while (message := await queue.next()) is not None:
        try:
            protocol.handle_message(protocol.structure_message(message))
        except Exception:
            _log.exception("The message %r cannot be handled.", message.get("method"))


class _Writer:
    """Sends each message at once."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        self._stream.write(data)
        self._stream.flush()

    def close(self) -> None:
        self._stream.close()


def _private_stdin() -> BinaryIO:
    """A stream of its own from what is standard input now: the thread that waits on it may outlive the interpreter."""
    descriptor = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(descriptor, "rb")


def _private_stdout() -> BinaryIO:
    """A stream to what is standard output now; what anything prints from here on goes to the log."""
    descriptor = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(descriptor, "wb")
