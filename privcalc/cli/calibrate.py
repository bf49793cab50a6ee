"""The command `calibrate`: the value of a hole that meets a target. `calibrating` answers."""

# No postponed annotations: Typer reads them at run time.

from privcalc.cli.exit_status import ExitStatus
from privcalc.cli.numbers import read_tolerance
from privcalc.cli.options import (
    ColorMode,
    ColorOption,
    FormatOption,
    JsonOption,
    QuietOption,
    RelationOption,
    ToleranceOption,
    VerboseOption,
    relation_named,
)
from privcalc.cli.output import Printer, read_output
from privcalc.cli.questions import joined, reads_standard_input, refuse_terminal
from privcalc.cli.target_options import (
    AdvantageOption,
    HoleArgument,
    MuOption,
    RatioOption,
    RhoOption,
    SweepOption,
    TargetDeltaOption,
    TargetEpsilonOption,
    TargetFprOption,
    TerseSufficientOption,
    TprOption,
)
from privcalc.errors import UsageError

EXAMPLES = """\
\b
Examples:
  privcalc calibrate gaussian:sigma=_@poisson:q=0.01@1000 --epsilon 3 --delta 1e-5
  privcalc calibrate gaussian:sigma=1@poisson:q=0.01@_ --epsilon 2 --delta 1e-5
  privcalc calibrate gaussian:sigma=_+laplace:scale=_ --ratio 1,2 --mu 1
  privcalc calibrate gaussian:sigma=_@poisson:q=0.01@1000 --epsilon 3 --delta 1e-5 \\
      --sweep q=0.001:0.1:20"""


def calibrate(
    *,
    specs: HoleArgument,
    epsilon: TargetEpsilonOption = None,
    delta: TargetDeltaOption = None,
    mu: MuOption = None,
    rho: RhoOption = None,
    advantage: AdvantageOption = None,
    tpr: TprOption = None,
    fpr: TargetFprOption = None,
    ratio: RatioOption = None,
    sweep: SweepOption = None,
    relation: RelationOption = None,
    tolerance: ToleranceOption = "1e-9",
    json: JsonOption = False,
    form: FormatOption = None,
    terse: TerseSufficientOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    color: ColorOption = ColorMode.AUTO,
) -> ExitStatus:
    """Find the value of the hole in a specification that meets a target: how much noise, say.

    Write _ for one value, or for a count. The value printed is certain to meet the target, and the
    one beside it is certain to miss it; both are judged as privcalc compose judges them.
    """
    # Loaded when it is this command that runs.
    from privcalc.cli.calibrating import Calibrating, read_ratio, read_sweep, read_target

    output = read_output(
        json=json, form=form, terse=terse, quiet=quiet, verbose=verbose, color=color
    )
    given = {
        "epsilon": epsilon,
        "delta": delta,
        "mu": mu,
        "rho": rho,
        "advantage": advantage,
        "tpr": tpr,
        "fpr": fpr,
    }
    ask = Calibrating(
        target=read_target({name: text for name, text in given.items() if text is not None}),
        ratio=read_ratio(ratio),
        sweep=None if sweep is None else read_sweep(sweep),
        relation=relation_named(relation),
        tolerance=read_tolerance("--tolerance", tolerance),
        show_progress=not quiet,
    )
    if terse and ratio is not None:
        raise UsageError("-t prints one number, and with --ratio there are several; use --json")
    if reads_standard_input(specs):
        from privcalc.cli.stream import answer_lines

        if sweep is not None:
            raise UsageError("--sweep goes with one specification, not with -")
        refuse_terminal()
        return answer_lines(ask, output, holes=True)
    return Printer(output).print(ask(joined(specs, holes=True)))
