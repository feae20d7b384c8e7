"""Callers in the project's other files, its tests among them, give a call site known arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from pallas_lens.evaluate.analyzer import Analyzer
from pallas_lens.evaluate.import_index import ImportIndex
from pallas_lens.file_discovery import is_skipped
from pallas_lens.source.document import Document, open_document, update_document

KERNEL = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def call(x, rows):
    block = pl.BlockSpec((rows, 128), lambda i: (i, 0))
    return pl.pallas_call(
        double,
        grid=(x.shape[0] // rows,),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def wrapper(x):
    return call(x, 64)
"""
ONES = "jnp.ones((4096, 128), jnp.float32)"
IMPORTS = {
    "the function": ("from ops.kernel import call", "call"),
    "the function, by another name": ("from ops.kernel import call as run", "run"),
    "several names in parentheses": ("from ops.kernel import (  # both\n    wrapper,\n    call,\n)", "call"),
    "the module": ("from ops import kernel", "kernel.call"),
    "the module by its dotted name": ("import ops.kernel", "ops.kernel.call"),
    "what the package hands on": ("from ops import call", "call"),
}


def project(root: Path, **files: str) -> Document:
    """A project with a kernel in a package and these other files, named by stems; the kernel's document."""
    package = root / "ops"
    package.mkdir()
    (package / "__init__.py").write_text("from .kernel import call\n")
    (package / "kernel.py").write_text(KERNEL)
    for stem, text in files.items():
        path = root.joinpath(*stem.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"import jax.numpy as jnp\n{text}\n")
    return open_document(package / "kernel.py", KERNEL)


def analyzer(root: Path) -> Analyzer:
    """An analyzer that knows who imports whom under ``root``."""
    imports = ImportIndex((root,), is_skipped)
    assert imports.advance()
    return Analyzer((root,), imports)


def grids(made: Analyzer, document: Document, **how: bool) -> dict[str, object]:
    """The grid of the only call site, by specialisation; the generic one and callers in the file left out."""
    (site,) = made.analyse(document, **how).sites
    return {one.name: one.worlds[0].grid for one in site.specialisations if "." in one.name}


@pytest.mark.parametrize("form", IMPORTS)
def test_a_test_that_calls_it_is_a_specialisation(form: str, tmp_path: Path) -> None:
    statement, name = IMPORTS[form]
    document = project(tmp_path, tests__test_it=f"{statement}\n\n\ndef test_small():\n    {name}({ONES}, 128)")
    assert grids(analyzer(tmp_path), document) == {"call test_it.test_small": (32,)}


def test_a_wrapper_and_a_statement_and_a_method_lead_to_it(tmp_path: Path) -> None:
    document = project(
        tmp_path,
        bench=f"from ops.kernel import wrapper\nwrapper({ONES})",
        test_case=f"from ops import kernel\n\n\nclass Case:\n    def test_it(self):\n        kernel.call({ONES}, 32)",
    )
    assert grids(analyzer(tmp_path), document) == {
        "call bench.module": (64,),
        "call test_case.Case.test_it": (128,),
    }


def test_files_of_one_name_do_not_clash(tmp_path: Path) -> None:
    text = "from ops.kernel import call\n\n\ndef test_it():\n    call({}, {})"
    document = project(tmp_path, one__test_it=text.format(ONES, 128), two__test_it=text.format(ONES, 64))
    assert grids(analyzer(tmp_path), document) == {
        "call one.test_it.test_it": (32,),
        "call two.test_it.test_it": (64,),
    }


PARAMETERS = {
    "pytest, two names": ('@pytest.mark.parametrize("m, rows", [(2048, 128), (64, 8)])', "m, rows", (16,)),
    "pytest, one at a time": (
        '@pytest.mark.parametrize("m", [2048, 64])\n@pytest.mark.parametrize(("rows",), [(64,)])',
        "m, rows",
        (32,),
    ),
    "pytest.param": ('@pytest.mark.parametrize("m,rows", [pytest.param(1024, 8, id="a")])', "m, rows", (128,)),
    "absl, positional": ("@parameterized.parameters((2048, 256), (8, 8))", "m, rows", (8,)),
    "absl, by name": ("@parameterized.parameters(dict(m=512), {'m': 512, 'rows': 8})", "m=256, rows=8", (64,)),
    "absl, with names": ('@parameterized.named_parameters(("small", 512, 16), ("large", 8, 8))', "m, rows", (32,)),
    "absl, product": ("@parameterized.product(m=[1024], rows=(32, 64))", "m, rows", (32,)),
}


@pytest.mark.parametrize("form", PARAMETERS)
def test_the_first_parameters_of_a_test_are_taken(form: str, tmp_path: Path) -> None:
    decorators, names, grid = PARAMETERS[form]
    test = f"{decorators}\ndef test_it({names}):\n    call(jnp.ones((m, 128), jnp.float32), rows)"
    document = project(tmp_path, test_it=f"import pytest\nfrom ops.kernel import call\n\n\n{test}")
    assert grids(analyzer(tmp_path), document) == {"call test_it.test_it": grid}


SILENT = {
    "its arguments come from its own caller": "def f(x, rows):\n    call(x, rows)",
    "it expects a refusal": f"def test_bad():\n    with pytest.raises(ValueError):\n        call({ONES}, 128)",
    "it is another function of the name": f"def call(x, rows):\n    pass\n\n\ndef test_it():\n    call({ONES}, 128)",
}


@pytest.mark.parametrize("why", SILENT)
def test_it_is_none_where(why: str, tmp_path: Path) -> None:
    document = project(tmp_path, test_it=f"from ops.kernel import call\n\n\n{SILENT[why]}")
    assert grids(analyzer(tmp_path), document) == {}


@pytest.mark.parametrize("folder", [".hidden", "node_modules", "venv", "site-packages"])
def test_what_is_not_the_projects_is_not_read(folder: str, tmp_path: Path) -> None:
    name = f"{folder}__test_it"
    document = project(tmp_path, **{name: f"from ops.kernel import call\n\n\ndef test_it():\n    call({ONES}, 128)"})
    assert grids(analyzer(tmp_path), document) == {}


def test_the_index_is_read_piece_by_piece_and_anew_where_files_changed(tmp_path: Path) -> None:
    test = f"from ops.kernel import call\n\n\ndef test_it():\n    call({ONES}, 128)"
    document = project(tmp_path, a="", b="", test_it=test)
    imports = ImportIndex((tmp_path,), is_skipped)
    made = Analyzer((tmp_path,), imports)
    pieces = 0
    while not imports.advance(lambda: True):
        pieces += 1
        assert grids(made, document) == {}
    assert pieces >= 5
    assert not made.is_current(document)
    assert grids(made, document) == {"call test_it.test_it": (32,)}
    (tmp_path / "test_it.py").unlink()
    (tmp_path / "test_new.py").write_text(f"import jax.numpy as jnp\n{test}")
    imports.look_again()
    made.look_again()
    assert imports.advance()
    assert not made.is_current(document)
    assert grids(made, document) == {"call test_new.test_it": (32,)}
    assert made.is_current(document)


def test_a_keystroke_does_not_wait_for_callers_elsewhere(tmp_path: Path) -> None:
    document = project(tmp_path, test_it=f"from ops.kernel import call\n\n\ndef test_it():\n    call({ONES}, 128)")
    made = analyzer(tmp_path)
    assert grids(made, document, elsewhere=False) == {}
    assert made.owes(document)
    assert grids(made, document) == {"call test_it.test_it": (32,)}
    assert not made.owes(document)
    # What was followed once stays while nothing that it read has changed.
    body = update_document(document, KERNEL.replace("* 2", "* 3"), 2)
    assert grids(made, body, elsewhere=False) == {"call test_it.test_it": (32,)}
    assert not made.owes(body)
    changed = update_document(body, KERNEL.replace("// rows", "// (rows * 2)"), 3)
    assert grids(made, changed, elsewhere=False) == {}
    assert made.owes(changed)
    assert grids(made, changed) == {"call test_it.test_it": (16,)}


def test_an_open_test_counts_as_it_is_typed(tmp_path: Path) -> None:
    test = f"import jax.numpy as jnp\nfrom ops.kernel import call\n\n\ndef test_it():\n    call({ONES}, {{}})\n"
    document = project(tmp_path, test_it="")
    (tmp_path / "test_it.py").write_text(test.format(128))
    made = analyzer(tmp_path)
    assert grids(made, document) == {"call test_it.test_it": (32,)}
    made.show(open_document(tmp_path / "test_it.py", test.format(64)))
    made.look_again()
    assert not made.is_current(document)
    assert grids(made, document) == {"call test_it.test_it": (64,)}
