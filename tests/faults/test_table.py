"""The faults of the table can still be put where they were."""

from __future__ import annotations

import ast

import pytest

from tests.faults.__main__ import ROOT, seeded
from tests.faults.table import FAULTS, Fault


def test_names_differ() -> None:
    """Each is one of its own."""
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len({(fault.file, fault.line, fault.wrong) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_line_stands_where_the_table_says(fault: Fault) -> None:
    """Once; what it becomes is another program, and its folder has tests."""
    wrong = seeded(fault, ROOT)
    right = (ROOT / "privcalc" / fault.file).read_text(encoding="utf-8")
    assert ast.dump(ast.parse(wrong)) != ast.dump(ast.parse(right))
    assert list((ROOT / "tests" / fault.folder).rglob("test_*.py"))
