"""Running a kernel from the editor: message, findings on the lines, progress, cancel, and edits that drop findings."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from cli.kernel_texts import GOOD
from jax_environments import JaxEnvironment, environment_params
from lsprotocol import types

from .editor import Editor, capabilities, editor

pytestmark = pytest.mark.asyncio

NOT_A_NUMBER = GOOD.replace("x_ref[...] * 2", "x_ref[...] * jnp.nan")
RAISES = GOOD.replace("    return pl.pallas_call(", '    raise ValueError("no such luck")\n    return pl.pallas_call(')
ENDLESS = GOOD.replace("    return pl.pallas_call(", "    while True:\n        pass\n    return pl.pallas_call(")


@pytest.fixture(params=environment_params())
def environment(request: pytest.FixtureRequest) -> JaxEnvironment:
    found: JaxEnvironment = request.param
    return found


async def start(window: Editor, text: str) -> tuple[str, Any]:
    """Open ``text``, run what its lens runs, and return the URI and the command's answer."""
    uri = window.open(text)
    (lens,) = await window.lenses(uri)
    assert lens.command is not None
    (argument,) = lens.command.arguments or ()
    return uri, await window.command(**argument)


async def test_a_good_kernel_is_told_so(environment: JaxEnvironment, tmp_path: Path) -> None:
    async with editor(tmp_path, interpreter=str(environment.interpreter)) as window:
        uri, result = await start(window, GOOD)
        assert result["jax"] == environment.jax
        assert result["results"][0]["verdict"] == "accepted"
        (message,) = await window.until(lambda: window.messages)
        assert message.type == types.MessageType.Info
        assert message.message.startswith("call ran in interpret mode: no exception, nothing out of bounds, no NaN")
        kinds = [one.value["kind"] for one in window.progress]
        assert (kinds[0], kinds[-1]) == ("begin", "end")
        assert window.progress[0].value["cancellable"] is True
        assert not window.published[-1].diagnostics
        assert window.published[-1].uri == uri


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [(NOT_A_NUMBER, "nan", None), (RAISES, "exception", 'raise ValueError("no such luck")')],
    ids=["nan", "exception"],
)
async def test_findings_stand_on_the_lines(
    text: str, code: str, at: str | None, environment: JaxEnvironment, tmp_path: Path
) -> None:
    async with editor(tmp_path, interpreter=str(environment.interpreter)) as window:
        await start(window, text)
        (message,) = await window.until(lambda: window.messages)
        assert message.type == types.MessageType.Warning
        await window.until(lambda: window.published[-1].diagnostics)
        (found,) = window.published[-1].diagnostics
        assert (found.code, found.source) == (code, "pallas-lens (interpret)")
        assert found.severity == types.DiagnosticSeverity.Error
        if at is not None:
            assert found.range.start.line == text.count("\n", 0, text.index(at))


async def test_findings_move_with_the_code_and_go_when_it_changes(environment: JaxEnvironment, tmp_path: Path) -> None:
    async with editor(tmp_path, interpreter=str(environment.interpreter)) as window:
        uri, _ = await start(window, RAISES)
        await window.until(lambda: window.published[-1].diagnostics)
        line = window.published[-1].diagnostics[0].range.start.line
        (moved,) = await window.pushed(uri, window.replace(uri, 0, 0, 0, "# a comment\n\n"))
        assert moved.range.start.line == line + 2
        body = line + 2
        assert await window.pushed(uri, window.replace(uri, body, 4, 9, "print")) == []


async def test_an_edit_of_what_the_function_uses_drops_findings(environment: JaxEnvironment, tmp_path: Path) -> None:
    async with editor(tmp_path, interpreter=str(environment.interpreter)) as window:
        uri, _ = await start(window, NOT_A_NUMBER)
        await window.until(lambda: window.published[-1].diagnostics)
        kernel = NOT_A_NUMBER.count("\n", 0, NOT_A_NUMBER.index("jnp.nan"))
        column = NOT_A_NUMBER.splitlines()[kernel].index("jnp.nan")
        assert await window.pushed(uri, window.replace(uri, kernel, column, column + 7, "2.0")) == []


async def test_pulling_editors_fetch_the_findings(environment: JaxEnvironment, tmp_path: Path) -> None:
    async with editor(tmp_path, capabilities(pull=True), interpreter=str(environment.interpreter)) as window:
        uri, _ = await start(window, NOT_A_NUMBER)
        await window.until(lambda: window.refreshes)
        assert [one.code for one in await window.pulled(uri)] == ["nan"]
        assert window.published == []


async def test_a_run_can_be_cancelled_while_the_server_answers(environment: JaxEnvironment, tmp_path: Path) -> None:
    async with editor(tmp_path, interpreter=str(environment.interpreter)) as window:
        running = asyncio.ensure_future(start(window, ENDLESS))
        await window.until(lambda: any(one.value["kind"] == "report" for one in window.progress))
        uri = window.published[0].uri
        assert await window.hover(uri, 0, 0) is None
        window.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(window.progress[0].token))
        _, result = await running
        assert [one["kind"] for one in result["results"][0]["findings"]] == ["cancelled"]
        assert window.progress[-1].value["kind"] == "end"
