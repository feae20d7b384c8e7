"""How problems of worlds and specialisations become findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pallas_lens.knowledge.chips import CHIPS
from pallas_lens.model.api_use import ApiUse
from pallas_lens.model.finding import Finding, Severity
from pallas_lens.model.kernel_call import Form, KernelCall
from pallas_lens.model.module_facts import CallSite, ModuleFacts, Specialised
from pallas_lens.model.span import Span
from pallas_lens.model.unknown import Unknown
from pallas_lens.project import NEWEST_JAX
from pallas_lens.rules.context import Context, module_spellings
from pallas_lens.rules.engine import rules_for, site_findings
from pallas_lens.rules.rule import CallRule, Problem

CONTEXT = Context(tuple(CHIPS.values()), NEWEST_JAX, True)
CALL = Span("call", 0, 0, 9, 0)
PART = Span("call", 1, 4, 1, 8)
OTHER = Span("call", 2, 4, 2, 8)
UNKNOWN = Unknown("the test does not say")


def call(name: str, part: Span | None = PART) -> KernelCall:
    """A call about which nothing is known but its name and where its grid stands."""
    return KernelCall(
        form=Form.PALLAS_CALL,
        name=name,
        specialisation="generic",
        span=CALL,
        callee_span=CALL,
        grid=UNKNOWN,
        grid_span=part,
        grid_dim_spans=(),
        grid_is_given=True,
        grid_spec_span=None,
        grid_beside_grid_spec=(),
        num_scalar_prefetch=UNKNOWN,
        prefetch_span=None,
        in_specs=UNKNOWN,
        out_specs=UNKNOWN,
        out_shape_count=UNKNOWN,
        out_shape_span=None,
        argument_count=UNKNOWN,
        arguments_span=None,
        operands=UNKNOWN,
        scratch_span=None,
        named_scratch=0,
        kernel=UNKNOWN,
        semantics=UNKNOWN,
        vmem_limit_bytes=UNKNOWN,
        vmem_limit_span=None,
        aliases=UNKNOWN,
        alias_span=None,
    )


def rule(problems: dict[str, Problem], severity: Severity = Severity.ERROR) -> CallRule:
    """A rule that finds ``problems`` by the name of the call."""

    def check(subject: KernelCall, context: Context) -> Iterable[Problem]:
        return [problems[subject.name]] if subject.name in problems else []

    return CallRule(
        code="PAL000",
        name="of-the-test",
        severity=severity,
        summary="",
        documentation="",
        valid=(),
        invalid=(),
        check=check,
    )


def found(problems: dict[str, Problem], *specialisations: Specialised, context: Context = CONTEXT) -> list[Finding]:
    return site_findings(CallSite(CALL, specialisations), [rule(problems)], context)


def specialised(name: str, reading: str, *worlds: KernelCall) -> Specialised:
    return Specialised(name, reading, worlds, (None,) * len(worlds))


def test_worlds_that_have_the_part_must_agree() -> None:
    problem = Problem(PART, "bad")
    assert found({"a": problem}, specialised("generic", "", call("a"), call("b"))) == []
    assert len(found({"a": problem, "b": problem}, specialised("generic", "", call("a"), call("b")))) == 1


def test_world_without_the_part_has_no_say() -> None:
    (finding,) = found({"a": Problem(PART, "bad")}, specialised("generic", "", call("a"), call("b", part=OTHER)))
    assert (finding.span, finding.message, finding.severity) == (PART, "bad", Severity.ERROR)


def test_generic_subsumes_the_rest() -> None:
    problems = {"a": Problem(PART, "for all"), "b": Problem(PART, "for some"), "c": Problem(OTHER, "elsewhere")}
    findings = found(
        problems,
        specialised("generic", "", call("a")),
        specialised("defaults", "with block=100, the default", call("b")),
        specialised("example x", "in the example", call("c")),
    )
    assert [(one.message, one.specialisation) for one in findings] == [
        ("for all", "generic"),
        ("elsewhere (in the example)", "example x"),
    ]


def test_surer_specialisation_wins() -> None:
    problems = {"a": Problem(PART, "on one", chips=("v4",)), "b": Problem(PART, "on all", chips=tuple(CHIPS))}
    (finding,) = found(problems, specialised("generic", "", call("a")), specialised("defaults", "at 8", call("b")))
    assert (finding.severity, finding.message) == (Severity.ERROR, "on all (at 8)")


def test_refused_on_some_targets_is_a_warning_that_names_them() -> None:
    problem = Problem(PART, "bad", chips=("v4", "v5e", "v5p"))
    (finding,) = found({"a": problem}, specialised("defaults", "at 8", call("a")))
    assert finding.severity is Severity.WARNING
    assert finding.message == "bad (on v4, v5e and v5p, at 8)"
    assert finding.chips == ("v4", "v5e", "v5p")


def test_refused_on_all_targets_is_an_error() -> None:
    context = replace(CONTEXT, targets=(CHIPS["v5e"],))
    (finding,) = found(
        {"a": Problem(PART, "bad", chips=("v5e",))}, specialised("generic", "", call("a")), context=context
    )
    assert (finding.severity, finding.message, finding.chips) == (Severity.ERROR, "bad", ("v5e",))


def test_kernel_that_is_only_interpreted_is_spared_the_compilers_rules() -> None:
    site = CallSite(CALL, (specialised("generic", "", replace(call("a"), always_interpreted=True)),))
    of_tpu = rule({"a": Problem(PART, "bad")})
    assert site_findings(site, [of_tpu], CONTEXT) == []
    assert len(site_findings(site, [replace(of_tpu, every_backend=True)], CONTEXT)) == 1


def test_under_vmap_only_what_jax_checks_before_it_changes_the_call_is_told() -> None:
    site = CallSite(CALL, (specialised("generic", "", replace(call("a"), batch_sizes=(4,))),))
    of_tpu = rule({"a": Problem(PART, "bad")})
    assert site_findings(site, [of_tpu], CONTEXT) == []
    assert len(site_findings(site, [replace(of_tpu, every_backend=True)], CONTEXT)) == 1


def test_rules_are_silent_on_what_is_given_to_a_wrapper() -> None:
    site = CallSite(CALL, (specialised("generic", "", replace(call("a"), wrapper="buffered_call")),))
    assert site_findings(site, [replace(rule({"a": Problem(PART, "bad")}), every_backend=True)], CONTEXT) == []


def use(path: str, text: str) -> ApiUse:
    return ApiUse(path, PART, PART, text, guarded=False)


def test_files_for_gpus_are_spared_the_rules_of_the_tpu() -> None:
    gpu = use("jax.experimental.pallas.triton.load", "plgpu.load")
    tpu = use("jax.experimental.pallas.tpu.VMEM", "pltpu.VMEM")
    names = {one.name for one in rules_for(ModuleFacts(api_uses=(gpu,)))}
    assert "index-map-arity" in names and "block-not-tile-aligned" not in names
    assert "block-not-tile-aligned" in {one.name for one in rules_for(ModuleFacts(api_uses=(gpu, tpu)))}


def test_modules_are_spelled_as_the_file_spells_them() -> None:
    uses = (use("jax.experimental.pallas.tpu.VMEM", "tpu.VMEM"), use("jax.experimental.pallas.ds", "ds"))
    assert module_spellings(uses) == {"jax.experimental.pallas.tpu": "tpu"}
