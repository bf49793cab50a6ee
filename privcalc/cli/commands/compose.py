"""The command `compose`: the privacy cost of a composition."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from privcalc.cli.commands import (
    answered,
    check_swept,
    forgiven,
    read_budget,
    relation_named,
    watching,
)
from privcalc.cli.output import Printer
from privcalc.errors import UsageError
from privcalc.record import record
from privcalc.reporting.compose import Composing
from privcalc.reporting.questions import read_all, read_delta, read_epsilon, read_tolerance

if TYPE_CHECKING:
    from privcalc.cli.failure import ExitStatus
    from privcalc.cli.options import Text, Texts
    from privcalc.cli.output import Output
    from privcalc.relation import Relation
    from privcalc.render.report import Report
    from privcalc.reporting.questions import Asking
    from privcalc.spec.read import Question


EXAMPLES = """\
\b
Examples:
  privcalc compose gaussian:sigma=1.1@poisson:q=256/60000@14063 --delta 1e-5
  privcalc compose gaussian:sigma=5@100 laplace:scale=20 --epsilon 1,2 --json
  privcalc compose --file ./privacy.toml
  privcalc compose gaussian:sigma=1@50 --delta 1e-6 --sweep sigma=5..20/16
  privcalc compose gaussian:sigma=8@50 --delta 1e-6 --max-epsilon 5"""


def compose(
    *,
    specs: Texts = None,
    delta: Texts = None,
    epsilon: Texts = None,
    max_epsilon: Text = None,
    max_delta: Text = None,
    exit_zero: bool = False,
    sweep: Text = None,
    relation: Text = None,
    tolerance: str = "1e-6",
    engine: str = "auto",
    output: Output,
    file: Text = None,
    certificate: Text = None,
) -> int:
    """Compute the privacy cost of a composition: epsilon at each delta, or delta at each epsilon.

    With neither --delta nor --epsilon the answer is the privacy profile at 21 values of
    epsilon.
    Every number is a bracket that is proved to contain the answer.
    """
    if file is None and not specs:
        raise UsageError("missing argument 'SPEC...' (see privcalc compose --help)")
    deltas = read_all(read_delta, "--delta", delta)
    epsilons = read_all(read_epsilon, "--epsilon", epsilon)
    estimate = engine == "afa"
    if file is not None:
        if specs and all(each.lower().endswith(".toml") for each in specs):
            raise UsageError("--file takes one file", hint="one file for each command")
        asked = bool(specs or deltas or epsilons or max_epsilon or max_delta)
        _check_alone(output, asked=asked, swept=sweep is not None, estimate=estimate)
    if output.terse and not (deltas or epsilons or file):
        raise UsageError("-t prints one number for each question: add --delta D or --epsilon E")
    if output.terse and estimate:
        raise UsageError("-t prints a proved number; --engine afa gives an estimate only")
    places = len(deltas) + len(epsilons)
    if sweep is not None:
        check_swept((deltas, epsilons), sweep)
    if certificate is not None:
        one = places == 1 and file is None and sweep is None and "-" not in (specs or ())
        _check_certificate(certificate, engine, one=one)
    ask = Composing(
        deltas,
        epsilons,
        relation_named(relation),
        read_tolerance("--tolerance", tolerance),
        engine,
        read_budget(
            max_epsilon=max_epsilon,
            max_delta=max_delta,
            places={"delta": bool(deltas), "epsilon": bool(epsilons)},
            estimate=estimate,
        ),
        hints=not output.quiet and sweep is None,
    )
    if file is not None:
        return forgiven(check_file(file, ask, output), exit_zero=exit_zero)
    kinds = (deltas, epsilons) if places else None
    asking: Asking = ask if certificate is None else _Certifying(ask, certificate)
    return answered(specs or (), asking, output, exit_zero=exit_zero, places=kinds, sweep=sweep)


def _check_alone(output: Output, *, asked: bool, swept: bool, estimate: bool) -> None:
    """Refuse what says nothing to a budget file."""
    if asked:
        raise UsageError(
            "--file has what is done with the data, and the budget; give neither as well"
        )
    if swept:
        raise UsageError("--sweep goes with SPEC, not with --file")
    if output.jobs > 1:
        raise UsageError("--jobs says nothing to one question; it goes with - and --sweep")
    if estimate:
        raise UsageError("--engine afa gives an estimate only; a budget check needs a proof")


def check_file(file: str, ask: Composing, output: Output) -> ExitStatus:
    """Check the budget of a file, `-` being standard input, and print what it costs."""
    from privcalc.reporting.gate import MAX_LENGTH, STANDARD_INPUT, checked

    if file != "-":
        return Printer(output).print([watching(lambda: checked(file, ask), output)])
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("--file - reads standard input, and it is a terminal, or closed")
    from privcalc.opened import decoded

    # It is refused before it fills memory.
    text = decoded(STANDARD_INPUT, sys.stdin.buffer.read(4 * MAX_LENGTH + 4))
    return Printer(output).print([watching(lambda: checked(STANDARD_INPUT, ask, text), output)])


@record
class _Certifying:
    """Asks, and writes the certificate before anything is printed."""

    ask: Composing
    name: str

    @property
    def relation(self) -> Relation | None:
        """Return the relation that was asked for."""
        return self.ask.relation

    def __call__(self, question: Question) -> list[Report]:
        """Answer one question, and write down what proves the answer."""
        from privcalc.render.certificate import certificate

        [report] = self.ask(question)
        try:
            Path(self.name).write_text(certificate(report), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--certificate: cannot write {self.name}: {error.strerror}") from None
        return [report]


def _check_certificate(name: str, engine: str, *, one: bool) -> None:
    """Refuse, before anything is computed, what has no certificate."""
    if not one:
        raise UsageError("--certificate takes one question: a SPEC with one --delta or --epsilon")
    if engine == "afa":
        raise UsageError("--certificate writes what is proved; --engine afa gives an estimate only")
    if name == "-":
        raise UsageError("--certificate takes the name of a file: ./- for one that is called -")
    if not Path(name).parent.is_dir():
        raise UsageError(f"--certificate: there is no folder {Path(name).parent}")
