"""The command `select`: the price of the best of many runs. `selecting` answers."""

# No postponed annotations: Typer reads them at run time.

from privcalc.cli.exit_status import ExitStatus
from privcalc.cli.numbers import read_delta, read_epsilon, read_tolerance, split
from privcalc.cli.options import (
    CandidatesArgument,
    ColorMode,
    ColorOption,
    DeltaOption,
    EngineOfCurveOption,
    EpsilonOption,
    FormatOption,
    JsonOption,
    ProvedEngine,
    QuietOption,
    RelationOption,
    RunEpsilonOption,
    RunsOption,
    TerseOption,
    ThresholdsOption,
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
  privcalc select gaussian:sigma=4 --runs geometric:mean=30 --delta 1e-6
  privcalc select approx:epsilon=0.5,delta=0 --runs geometric:mean=10 --delta 0
  privcalc select gaussian:sigma=2@poisson:q=0.01@_ --thresholds \\
      --epsilon-q 1.5 --delta 1e-6 --runs geometric:mean=10"""


def select(
    *,
    specs: CandidatesArgument = None,
    runs: RunsOption,
    delta: DeltaOption = None,
    epsilon: EpsilonOption = None,
    thresholds: ThresholdsOption = False,
    epsilon_q: RunEpsilonOption = None,
    relation: RelationOption = None,
    tolerance: ToleranceOption = "1e-9",
    engine: EngineOfCurveOption = ProvedEngine.AUTO,
    json: JsonOption = False,
    form: FormatOption = None,
    terse: TerseOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    color: ColorOption = ColorMode.AUTO,
) -> ExitStatus:
    """Say what it costs to publish the best of a random number of runs.

    Hyperparameters are tuned, or models compared, by running one mechanism again and again and
    publishing the best result only. SPEC is what one run costs. Every known bound is shown; the
    answer is the smallest, and its lower end an order of the results that does cost so much.
    """
    # Loaded when it is this command that runs.
    from privcalc.cli.selecting import Selecting, read_runs

    output = read_output(
        json=json, form=form, terse=terse, quiet=quiet, verbose=verbose, color=color
    )
    deltas = tuple(read_delta("--delta", text) for text in split("--delta", delta or ()))
    epsilons = tuple(read_epsilon("--epsilon", text) for text in split("--epsilon", epsilon or ()))
    written = specs or []
    if thresholds and (epsilon_q is None or len(deltas) != 1 or epsilons):
        raise UsageError("--thresholds needs --epsilon-q E and one --delta D")
    if epsilon_q is not None and not thresholds:
        raise UsageError("--epsilon-q says nothing without --thresholds")
    if not (thresholds or written):
        raise UsageError("select needs a SPEC: what one run costs")
    if not (deltas or epsilons):
        raise UsageError("select needs --delta D or --epsilon E")
    ask = Selecting(
        runs=read_runs(runs),
        deltas=deltas,
        epsilons=epsilons,
        relation=relation_named(relation),
        tolerance=read_tolerance("--tolerance", tolerance),
        engine=engine.value,
        verbose=verbose,
    )
    if epsilon_q is not None:
        from privcalc.cli.thresholds import thresholds_report

        report = thresholds_report(ask, read_epsilon("--epsilon-q", epsilon_q), written)
        return Printer(output).print([report])
    if reads_standard_input(written):
        from privcalc.cli.stream import answer_lines

        refuse_terminal()
        return answer_lines(ask, output)
    return Printer(output).print(ask(joined(written)))
