"""``pallas-lens run``: a function of a file, run with its example in the user's own Python."""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pallas_lens.check import Checker
from pallas_lens.cli import UsageError
from pallas_lens.features.run import Limits, diagnostics_of_run, find_runnable, job_for, targets_for
from pallas_lens.file_discovery import Unreadable, read_source
from pallas_lens.model.chip import Chip
from pallas_lens.model.module_facts import Runnable
from pallas_lens.model.span import Span
from pallas_lens.output.report import FileReport
from pallas_lens.output.run_report import run_full, run_json
from pallas_lens.project import Project
from pallas_lens.runtime.client import RuntimeClient
from pallas_lens.runtime.protocol import MAIN, Job, Result
from pallas_lens.runtime.unavailable import RuntimeUnavailable
from pallas_lens.source.document import Document, open_document
from pallas_lens.source.positions import TextRange

from .common import complain, display_name, projects_for, refuse_bad_settings

# libtpu says so wherever there is no TPU, which is no news here.
_LIBTPU_NOISE = re.compile(
    r"^(?:Failed to find host bounds for accelerator type: )?WARNING: could not determine TPU accelerator type.*\n?",
    re.MULTILINE,
)
_FINE, _FOUND, _LACKING, _CRASHED, _INTERRUPTED = 0, 1, 3, 4, 130


def run(arguments: argparse.Namespace) -> int:
    """Run one function and print what came of it."""
    path, function = _place(arguments.place)
    projects = projects_for(arguments)
    project = projects.of(path)
    refuse_bad_settings(projects)
    document = _document(path)
    _refuse_malformed(arguments.arg)
    runnable = _runnable(document, project, function, arguments)
    _refuse_unknown_names(document, runnable.function, arguments.arg)
    place = _name_range(document, runnable.function)
    timeout = arguments.timeout if arguments.timeout is not None else float(project.settings.run_timeout)
    if timeout <= 0:
        raise UsageError("--timeout must be more than 0 seconds")
    job = job_for(
        document,
        runnable,
        arguments.mode,
        targets_for(arguments.mode, project.settings.targets),
        Limits(timeout, project.settings.run_memory_limit),
        project.root,
        "1",
    )
    # The command line runs what is on the disk, in the folder it was started in, as Python would.
    job = replace(job, source=None, working_directory=str(Path.cwd()))
    try:
        result = _run(job, project)
    except RuntimeUnavailable as error:
        complain(f"{error.message} {error.remedy}")
        return _LACKING
    except KeyboardInterrupt:
        complain("stopped")
        return _INTERRUPTED
    if result.log and arguments.output_format == "full":
        log = _LIBTPU_NOISE.sub("", result.log)
        sys.stderr.write(log if not log or log.endswith("\n") else log + "\n")
    _print(arguments.output_format, document, result, place, runnable.example, project.context.targets)
    return exit_code(result)


def exit_code(result: Result) -> int:
    """0 where all went well, 4 where something crashed or took too long, else 1."""
    kinds = {finding.kind for target in result.results for finding in target.findings}
    if kinds & {"crash", "timeout"}:
        return _CRASHED
    return _FINE if all(target.verdict == "accepted" for target in result.results) else _FOUND


def _run(job: Job, project: Project) -> Result:
    if project.environment is None:
        raise UsageError("no Python was found; name the one that has your JAX with --interpreter")
    with RuntimeClient(project.environment.interpreter) as client:
        return client.run(job)


def _place(text: str) -> tuple[Path, str]:
    name, _, function = text.partition("::")
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{path} is not a file" if path.exists() else f"{path} does not exist")
    if path.suffix == ".ipynb":
        raise UsageError("a notebook cannot be run from the command line; run its cells in the editor")
    return path, function


def _document(path: Path) -> Document:
    source = read_source(path)
    if isinstance(source, Unreadable):
        raise UsageError(f"{path}: {source.reason}")
    return open_document(path, source.text if source is not None else path.read_text(encoding="utf-8"))


def _runnable(document: Document, project: Project, function: str, arguments: argparse.Namespace) -> Runnable:
    """What to run: as the comments say, with ``--arg`` instead of an example, or as Python would."""
    text = ", ".join(arguments.arg)
    runnables = Checker((project.root,)).facts(document).runnables
    if function:
        found = find_runnable(runnables, function, arguments.example or "")
        if found is not None:
            return replace(found, arguments_text=text, example="") if text else found
        if arguments.example:
            raise UsageError(f"{function} has no example {arguments.example}")
        if function not in _function_names(document):
            raise UsageError(_no_such_function(document, function))
        return _plain(function, text)
    named = [one for one in runnables if arguments.example in (None, one.example)]
    functions = {one.function for one in named}
    if len(functions) == 1:
        return replace(named[0], arguments_text=text, example="") if text else named[0]
    if functions:
        raise UsageError(f"several functions have an example; name one of {_choices(document, functions)}")
    if arguments.mode == "interpret" and _has_main_guard(document):
        return _plain(MAIN, text)
    tests = {name for name in _function_names(document) if name.startswith("test")}
    if len(tests) == 1:
        return _plain(tests.pop(), text)
    raise UsageError(
        f"nothing in {document.path} says what to run; write a comment such as "
        "`# pallas-lens: example x=f32[1024,128]` above a function, or name a function and give --arg"
    )


def _call(arguments: list[str]) -> ast.Call | None:
    """The arguments as those of a call; None where they are not Python but for ``f32[]``, a scalar."""
    try:
        tree = ast.parse("_({}\n)".format(", ".join(arguments)).replace("[]", "[()]"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else None


def _refuse_malformed(arguments: list[str]) -> None:
    for argument in arguments:
        if _call([argument]) is None:
            raise UsageError(f"--arg {argument!r} cannot be read; write NAME=VALUE such as x=f32[8,128] or block=256")


def _refuse_unknown_names(document: Document, function: str, arguments: list[str]) -> None:
    """A name that the function does not take; where a decorator may have changed what it takes, JAX will say so."""
    call = _call(arguments)
    for node in (node for statement in document.statements for node in statement.tree):
        if not isinstance(node, ast.FunctionDef) or node.name != function or node.args.kwarg or call is None:
            continue
        if node.decorator_list:
            return
        names = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
        for keyword in call.keywords:
            if keyword.arg is not None and keyword.arg not in names:
                takes = ", ".join(names) or "nothing"
                raise UsageError(f"{function} has no parameter {keyword.arg}; it takes {takes}")


def _plain(function: str, arguments_text: str) -> Runnable:
    nowhere = Span("", 0, 0, 0, 0)
    return Runnable(function=function, span=nowhere, example="", arguments_text=arguments_text)


def _choices(document: Document, functions: set[str]) -> str:
    return ", ".join(f"{document.path}::{name}" for name in sorted(functions))


def _no_such_function(document: Document, function: str) -> str:
    names = sorted(_function_names(document))
    listed = f"; there are {', '.join(names)}" if names else ""
    return f"{document.path} has no function {function}{listed}"


def _function_names(document: Document) -> dict[str, TextRange]:
    """Qualified names of the functions at the top and in classes, with where each name stands."""
    found: dict[str, TextRange] = {}
    for statement, first in zip(document.statements, document.first_rows, strict=True):
        for node in statement.tree:
            _gather(node, "", first, document, found)
    return found


def _gather(node: ast.stmt, prefix: str, first: int, document: Document, found: dict[str, TextRange]) -> None:
    if isinstance(node, ast.ClassDef):
        for inner in node.body:
            _gather(inner, f"{prefix}{node.name}.", first, document, found)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        row = min(first + node.lineno - 1, len(document.lines) - 1)
        column = max(document.lines[row].find(node.name), 0)
        found[f"{prefix}{node.name}"] = TextRange(row, column, row, column + len(node.name))


def _name_range(document: Document, function: str) -> TextRange:
    return _function_names(document).get(function, TextRange(0, 0, 0, len(document.lines[0])))


def _has_main_guard(document: Document) -> bool:
    return any(
        isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) and "__main__" in ast.unparse(node.test)
        for statement in document.statements
        for node in statement.tree
    )


def _print(
    output_format: str,
    document: Document,
    result: Result,
    place: TextRange,
    example: str,
    chips: Sequence[Chip],
) -> None:
    assert document.path is not None
    name = display_name(document.path)
    if output_format == "json":
        by_target = {
            target.target: FileReport(
                name,
                document.lines,
                diagnostics_of_run(document, replace(result, results=(target,)), place, example),
            )
            for target in result.results
        }
        sys.stdout.write(run_json(result, by_target, chips))
        return
    report = FileReport(name, document.lines, diagnostics_of_run(document, result, place, example))
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    sys.stdout.write(run_full(result, report, chips, colour=colour))
