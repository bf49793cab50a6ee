"""The table of faults: a line of the product, and a wrong one in its place.

Each is one that was, or might be, written by mistake: a term of a certificate left out, a rounding
to the unsafe side, a count, an order of neighbours or a direction mistaken for another, an end that
is printed for the other. Each names a test that notices it, and is cheap; should that fail to, the
others of its folder are asked.

Left out, as no test can tell:

* P(D), by which `engine/inversion/solve.py` lowers lower ends. As (1 - v)_+ >= 1 - v, the
  closed form says at most what paths with an outcome in D contribute, and what both sides lack of
  them only takes away: the sum exceeds delta by nothing of D.
* The order of the two data sets of the lower pair of `wrappers/shuffle.py`: both are replace-one.
* That a mechanism without members alone attains a chain (`wrappers/group.py`), and that an envelope
  has no opposite records (`wrappers/poisson.py`): no mechanism that stands for any program has
  members, and none with members has opposite records.
* The rounding of D c in `losses/discrete_gaussian.py`: log S has a slope of at most
  1 / (2 v) in r, as the mean of a discrete Gaussian is within 1/2 of its centre. So it moves by
  u D c / (2 v) at most, a sixteenth of the 16 u D^2 c (c + 1) / (2 v) that are added, and twice.
* Which conversion a bound by the largest loss is named after (`renyi/best_order.py`): it
  holds for each.
"""

from __future__ import annotations

import json
from pathlib import Path

from privcalc.record import record


@record
class Fault:
    """A wrong line.

    Attributes:
        name: of the fault, for the command line.
        file: in the package.
        line: a text that stands there once.
        wrong: what takes its place.
        test: one that is known to notice, below `tests/`.
    """

    name: str
    file: str
    line: str
    wrong: str
    test: str

    @property
    def named(self) -> str:
        """The test as the runner takes it."""
        return f"tests/{self.test}"

    @property
    def folder(self) -> str:
        """Where it stands, with others that may notice."""
        return self.named.partition("::")[0].rpartition("/")[0]


TABLE = Path(__file__).with_name("faults.jsonl")
FAULTS = tuple(Fault(**json.loads(row)) for row in TABLE.read_text("utf-8").splitlines())


def seeded(fault: Fault, tree: Path) -> str:
    """Return the file of a tree with the wrong line.

    Raises:
        ValueError: the line does not stand there once.
    """
    text = (tree / "privcalc" / fault.file).read_text(encoding="utf-8")
    if text.count(fault.line) != 1:
        raise ValueError(f"{fault.name}: the line stands there {text.count(fault.line)} times")
    return text.replace(fault.line, fault.wrong)
