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
        first: the file of them that is asked first, as it is known to notice; "" for any.
    """

    name: str
    file: str
    line: str
    wrong: str
    folder: str
    first: str = ""

    @property
    def tests(self) -> tuple[str, ...]:
        """What is run, one after the other until one notices: the file, and all of the folder."""
        folder = f"tests/{self.folder}"
        return (f"{folder}/{self.first}", folder) if self.first else (folder,)


def seeded(fault: Fault, tree: Path) -> str:
    """Return the file of a tree with the wrong line.

    Raises:
        ValueError: the line does not stand there once.
    """
    text = (tree / "privcalc" / fault.file).read_text(encoding="utf-8")
    if text.count(fault.line) != 1:
        raise ValueError(f"{fault.name}: the line stands there {text.count(fault.line)} times")
    return text.replace(fault.line, fault.wrong)
