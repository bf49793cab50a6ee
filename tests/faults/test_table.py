"""The faults of the table can still be put where they were."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.faults.__main__ import ROOT
from tests.faults.fault import FAULTS, Fault, seeded


@cache
def program(file: str) -> str:
    """Return what stands there, without its comments and spaces."""
    return ast.dump(ast.parse((ROOT / "privcalc" / file).read_text(encoding="utf-8")))


@cache
def names_in(file: str) -> set[str]:
    """Return the names of the tests in a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}


def test_names_differ() -> None:
    """Each is one of its own."""
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len({(fault.file, fault.line, fault.wrong) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_line_stands_where_the_table_says(fault: Fault) -> None:
    """Once; what it becomes is another program, and there is a test of the name."""
    wrong = seeded(fault, ROOT)
    assert ast.dump(ast.parse(wrong)) != program(fault.file)
    file, *inside = fault.named.partition("[")[0].split("::")
    assert set(inside) - names_in(file) <= {each for each in inside if each[0] == "T"}
