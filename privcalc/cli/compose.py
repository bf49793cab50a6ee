"""The command `compose`: what the whole costs. Here its options; `composing` answers."""

# No postponed annotations: Typer reads them at run time.

from privcalc.cli.check import read_budget
from privcalc.cli.composing import Composing
from privcalc.cli.exit_status import ExitStatus
from privcalc.cli.numbers import read_delta, read_epsilon, read_tolerance, split
from privcalc.cli.options import (
    ColorMode,
    ColorOption,
    DeltaOption,
    Engine,
    EngineOption,
    EpsilonOption,
    FileOption,
    FormatOption,
    JsonOption,
    MaxDeltaOption,
    MaxEpsilonOption,
    QuietOption,
    RelationOption,
    SpecsArgument,
    TerseOption,
    ToleranceOption,
    VerboseOption,
    relation_named,
)
from privcalc.cli.output import Printer, read_output
from privcalc.cli.questions import joined, reads_standard_input, refuse_terminal
from privcalc.errors import UsageError

EXAMPLES = """\
\b
Examples:
  privcalc compose gaussian:sigma=1.1@poisson:q=256/60000@14063 --delta 1e-5
  privcalc compose gaussian:sigma=5@100 laplace:scale=20 --epsilon 1,2 --json
  privcalc compose gaussian:sigma=8@50 --delta 1e-6 --max-epsilon 5"""


def compose(
    *,
    specs: SpecsArgument,
    delta: DeltaOption = None,
    epsilon: EpsilonOption = None,
    max_epsilon: MaxEpsilonOption = None,
    max_delta: MaxDeltaOption = None,
    relation: RelationOption = None,
    tolerance: ToleranceOption = "1e-9",
    engine: EngineOption = Engine.AUTO,
    json: JsonOption = False,
    form: FormatOption = None,
    terse: TerseOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    color: ColorOption = ColorMode.AUTO,
    file: FileOption = None,
) -> ExitStatus:
    """Say what everything together costs: epsilon at each delta, or delta at each epsilon.

    With neither --delta nor --epsilon the answer is the privacy profile at 21 values of
    epsilon.
    Every number is a bracket that is proved to contain the answer.
    """
    if file is not None:
        raise UsageError("--file is not available yet; write the specification as SPEC, or pipe -")
    output = read_output(
        json=json, form=form, terse=terse, quiet=quiet, verbose=verbose, color=color
    )
    deltas = tuple(read_delta("--delta", text) for text in split("--delta", delta or ()))
    epsilons = tuple(read_epsilon("--epsilon", text) for text in split("--epsilon", epsilon or ()))
    estimate = engine is Engine.AFA
    if terse and not (deltas or epsilons):
        raise UsageError("-t prints one number for each question: add --delta D or --epsilon E")
    if terse and estimate:
        raise UsageError("-t prints a proved number; --engine afa gives an estimate only")
    ask = Composing(
        deltas,
        epsilons,
        relation_named(relation),
        read_tolerance("--tolerance", tolerance),
        engine.value,
        read_budget(
            max_epsilon,
            max_delta,
            deltas=bool(deltas),
            epsilons=bool(epsilons),
            estimate=estimate,
        ),
        hints=not quiet,
    )
    if reads_standard_input(specs):
        from privcalc.cli.stream import answer_lines

        refuse_terminal()
        return answer_lines(ask, output)
    return Printer(output).print(ask(joined(specs)))
