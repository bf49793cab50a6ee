"""What a fault is: a line of the product, and a wrong one in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.record import record

if TYPE_CHECKING:
    from pathlib import Path


@record
class Fault:
    """A wrong line.

    Attributes:
        name: of the fault, for the command line.
        file: in the package.
        line: a text that stands there once.
        wrong: what takes its place.
        folder: the tests that have to fail.
        test: one of them that is known to notice, and cheap; the others are asked if it does not.
    """

    name: str
    file: str
    line: str
    wrong: str
    folder: str
    test: str

    @property
    def named(self) -> str:
        """The test that is known to notice, as the runner takes it."""
        return f"tests/{self.folder}/{self.test}"


def seeded(fault: Fault, tree: Path) -> str:
    """Return the file of a tree with the wrong line.

    Raises:
        ValueError: the line does not stand there once.
    """
    text = (tree / "privcalc" / fault.file).read_text(encoding="utf-8")
    if text.count(fault.line) != 1:
        raise ValueError(f"{fault.name}: the line stands there {text.count(fault.line)} times")
    return text.replace(fault.line, fault.wrong)
