"""The command `select`: the price of the best of many runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from privcalc.bounds import TOLERANCE
from privcalc.commands.command import command
from privcalc.errors import SpecError, UsageError
from privcalc.render.report import OneSided, Report
from privcalc.render.words import named, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from privcalc.accounting.select import Selected, Selection
    from privcalc.commands.command import Values
    from privcalc.relation import Relation
    from privcalc.render.report import Named
    from privcalc.spec.read import Question
    from privcalc.spec.tree import Parameters

# The distribution of the runs is read as the wrapper of this specification, which costs nothing.
BEFORE = "pure:epsilon=0@select:runs="
EXAMPLE = "geometric:mean=30"


def runs_remark(runs: Mapping[str, float | str]) -> tuple[str, str]:
    """Describe the number of runs in one line."""
    facts = [f"{name.replace('_', ' ')} {named(runs[name])}" for name in runs if name != "family"]
    return "runs", f"{runs['family']}: {', '.join(facts)}"


def read_runs(text: str) -> Parameters:
    """Read the distribution of the number of runs: one call, such as `geometric:mean=30`.

    Raises:
        SpecError: it cannot be read; the span is one of this text.
        UsageError: it is more than one call, or a parameter of it is free.
    """
    from privcalc.spec.parse import parse
    from privcalc.spec.registry import holes
    from privcalc.spec.tree import Leaf, Wrapped

    several = f"--runs takes one distribution, such as {EXAMPLE}"
    if not re.match(r"[^:,]*[^:,\s][^:,]*(:|$)", text):
        raise UsageError(several)
    try:
        tree = parse(BEFORE + text.replace(":", ",", 1)).tree
    except SpecError as error:
        start, end = (max(0, each - len(BEFORE)) for each in error.span or (0, 0))
        message = error.message.replace("select ", f"{text.partition(':')[0]} ", 1)
        hint = error.hint
        if ":" not in text or re.search("@|select|pure|discrete", hint):
            hint = f"for example {EXAMPLE}, or fixed:n=30"
        elif re.match(r"\s*(neg|nb)", text):
            hint = "write tnb:shape=S,mean=M, which is truncated at one run"
        span = (start, max(1, min(len(text), end)))
        raise SpecError(f"--runs: {message}", text=text, span=span, hint=hint) from None
    if not (isinstance(tree, Wrapped) and isinstance(tree.event, Leaf)):
        raise UsageError(several)
    if holes(tree):
        raise UsageError(
            "--runs has a free parameter; calibrate finds the value of one",
            hint="privcalc compose SPEC@select:runs=geometric,mean=_ --sweep 10,100 sweeps it",
        )
    return tree.parameters


# What the columns are, for people.
REMARKS = {
    "methods": (
        "upper bound",
        "the same by one theorem each, which -v names; the least is the answer",
    ),
    "constants": ("C", "delta at e is at most the mean number of runs x one run's at e - C"),
    "candidates": (
        "candidates",
        "expected runs that each method proves at the price of the paper's",
    ),
}
# What each method is.
THEOREMS = {
    "paper": "as published (Koskela, Redberg, Wang 2024), at the best of its free parameter",
    "tight": "the same argument with the smallest constant that it allows",
    "pointwise": "the worst test at each outcome, instead of one ratio for all of them",
    "rdp": "Renyi divergences (Papernot, Steinke 2022), at the best orders",
    "liu_talwar": "Liu, Talwar 2019",
    "pure": "the constant and the largest loss of a base: what holds at delta 0",
    "composition": "the most runs that there can be, composed",
}


def _prepared(values: Values) -> Values:
    """Read the number of runs; something has to be asked of the best of them."""
    if not (values.get("delta") or values.get("epsilon")):
        raise UsageError("select needs --delta D or --epsilon E")
    return {**values, "runs": read_runs(values["runs"])}


EXAMPLES = """\
  privcalc select gaussian:sigma=4 --runs geometric:mean=30 --delta 1e-6
  privcalc select approx:epsilon=0.5,delta=0 --runs geometric:mean=10 --delta 0
  privcalc select gaussian:sigma=2@poisson:q=0.01@_ --thresholds \\
      --epsilon-q 1.5 --delta 1e-6 --runs geometric:mean=10"""


@command(
    "specs runs delta epsilon max_epsilon max_delta exit_zero thresholds epsilon_q sweep relation"
    " tolerance engine",
    needed="runs",
    examples=EXAMPLES,
    prepare=_prepared,
)
def select(
    question: Question,
    *,
    runs: Parameters,
    delta: tuple[float, ...] = (),
    epsilon: tuple[float, ...] = (),
    relation: Relation | None = None,
    tolerance: float = TOLERANCE,
    engine: str = "auto",
    verbose: bool = False,
) -> Iterator[Report]:
    """Compute the cost of publishing the best of a random number of runs.

    Hyperparameters are tuned, or models compared, by running one mechanism again and again and
    publishing the best result only. SPEC describes one run. Every known bound is shown; the answer
    is the smallest, and its lower end is the cost of one explicit order of the results.

        >>> import privcalc
        >>> best = privcalc.select("gaussian:sigma=4", runs="geometric:mean=30", delta=1e-6)
        >>> 1.788 < best.epsilon.lower <= best.epsilon.upper < 1.789
        True
        >>> best.bound("base_epsilon").upper < 1.07
        True
    """
    from privcalc.accounting.select import select as accounted

    found = accounted(
        question.tree,
        runs,
        relation=relation,
        deltas=delta,
        epsilons=epsilon,
        tolerance=tolerance,
        engine=engine,
        compared=verbose,
    )
    for answer in found.answers:
        one_run = f"base_{answer.quantity}"
        columns: dict[str, Named] = {
            "methods": {name: OneSided(value) for name, value in answer.methods.items()},
            "constants": {name: OneSided(value) for name, value in answer.constants.items()},
            "candidates": dict(answer.candidates),
        }
        shown = tuple(name for name in columns if columns[name])
        yield Report.of(
            found,
            answer,
            {
                answer.quantity: answer.bound,
                one_run: answer.base,
                **{name: columns[name] for name in shown},
                "runs": dict(found.runs),
            },
            tables=((answer.quantity, one_run), shown),
            headings={one_run: "one run"},
            remarks=(runs_remark(found.runs), *(REMARKS[name] for name in shown)),
            details=tuple(_details(found, answer)) if verbose else (),
        )


def _details(found: Selection, answer: Selected) -> Iterator[str]:
    """Say what each method is, and what the best of them buys."""
    from privcalc.accounting.select import candidates_of_answer

    yield from (f"{name}: {THEOREMS[name]}" for name in answer.methods)
    if (mean := candidates_of_answer(found, answer)) is not None:
        times = f"{mean / found.mean:.3g} times as many"
        yield f"pointwise proves the paper's price for {number(mean)} expected runs, {times}"
