"""The table of faults: a line of the product, and a wrong one in its place.

Each is one that was, or might be, written by mistake: a term of a certificate left out, a rounding
to the unsafe side, a count, an order of neighbours or a direction mistaken for another, an end that
is printed for the other. The tests of the folder that mirrors the package have to notice it by
themselves.

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

from typing import TYPE_CHECKING

from tests.faults.of_answers import OF_ANSWERS
from tests.faults.of_curves import OF_CURVES
from tests.faults.of_lines import OF_LINES
from tests.faults.of_records import OF_RECORDS

if TYPE_CHECKING:
    from tests.faults.fault import Fault

FAULTS: tuple[Fault, ...] = (*OF_RECORDS, *OF_LINES, *OF_CURVES, *OF_ANSWERS)
