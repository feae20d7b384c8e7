"""What the client and the worker say to each other: frozen dataclasses, one JSON object a line.

Both sides import this file, the worker under the user's interpreter, so it needs nothing but the standard library of
Python 3.10. The client sends `Job` and `Cancel`; the worker answers with one `Ready` or `Unavailable` at its start,
then, for each job, any number of `Log` and `Progress`, one `TargetResult` for each target, and `Finished`.

Rows and columns count from 1, columns in code points, ends are exclusive, as in the JSON of `pallas-lens check`.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

PROTOCOL_VERSION = 1

MODES = ("trace", "lower", "compile", "interpret")
STAGES = ("import", "arguments", "trace", "lower", "compile", "run")
VERDICTS = ("accepted", "refused", "found", "failed")
FINDING_KINDS = (
    "exception",
    "out-of-bounds",
    "nan",
    "uninitialised",
    "race",
    "revisit",
    "mismatch",
    "refused",
    "timeout",
    "crash",
    "cancelled",
)
MAIN = "__main__"
"""As `Job.function`: run the file as a program, `if __name__ == "__main__"` included (mode `interpret` only)."""


class ProtocolError(Exception):
    """A line which is not a message of this protocol version."""


@dataclass(frozen=True, slots=True)
class Job:
    """One function of a user's file to trace, lower, compile or interpret.

    `path` names the file; where `source` is given, that text (an unsaved buffer) is used and the file may not exist.
    `arguments` is the text of an `example` comment (`x=f32[8,128], block=256`), evaluated in the user's module.
    `inputs` and `reference` name functions of the file: the first returns the arguments as a tuple or dict, the second
    takes the same arguments and returns what the function should. `import_roots` are folders put on `sys.path` after
    the file's own. `timeout_seconds` holds for each target; `memory_limit_bytes` for the process which runs the job.
    `seed` chooses the values of the arrays.
    """

    id: str
    mode: str
    path: str
    function: str
    source: str | None = None
    arguments: str = ""
    inputs: str | None = None
    reference: str | None = None
    targets: tuple[str, ...] = ("v5e",)
    timeout_seconds: float = 120.0
    memory_limit_bytes: int = 8 * 1024**3
    import_roots: tuple[str, ...] = ()
    working_directory: str | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop a job, whatever it is doing."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has imported JAX and takes jobs. `parallel` says whether it takes several at once."""

    protocol: int
    python: str
    jax: str
    libtpu: str | None
    parallel: bool


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The interpreter cannot serve. `lacks` is what is missing, `found` the version of what is there instead.

    `lacks` is `python` (too old), `jax` (none, or too old), `working jax` (it does not import) or `pallas`.
    """

    lacks: str
    found: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Log:
    """Text which the user's code, JAX or the compiler printed."""

    job_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Progress:
    """A target has reached a stage."""

    job_id: str
    target: str
    stage: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, on the user's line where that is known.

    `message` is for people, `original` the whole text of JAX or the compiler, `exception` the qualified name of its
    exception class. `row` and the rest are None where no position in the user's file is known.
    """

    kind: str
    message: str
    original: str = ""
    exception: str | None = None
    row: int | None = None
    column: int | None = None
    end_row: int | None = None
    end_column: int | None = None


@dataclass(frozen=True, slots=True)
class OutputFacts:
    """What one output array holds. Minimum, maximum and mean are over its finite elements, None where it has none."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    finite: int
    nan: int
    infinite: int
    minimum: float | None
    maximum: float | None
    mean: float | None
    first_nan: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the outputs differ from those of the reference function.

    An output matches where every absolute difference is at most `tolerance` times the largest absolute value of the
    reference's output; the errors are the largest over all outputs.
    """

    reference: str
    matches: bool
    tolerance: float
    max_absolute_error: float | None
    max_relative_error: float | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Vmem:
    """Scoped VMEM in bytes of the kernel that uses most, as the compiler reports it."""

    used: int | None
    limit: int | None


@dataclass(frozen=True, slots=True)
class TracedDim:
    """One dim of a block: `kind` is `blocked`, `squeezed`, `element`, `bounded_slice` or `indirect`."""

    kind: str
    size: int


@dataclass(frozen=True, slots=True)
class TracedIndex:
    """One value that an index map returns.

    `axes` are the grid axes that it depends on, `reads_prefetch` whether it also hangs on a prefetched operand or on
    a value of the code around. `values` has one entry for each of the call's `points`, None where it is not a number
    that these alone decide.
    """

    axes: tuple[int, ...]
    reads_prefetch: bool
    values: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class TracedIndexMap:
    """An index map: its jaxpr as JAX prints it, how many values it takes, and one entry for each block dim."""

    text: str
    arity: int
    results: tuple[TracedIndex, ...]


@dataclass(frozen=True, slots=True)
class TracedOperand:
    """One ref that a kernel receives.

    `role` is `prefetch`, `input`, `output` or `scratch`. `shape` and `dtype` are the whole array's, or the buffer's
    for scratch. `block` and `index_map` are None where no window moves over the array (prefetch, scratch).
    `memory_space` is JAX's word, None where it leaves the choice to the chip. `buffers` is what `pl.Buffered` asks for.
    """

    name: str
    role: str
    shape: tuple[int, ...]
    dtype: str
    block: tuple[TracedDim, ...] | None
    memory_space: str | None
    buffers: int | None
    index_map: TracedIndexMap | None


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One kernel that the traced program calls, with everything that JAX decided about it.

    `form` is `pallas_call`, `emit_pipeline`, `kernel` or `core_map`. `kernel` is the function's name, `kernel_row` the
    row of its first line where that is in the user's file. `grid` has None for a size that is known only when the
    program runs; `vmapped_dims` are the grid axes that `vmap` put in. `dimension_semantics` is as given, None where it
    is not. `aliases` pairs the index of an operand (prefetched ones count) with that of an output. `inside` names what
    the call stands in, outermost first (`jit f`, `scan`, `pallas_call`); `times` says how often this very call occurs.
    `points` are the steps of the grid at which the index maps were evaluated. The rows and columns are those of the
    call in the user's file, None where it is made elsewhere.
    """

    form: str
    name: str | None
    kernel: str
    kernel_row: int | None
    grid: tuple[int | None, ...]
    vmapped_dims: tuple[int, ...]
    num_scalar_prefetch: int
    dimension_semantics: tuple[str, ...] | None
    vmem_limit_bytes: int | None
    aliases: tuple[tuple[int, int], ...]
    points: tuple[tuple[int, ...], ...]
    operands: tuple[TracedOperand, ...]
    inside: tuple[str, ...] = ()
    times: int = 1
    row: int | None = None
    column: int | None = None
    end_row: int | None = None
    end_column: int | None = None


@dataclass(frozen=True, slots=True)
class TargetResult:
    """What one target said. `stage` is the last stage reached, `calls` what mode `trace` found."""

    job_id: str
    target: str
    verdict: str
    stage: str
    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0
    outputs: tuple[OutputFacts, ...] | None = None
    comparison: Comparison | None = None
    vmem: Vmem | None = None
    calls: tuple[TracedCall, ...] | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """No more messages about this job will come."""

    job_id: str
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What `RuntimeClient.run` returns: one entry in `results` for each target, in the order asked."""

    mode: str
    function: str
    example: str
    jax: str
    libtpu: str | None
    results: tuple[TargetResult, ...]
    log: str = field(default="", repr=False)

    def to_json(self) -> dict[str, Any]:
        """The JSON of `pallas-lens run`, fields that do not apply left out; findings carry no filename."""
        report: dict[str, Any] = {"mode": self.mode, "function": self.function, "example": self.example}
        report["jax"] = self.jax
        report["libtpu"] = self.libtpu
        report["results"] = [_target_to_json(result) for result in self.results]
        return report


Message = Job | Cancel | Ready | Unavailable | Log | Progress | TargetResult | Finished

_MESSAGE_TYPES: dict[str, type[Any]] = {
    "job": Job,
    "cancel": Cancel,
    "ready": Ready,
    "unavailable": Unavailable,
    "log": Log,
    "progress": Progress,
    "target_result": TargetResult,
    "finished": Finished,
}
_NAMES = {message_type: name for name, message_type in _MESSAGE_TYPES.items()}


def encode(message: Message) -> bytes:
    """The line for a message, newline included."""
    content = {"type": _NAMES[type(message)], **dataclasses.asdict(message)}
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message:
    """The message on a line; raises ProtocolError for anything else."""
    try:
        content = json.loads(line)
        message_type = _MESSAGE_TYPES[content.pop("type")]
        message: Message = _build(message_type, content)
        return message
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ProtocolError(f"not a message of protocol {PROTOCOL_VERSION}: {line[:200]!r}") from error


def _build(message_type: type[Any], content: dict[str, Any]) -> Any:
    if message_type is Job:
        for name in ("targets", "import_roots"):
            content[name] = tuple(content[name])
    elif message_type is TargetResult:
        content["findings"] = tuple(Finding(**finding) for finding in content["findings"])
        if content["outputs"] is not None:
            content["outputs"] = tuple(_output(output) for output in content["outputs"])
        if content["comparison"] is not None:
            content["comparison"] = Comparison(**content["comparison"])
        if content["vmem"] is not None:
            content["vmem"] = Vmem(**content["vmem"])
        if content["calls"] is not None:
            content["calls"] = tuple(_call(call) for call in content["calls"])
    return message_type(**content)


def _output(content: dict[str, Any]) -> OutputFacts:
    first_nan = content["first_nan"]
    return OutputFacts(
        **{
            **content,
            "shape": tuple(content["shape"]),
            "first_nan": None if first_nan is None else tuple(first_nan),
        }
    )


def _call(content: dict[str, Any]) -> TracedCall:
    for name in ("grid", "vmapped_dims", "inside"):
        content[name] = tuple(content[name])
    for name in ("aliases", "points"):
        content[name] = tuple(tuple(one) for one in content[name])
    if content["dimension_semantics"] is not None:
        content["dimension_semantics"] = tuple(content["dimension_semantics"])
    content["operands"] = tuple(_operand(operand) for operand in content["operands"])
    return TracedCall(**content)


def _operand(content: dict[str, Any]) -> TracedOperand:
    content["shape"] = tuple(content["shape"])
    if content["block"] is not None:
        content["block"] = tuple(TracedDim(**dim) for dim in content["block"])
    index_map = content["index_map"]
    if index_map is not None:
        index_map["results"] = tuple(
            TracedIndex(tuple(one["axes"]), one["reads_prefetch"], tuple(one["values"])) for one in index_map["results"]
        )
        content["index_map"] = TracedIndexMap(**index_map)
    return TracedOperand(**content)


def _target_to_json(result: TargetResult) -> dict[str, Any]:
    content = dataclasses.asdict(result)
    del content["job_id"]
    return {name: value for name, value in content.items() if value is not None}
