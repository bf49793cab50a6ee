"""Data flows one way: which layer may import which, read off the source without running it."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from privcalc.spec import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(registry.__file__).parents[1]


@dataclass(frozen=True)
class Rule:
    """What a layer may import beside itself and the standard library.

    Each word allows the module of that name and all below it. Imports for type checking only are
    not looked at: they bind nothing.
    """

    anywhere: str
    in_functions: str = ""


_BASE = "privcalc.errors privcalc.exact privcalc.bounds privcalc.record privcalc.relation"
_NUMBERS = "privcalc.numerics numpy scipy"
_LAWS = "privcalc.losses privcalc.renyi"
_BELOW_CLI = (
    f"{_BASE} {_NUMBERS} privcalc.spec {_LAWS} privcalc.engine privcalc.tradeoff privcalc.selection"
)
# The package itself is its version.
_CLI = "privcalc.render privcalc.commands typer"
_ABOVE = f"{_BASE} privcalc privcalc.version privcalc.spec privcalc.accounting privcalc.calibration"

# The longest name that is a prefix of the module's decides. A new layer needs a line here.
RULES = {
    # Imported by everybody, and knowing nobody.
    "privcalc.errors": Rule(""),
    "privcalc.record": Rule(""),
    "privcalc.relation": Rule(""),
    "privcalc.exact": Rule("privcalc.record"),
    "privcalc.opened": Rule("privcalc.errors"),
    "privcalc.bounds": Rule("privcalc.errors privcalc.exact privcalc.record"),
    # Text <-> tree, with the standard library alone.
    "privcalc.spec": Rule(f"{_BASE} privcalc.opened"),
    # From numbers up to an engine: no specification, no mechanism.
    "privcalc.numerics": Rule("privcalc.errors privcalc.record numpy scipy"),
    "privcalc.losses": Rule(f"{_BASE} {_NUMBERS}"),
    "privcalc.renyi": Rule(f"{_BASE} {_NUMBERS} privcalc.losses"),
    "privcalc.engine": Rule(f"{_BASE} {_NUMBERS} {_LAWS}"),
    "privcalc.tradeoff": Rule(f"{_BASE} {_NUMBERS} {_LAWS} privcalc.engine"),
    "privcalc.selection": Rule(f"{_BASE} {_NUMBERS} {_LAWS} privcalc.engine privcalc.tradeoff"),
    # Reads the file of a distribution.
    "privcalc.selection.distribution": Rule(
        f"{_BASE} {_NUMBERS} privcalc.selection", in_functions="privcalc.mechanisms.files"
    ),
    # Declarations that load fast; numerics inside methods, and no engine at all.
    "privcalc.mechanisms": Rule(
        "privcalc.errors privcalc.exact privcalc.record privcalc.relation privcalc.spec.registry"
        " privcalc.spec.tree privcalc.spec.entry privcalc.opened",
        in_functions=f"{_BASE} {_NUMBERS} {_LAWS}",
    ),
    # What a matrix amounts to, loaded where there is one.
    "privcalc.numerics.participation": Rule(
        "privcalc.errors privcalc.record privcalc.numerics numpy"
    ),
    # A test and what it lets pass are composed by engines.
    "privcalc.mechanisms.ptr": Rule(
        "privcalc.errors privcalc.exact privcalc.record privcalc.relation privcalc.spec"
        " privcalc.mechanisms.base",
        in_functions=f"{_BASE} {_NUMBERS} privcalc.selection.proposal",
    ),
    # A wrapper says what it does to the terms of its event: a group is a chain on a lattice, and
    # the best of several runs rests on what an engine says of one.
    "privcalc.wrappers": Rule(
        "privcalc.errors privcalc.exact privcalc.record privcalc.relation privcalc.spec.registry"
        " privcalc.spec.tree privcalc.spec.entry",
        in_functions=f"{_BASE} {_NUMBERS} {_LAWS} privcalc.engine.terms"
        " privcalc.engine.composition privcalc.selection.node privcalc.selection.until"
        " privcalc.selection.distribution privcalc.selection.runs",
    ),
    # Trees to answers: everything below the command line.
    "privcalc.accounting": Rule(f"{_BELOW_CLI} privcalc.mechanisms privcalc.wrappers"),
    # Searches ask the entry functions; one of these asks the search, and so does the one that finds
    # the most runs that thresholds allow.
    "privcalc.calibration": Rule(f"{_BELOW_CLI} privcalc.wrappers privcalc.accounting"),
    "privcalc.accounting.calibrate": Rule(f"{_BELOW_CLI} privcalc.accounting privcalc.calibration"),
    "privcalc.accounting.select": Rule(
        f"{_BELOW_CLI} privcalc.accounting privcalc.calibration privcalc.wrappers"
    ),
    # Answers to text.
    "privcalc.render": Rule(_ABOVE),
    "privcalc.render.plain": Rule(f"{_ABOVE} privcalc.render", in_functions="rich"),
    # What is drawn, for a terminal and by matplotlib, which is an extra.
    "privcalc.picture": Rule(f"{_ABOVE} privcalc.render"),
    "privcalc.picture.figure": Rule(f"{_ABOVE} privcalc.render privcalc.picture matplotlib"),
    # Each command, with its options, and its answers as reports.
    "privcalc.commands": Rule(
        f"{_ABOVE} privcalc.opened privcalc.render", in_functions="privcalc.picture"
    ),
    "privcalc.schema": Rule(""),
    # The command line calls all of it; numbers load when one is first needed.
    "privcalc.cli": Rule(
        f"{_ABOVE} privcalc.opened privcalc.render privcalc.commands typer",
        in_functions="privcalc.picture",
    ),
    # How much work is spent, which whoever works has loaded.
    "privcalc.cli.progress": Rule("", in_functions="privcalc.numerics.work rich"),
    "privcalc.__main__": Rule("privcalc privcalc.opened privcalc.cli"),
    "privcalc.version": Rule(""),
    # What `import privcalc` offers is loaded when it is asked for.
    "privcalc": Rule(f"{_BASE} privcalc.version", in_functions="privcalc.commands"),
}

# The one import that points upward, of every module of two packages, and the table of commands, of
# which only the one that is asked for is loaded.
BY_NAME = {"privcalc", "privcalc.spec.registry", "privcalc.commands.command", "privcalc.cli.output"}

# What is read without the rest, and so a file of its own, however short.
ALONE = {"privcalc.version"}


@dataclass(frozen=True)
class Import:
    """One import: of what, in which line, and whether inside a function."""

    name: str
    line: int
    inside: bool


def modules() -> dict[str, Path]:
    """Return every module of the package by name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ("privcalc", *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


@cache
def tree_of(module: str) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def imports(tree: ast.AST, *, inside: bool = False, types: bool = False) -> Iterator[Import]:
    """Yield the imports of a module; those under `if TYPE_CHECKING` only with `types`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not types:
            continue
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for alias in node.names:
                # `from privcalc.spec import parse` is an import of the module privcalc.spec.parse.
                whole = f"{base}.{alias.name}"
                yield Import(whole if whole in MODULES else base, node.lineno, inside)
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(node, inside=inside or function, types=types)


def rule_of(module: str) -> tuple[str, Rule]:
    """Return the layer of a module, and its rule."""
    layers = [layer for layer in RULES if f"{module}.".startswith(f"{layer}.")]
    # Only the package itself is ruled by its own name: a new layer must get a line.
    layers = [layer for layer in layers if layer != "privcalc" or module == "privcalc"]
    if not layers:
        pytest.fail(f"{module} belongs to no layer of the table")
    layer = max(layers, key=len)
    return layer, RULES[layer]


def allowed(module: str, found: Import) -> bool:
    """Say whether the layer of a module may have this import."""
    layer, rule = rule_of(module)
    root = found.name.split(".", 1)[0]
    if root in sys.stdlib_module_names:
        return True
    words = [*rule.anywhere.split(), *(rule.in_functions.split() if found.inside else ())]
    if layer != "privcalc":
        words.append(layer)
    # The word "privcalc" allows the package itself (its version), not all below it.
    return any(
        found.name == word or (word != "privcalc" and found.name.startswith(f"{word}."))
        for word in words
    )


@pytest.mark.parametrize("module", MODULES)
def test_imports_follow_the_layers(module: str) -> None:
    """Each module imports only what its layer may."""
    wrong = [
        f"{MODULES[module].name}:{found.line} imports {found.name}"
        for found in imports(tree_of(module))
        if not allowed(module, found)
    ]
    assert wrong == []


def circles(edges: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the sets of modules that reach one another: the components of Tarjan (1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = set()

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for other in edges[name]:
            if other not in order:
                visit(other)
            if other in stack:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == order[name]:
            place = stack.index(name)
            if len(stack) - place > 1:
                found.add(frozenset(stack[place:]))
            del stack[place:]

    for name in edges:
        if name not in order:
            visit(name)
    return found


def test_no_circle() -> None:
    """No module needs another that needs it, not even to name a type or inside a function."""
    edges = {
        module: {each.name for each in imports(tree_of(module), types=True)} & MODULES.keys()
        for module in MODULES
    }
    short = {
        frozenset(name.removeprefix("privcalc.") for name in circle) for circle in circles(edges)
    }
    assert short == set()


def test_circles_are_found() -> None:
    """Two modules, three modules, and a chain that is none."""
    edges = {"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"e"}, "e": {"c"}, "f": {"a", "d"}}
    assert circles(edges) == {frozenset("ab"), frozenset("cde")}
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == set()


def test_a_file_holds_one_concept() -> None:
    """A file is neither a fragment nor several files; two are read before all else, and alone."""
    lines = {
        module: len(path.read_text(encoding="utf-8").splitlines())
        for module, path in MODULES.items()
        if path.name != "__init__.py" and module not in ALONE
    }
    assert {module: count for module, count in lines.items() if not 40 <= count <= 700} == {}


def test_a_constant_is_given_once() -> None:
    """Where two files are joined, what both have under one name need not be the same."""
    for module in MODULES:
        nodes = [node for node in tree_of(module).body if isinstance(node, ast.Assign)]
        found = [each for node in nodes for target in node.targets for each in ast.walk(target)]
        names = [each.id for each in found if isinstance(each, ast.Name)]
        assert len(names) == len(set(names)), module


@pytest.mark.slow
def test_modules_are_loaded_by_name_in_few_places() -> None:
    """`import_module` hides an import from the test above; who uses it is on a list by name."""
    users = {
        module
        for module in MODULES
        if {"import_module", "__import__"}
        & {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(tree_of(module))}
    }
    assert users <= BY_NAME
    layers = ("privcalc.mechanisms.", "privcalc.wrappers.")
    assert all(f"{name}.".startswith(layers) for name in registry.UPWARD)


def test_nothing_imports_the_command_line() -> None:
    """Only `python -m privcalc` and the command line itself know that there is one."""
    for module, path in MODULES.items():
        if module == "privcalc.__main__" or module.startswith("privcalc.cli"):
            continue
        assert "privcalc.cli" not in path.read_text(encoding="utf-8"), module


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("privcalc.spec.parse", "import numpy"),
        ("privcalc.spec.parse", "from privcalc.mechanisms import gaussian"),
        ("privcalc.spec.parse", "def f():\n    import numpy"),
        ("privcalc.numerics.rounding", "from privcalc.bounds import Bound"),
        ("privcalc.engine.inversion.line_sum", "from privcalc.mechanisms.gaussian import Gaussian"),
        ("privcalc.engine.inversion.line_sum", "from privcalc import spec"),
        ("privcalc.losses.law", "import privcalc.engine.inversion.line_sum"),
        ("privcalc.mechanisms.gaussian", "import numpy as np"),
        ("privcalc.mechanisms.gaussian", "from privcalc.spec import parse"),
        ("privcalc.mechanisms.gaussian", "def f():\n    from privcalc.engine import contour"),
        ("privcalc.accounting.compose", "from privcalc.render import json"),
        ("privcalc.accounting.compose", "import typer"),
        ("privcalc.render.data", "import rich"),
        ("privcalc.render.plain", "import rich"),
        ("privcalc.cli.app", "def f():\n    import rich.table"),
        ("privcalc.cli.app", "import numpy"),
        ("privcalc.errors", "from . import bounds"),
    ],
)
def test_the_rules_forbid(module: str, line: str) -> None:
    """The table says no to imports that point upward, and to heavy ones in light places."""
    assert not all(allowed(module, found) for found in imports(ast.parse(line)))


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("privcalc.spec.parse", "from privcalc.spec.syntax import Scanner\nimport re"),
        ("privcalc.mechanisms.gaussian", "from privcalc.spec.registry import mechanism"),
        ("privcalc.mechanisms.gaussian", "def f():\n    import numpy as np"),
        ("privcalc.mechanisms.gaussian", "if TYPE_CHECKING:\n    import numpy as np"),
        ("privcalc.render.plain", "def f():\n    from rich.table import Table"),
        ("privcalc.cli.app", "from privcalc import __version__\nimport typer"),
        ("privcalc.engine.inversion.line_sum", "import numpy as np"),
    ],
)
def test_the_rules_allow(module: str, line: str) -> None:
    """The table says yes to imports that point downward."""
    assert all(allowed(module, found) for found in imports(ast.parse(line)))
