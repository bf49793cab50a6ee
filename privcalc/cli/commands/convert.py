"""The command `convert`: one guarantee in another language."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from privcalc.cli.commands import answered, check_swept, read_budget, relation_named
from privcalc.errors import UsageError
from privcalc.record import replace
from privcalc.reporting.convert import Converting, Writing, check_uses
from privcalc.reporting.questions import (
    joined,
    read_all,
    read_count,
    read_delta,
    read_epsilon,
    read_order,
    read_rate,
    read_tolerance,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.accounting.convert import Target
    from privcalc.cli.failure import ExitStatus
    from privcalc.cli.options import Text, Texts
    from privcalc.cli.output import Output
    from privcalc.relation import Relation
    from privcalc.reporting.budget import Budget

EXAMPLES = """\
\b
Examples:
  privcalc convert zcdp:rho=2.56 --delta 1e-10
  privcalc convert gaussian:sigma=1.1@poisson:q=256/60000@14063 --to tradeoff
  privcalc convert laplace:scale=20@1000 --to profile --points 200 --format csv
  privcalc convert gaussian:sigma=4 --to risk --fpr 1e-3
  privcalc convert gaussian:sigma=40@60+gaussian:sigma=9 --filter zcdp:rho=0.1 --delta 1e-5
  privcalc convert gnmax:sigma=40 --data-dependent ./votes.txt --delta 1e-5"""

# Targets that are one number, or one line.
TERSE = ("dp", "zcdp", "gdp", "dp-event")


def convert(
    *,
    specs: list[str],
    to: str = "dp",
    delta: Texts = None,
    epsilon: Texts = None,
    orders: Texts = None,
    points: Text = None,
    fpr: Texts = None,
    prior: Texts = None,
    group: Text = None,
    max_epsilon: Text = None,
    max_delta: Text = None,
    max_rho: Text = None,
    max_mu: Text = None,
    max_advantage: Text = None,
    exit_zero: bool = False,
    sweep: Text = None,
    relation: Text = None,
    tolerance: str = "1e-6",
    engine: str = "auto",
    data_dependent: Texts = None,
    filter_: Text = None,
    output: Output,
) -> int:
    """State one guarantee in another language.

    Between descriptions of one pair of outputs nothing is lost, and both ends are proved. Where
    one number has to stand for a whole curve (zcdp, gdp), or only an upper bound is known, the
    answer is the tightest that is true, and says so.
    """
    given = {
        "--delta": delta,
        "--epsilon": epsilon,
        "--orders": orders,
        "--points": points,
        "--fpr": fpr,
        "--prior": prior,
        "--max-epsilon": max_epsilon,
        "--max-delta": max_delta,
        "--max-rho": max_rho,
        "--max-mu": max_mu,
        "--max-advantage": max_advantage,
    }
    limits = read_budget(
        places={"delta": bool(delta), "epsilon": bool(epsilon)},
        max_epsilon=max_epsilon,
        max_delta=max_delta,
        max_rho=max_rho,
        max_mu=max_mu,
        max_advantage=max_advantage,
    )
    if to == "dp" and not (delta or epsilon):
        to = "profile"
    named = [option for option, value in given.items() if value]
    check_uses(to, named, engine=engine)
    if output.terse and to not in TERSE:
        raise UsageError(
            "-t prints one number: add --delta D or --epsilon E, or take --to zcdp or gdp",
            hint="leave out -t; -q has the exit status alone" if limits else "",
        )
    if sweep is not None:
        _check_swept(to, bool(delta), bool(data_dependent or filter_))
    if to == "dp-event":
        alone = not (data_dependent or filter_ or group)
        return write_events(specs, relation_named(relation), output, alone=alone)
    if data_dependent or filter_:
        _check_mode(data_dependent, filter_, engine, output, limits)
    ask = Converting(
        to=cast("Target", to),
        deltas=read_all(read_delta, "--delta", delta),
        epsilons=read_all(read_epsilon, "--epsilon", epsilon),
        orders=read_all(read_order, "--orders", orders),
        points=None if points is None else read_count("--points", points),
        rates=read_all(read_rate, "--fpr", fpr),
        priors=read_all(read_rate, "--prior", prior),
        records=1 if group is None else read_count("--group", group),
        relation=relation_named(relation),
        tolerance=read_tolerance("--tolerance", tolerance),
        engine=engine,
        data=tuple(data_dependent or ()),
        budget=None if filter_ is None else joined([filter_]).tree,
        limits=limits,
    )
    # Only what is asked at deltas and epsilons has several numbers; rho, mu and risks are no curve.
    numbers = (ask.deltas, ask.epsilons) if to == "dp" else ()
    places = numbers if to in (*TERSE, "risk") else None
    if sweep is not None and to == "dp":
        check_swept(numbers, sweep)
    return answered(specs, ask, output, exit_zero=exit_zero, places=places, sweep=sweep)


def _check_swept(to: str, delta: bool, mode: bool) -> None:  # noqa: FBT001
    """Refuse a sweep over what is no number."""
    if mode:
        raise UsageError("--sweep goes with a guarantee: not with --data-dependent or --filter")
    if to not in ("dp", "zcdp", "gdp"):
        raise UsageError(
            f"--sweep needs one number at each value, and --to {to} has none: take --delta D,"
            " --epsilon E, --to zcdp or --to gdp"
        )
    if to == "gdp" and delta:
        raise UsageError("--delta asks for a second mu, and a sweep has one number at each value")


def _check_mode(
    data: Sequence[str] | None,
    budget: str | None,
    engine: str,
    output: Output,
    limits: Budget | None,
) -> None:
    """Refuse what says nothing to the data at hand, or to a filter."""
    if data and budget:
        raise UsageError("--filter is about guarantees, and --data-dependent about none")
    mode = "--data-dependent" if data else "--filter"
    if engine != "auto":
        raise UsageError(f"--engine says nothing to {mode}")
    if limits:
        raise UsageError(f"{mode} is not checked against a budget; compose and convert SPEC are")
    if data and output.terse:
        raise UsageError("-t has no room to say that a data-dependent number is no guarantee")


def write_events(
    specs: Sequence[str], relation: Relation | None, output: Output, *, alone: bool
) -> ExitStatus:
    """Print each specification as a DpEvent, on a line of its own that can be read again.

    Args:
        specs: as they were given.
        relation: as the command line says.
        output: how to print.
        alone: whether no option was given that changes what is converted.

    Raises:
        UsageError: the format has no form for it.
    """
    if not alone:
        raise UsageError("--group, --filter and --data-dependent say nothing to --to dp-event")
    if output.format not in ("table", "json"):
        raise UsageError(f"--to dp-event prints a line, or --json; not {output.format}")
    if output.format == "table":
        output = replace(output, terse=True)
    return answered(specs, Writing(relation), output)
