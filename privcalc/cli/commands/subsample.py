"""The command `subsample`: what sampling buys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.cli.commands import answered, relation_named
from privcalc.errors import UsageError
from privcalc.reporting.questions import (
    read_all,
    read_count,
    read_delta,
    read_number,
    read_order,
    read_tolerance,
)
from privcalc.reporting.subsample import Subsampling, checked_sample

if TYPE_CHECKING:
    from privcalc.cli.options import Text, Texts
    from privcalc.cli.output import Output
    from privcalc.reporting.subsample import Query


def read_sample(q: str | None, n: str | None, m: str | None) -> Query:
    """Read the options of the sampling: --q alone, or --n and --m together."""
    return checked_sample(
        None if q is None else read_number("--q", q),
        None if n is None else read_count("--n", n),
        None if m is None else read_count("--m", m),
    )


EXAMPLES = """\
\b
Examples:
  privcalc subsample gaussian:sigma=5 --q 0.001 --orders 2,8,32
  privcalc subsample laplace:scale=2 --q 1% --delta 1e-6 --count 10000
  privcalc subsample gaussian:sigma=4 --n 60000 --m 256"""


def subsample(
    *,
    spec: str,
    q: Text = None,
    n: Text = None,
    m: Text = None,
    orders: Texts = None,
    delta: Texts = None,
    count: Text = None,
    relation: Text = None,
    tolerance: str = "1e-6",
    engine: str = "auto",
    output: Output,
) -> int:
    """Say what sampling buys: Renyi divergences of a specification that sees a sample only.

    With --q each record is in the sample with that probability (Poisson), with --n and --m the
    sample has a fixed size. Columns: without sampling (base), what no bound from that alone can
    undercut (lower), the tight sum where it is proved, a bound for any mechanism with that curve
    (upper), and the dominating pair (exact).
    With --delta also epsilon after --count rounds, by each accountant.
    """
    deltas = read_all(read_delta, "--delta", delta)
    if count is not None and not deltas:
        raise UsageError("--count needs the delta at which epsilon is asked: add --delta D")
    if output.terse and not deltas:
        raise UsageError("-t prints one number for each question: add --delta D")
    if engine != "auto" and not deltas:
        raise UsageError("--engine is for epsilon: add --delta D")
    ask = Subsampling(
        read_sample(q, n, m),
        read_all(read_order, "--orders", orders),
        deltas,
        1 if count is None else read_count("--count", count),
        relation_named(relation),
        read_tolerance("--tolerance", tolerance),
        engine,
        curve=not output.terse,
    )
    return answered([spec], ask, output)
