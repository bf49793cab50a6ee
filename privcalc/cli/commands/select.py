"""The command `select`: the price of the best of many runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.cli.commands import answered, check_swept, read_budget, relation_named, watching
from privcalc.cli.output import Printer
from privcalc.errors import UsageError
from privcalc.reporting.questions import read_all, read_delta, read_epsilon, read_tolerance
from privcalc.reporting.select import Selecting, read_runs

if TYPE_CHECKING:
    from privcalc.cli.options import Text, Texts
    from privcalc.cli.output import Output


EXAMPLES = """\
\b
Examples:
  privcalc select gaussian:sigma=4 --runs geometric:mean=30 --delta 1e-6
  privcalc select approx:epsilon=0.5,delta=0 --runs geometric:mean=10 --delta 0
  privcalc select gaussian:sigma=2@poisson:q=0.01@_ --thresholds \\
      --epsilon-q 1.5 --delta 1e-6 --runs geometric:mean=10"""


def select(
    *,
    specs: Texts = None,
    runs: str,
    delta: Texts = None,
    epsilon: Texts = None,
    max_epsilon: Text = None,
    max_delta: Text = None,
    exit_zero: bool = False,
    thresholds: bool = False,
    epsilon_q: Text = None,
    sweep: Text = None,
    relation: Text = None,
    tolerance: str = "1e-6",
    engine: str = "auto",
    output: Output,
) -> int:
    """Say what it costs to publish the best of a random number of runs.

    Hyperparameters are tuned, or models compared, by running one mechanism again and again and
    publishing the best result only. SPEC is what one run costs. Every known bound is shown; the
    answer is the smallest, and its lower end an order of the results that does cost so much.
    """
    deltas = read_all(read_delta, "--delta", delta)
    epsilons = read_all(read_epsilon, "--epsilon", epsilon)
    written = specs or []
    if thresholds and (epsilon_q is None or len(deltas) != 1 or epsilons):
        raise UsageError("--thresholds needs --epsilon-q E and one --delta D")
    if epsilon_q is not None and not thresholds:
        raise UsageError("--epsilon-q says nothing without --thresholds")
    if not (thresholds or written):
        raise UsageError("select needs a SPEC: what one run costs")
    if not (deltas or epsilons):
        raise UsageError("select needs --delta D or --epsilon E")
    limits = read_budget(
        max_epsilon=max_epsilon,
        max_delta=max_delta,
        places={"delta": bool(deltas), "epsilon": bool(epsilons)},
    )
    if thresholds and (limits or output.jobs > 1):
        raise UsageError("--thresholds says what candidates have to keep, and checks no budget")
    if thresholds and sweep is not None:
        raise UsageError("--sweep says nothing to --thresholds")
    if sweep is not None:
        check_swept((deltas, epsilons), sweep)
    ask = Selecting(
        runs=read_runs(runs),
        deltas=deltas,
        epsilons=epsilons,
        relation=relation_named(relation),
        tolerance=read_tolerance("--tolerance", tolerance),
        engine=engine,
        verbose=output.verbose,
        limits=limits,
    )
    if epsilon_q is not None:
        from privcalc.reporting.select import thresholds_report

        one = read_epsilon("--epsilon-q", epsilon_q)
        report = watching(
            lambda: thresholds_report(ask.runs, one, deltas[0], ask.relation, written), output
        )
        return Printer(output).print([report])
    places = (deltas, epsilons)
    return answered(written, ask, output, exit_zero=exit_zero, places=places, sweep=sweep)
