"""The command line: ``pallas-lens check | kernels | explain | rules | run | server``.

Only reads the arguments; the work is in ``commands``, imported when it is asked for,
so that a command costs what it needs and nothing of the server.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import gc
import os
import sys
from collections.abc import Sequence

from . import __version__
from .config import CHIP_NAMES

EXIT_CODES = """\
exit codes:
  0  nothing of severity error or warning (run: fine)
  1  something was found (run: findings, or a mismatch with the reference)
  2  wrong usage or configuration
  3  run: the environment lacks what is needed
  4  run: timeout or crash of the code that was run
"""


_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) if hasattr(errno, "EDQUOT") else (errno.ENOSPC, errno.EFBIG)
_INTERRUPTED = 130
"""What shells expect of a program that was stopped with Ctrl-C."""


class UsageError(Exception):
    """Wrong usage or configuration; the message says what to do. Ends with exit code 2."""


def command() -> None:
    """Run the command that the process was started for, and end the process with its exit code."""
    code = 1

    def end() -> None:
        # Taking millions of objects apart, one after the other, takes a tenth of a large check.
        if sys.stderr is not None:
            sys.stderr.flush()
        os._exit(code)

    # What is registered first is called last, so that whatever else has to be closed is.
    atexit.register(end)
    code = main()
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe that cannot show a character gets a replacement, not a traceback.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    try:
        parsed = _parser().parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    # A command makes many objects, keeps most of them and ends: Python's own thresholds cost it a third of its time.
    gc.set_threshold(400_000, 1000, 100)
    try:
        code = _run(parsed)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except UsageError as error:
        print(f"pallas-lens: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Python would complain when it flushes at exit.
        sys.stdout = None
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _CANNOT_WRITE:
            sys.stdout = None
            print(f"pallas-lens: the output cannot be written: {error.strerror}", file=sys.stderr)
            return 2
        if os.environ.get("PALLAS_LENS_RAISE"):
            raise
        print(
            f"pallas-lens: a fault of its own: {type(error).__name__}: {error}. Please report it, with what "
            "PALLAS_LENS_RAISE=1 in the environment makes it print.",
            file=sys.stderr,
        )
        return 2


def _run(parsed: argparse.Namespace) -> int:
    match parsed.command:
        case "check":
            from .commands.check import check

            return check(parsed)
        case "kernels":
            from .commands.kernels import kernels

            return kernels(parsed)
        case "explain":
            from .commands.rules import explain

            return explain(parsed)
        case "rules":
            from .commands.rules import rules

            return rules(parsed)
        case "run":
            from .commands.run import run

            return run(parsed)
        case _:
            return _serve()


def _serve() -> int:
    try:
        from .stdio import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith(__package__ or "pallas_lens"):
            raise
        raise UsageError(f"the server needs the package {error.name}; install it: pip install {error.name}") from error
    return serve()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pallas-lens",
        description="What the TPU compiler would say about Pallas kernels, without a TPU.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pallas-lens {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    check = commands.add_parser("check", help="say what the TPU compiler would refuse; runs nothing of yours")
    _add_paths(check)
    _add_targets(check)
    check.add_argument("--select", type=_words, metavar="RULE[,RULE]", help="only these rules: PAL101, PAL1 or a name")
    check.add_argument("--ignore", type=_words, metavar="RULE[,RULE]", help="leave these rules out")
    check.add_argument("--fix", action="store_true", help="apply the safe fixes, then check what is left")
    _add_format(check, ("full", "concise", "json"))

    kernels = commands.add_parser("kernels", help="print what is known of each kernel call: grid, blocks, VMEM")
    _add_paths(kernels)
    _add_targets(kernels)
    _add_format(kernels, ("full", "json"))

    explain = commands.add_parser("explain", help="print the page of a rule")
    explain.add_argument("rule", metavar="CODE|NAME")

    rules = commands.add_parser("rules", help="list the rules")
    _add_format(rules, ("full", "json"))

    run = commands.add_parser("run", help="run, compile or lower a function with the Python that has your JAX")
    run.add_argument("place", metavar="FILE[::FUNCTION]")
    run.add_argument("--mode", choices=("interpret", "trace", "lower", "compile"), default="interpret")
    _add_targets(run)
    run.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument, such as x=f32[8,128] or block=256; repeat for more; instead of the example comment",
    )
    run.add_argument("--example", metavar="NAME", help="which example, where the function has several")
    run.add_argument("--interpreter", metavar="PYTHON", help="the Python that has your JAX")
    run.add_argument("--timeout", type=float, metavar="SECONDS", help="time that each target may take")
    _add_format(run, ("full", "json"))

    server = commands.add_parser("server", help="the language server, on standard input and output")
    server.add_argument("--stdio", action="store_true", help="accepted because many editors pass it")
    return parser


def _add_paths(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="files and folders (default: here)")


def _add_targets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target",
        type=_chips,
        metavar="CHIP[,CHIP]",
        help=f"the chips to check for, of {', '.join(CHIP_NAMES)} (default: what the settings say, else all)",
    )


def _add_format(parser: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    parser.add_argument("--output-format", choices=formats, default=formats[0])


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _chips(text: str) -> tuple[str, ...]:
    chips = tuple(dict.fromkeys(_words(text)))
    strangers = [chip for chip in chips if chip not in CHIP_NAMES]
    if strangers or not chips:
        raise argparse.ArgumentTypeError(
            f"there is no chip {', '.join(strangers) or repr(text)}; there are {', '.join(CHIP_NAMES)}"
        )
    return chips
