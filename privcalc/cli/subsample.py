"""The command `subsample`: what sampling buys. Here its options; `subsampling` answers."""

# No postponed annotations: Typer reads them at run time.

from privcalc.cli.exit_status import ExitStatus
from privcalc.cli.numbers import read_count, read_delta, read_order, read_tolerance, split
from privcalc.cli.options import (
    DEFAULT_ORDERS,
    ColorMode,
    ColorOption,
    CountOption,
    DeltaOption,
    FormatOption,
    JsonOption,
    OrdersOption,
    PopulationOption,
    ProvedEngine,
    ProvedEngineOption,
    QuietOption,
    SampledRelationOption,
    SampledSpecArgument,
    SampleSizeOption,
    SamplingProbabilityOption,
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
  privcalc subsample gaussian:sigma=5 --q 0.001 --orders 2,8,32
  privcalc subsample laplace:scale=2 --q 1% --delta 1e-6 --count 10000
  privcalc subsample gaussian:sigma=4 --n 60000 --m 256"""


def subsample(
    *,
    spec: SampledSpecArgument,
    q: SamplingProbabilityOption = None,
    n: PopulationOption = None,
    m: SampleSizeOption = None,
    orders: OrdersOption = None,
    delta: DeltaOption = None,
    count: CountOption = None,
    relation: SampledRelationOption = None,
    tolerance: ToleranceOption = "1e-9",
    engine: ProvedEngineOption = ProvedEngine.AUTO,
    json: JsonOption = False,
    form: FormatOption = None,
    terse: TerseOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    color: ColorOption = ColorMode.AUTO,
) -> ExitStatus:
    """Say what sampling buys: Renyi divergences of a specification that sees a sample only.

    With --q each record is in the sample with that probability (Poisson), with --n and --m the
    sample has a fixed size. Columns: without sampling (base), what no bound from that alone can
    undercut (lower), the tight sum where it is proved, a bound for any mechanism with that curve
    (upper), and the dominating pair (exact).
    With --delta also epsilon after --count rounds, by each accountant.
    """
    # Loaded when it is this command that runs.
    from privcalc.cli.subsampling import Subsampling, read_sample

    output = read_output(
        json=json, form=form, terse=terse, quiet=quiet, verbose=verbose, color=color
    )
    deltas = tuple(read_delta("--delta", text) for text in split("--delta", delta or ()))
    if count is not None and not deltas:
        raise UsageError("--count needs the delta at which epsilon is asked: add --delta D")
    if terse and not deltas:
        raise UsageError("-t prints one number for each question: add --delta D")
    if engine is not ProvedEngine.AUTO and not deltas:
        raise UsageError("--engine is for epsilon: add --delta D")
    written = split("--orders", orders or ())
    ask = Subsampling(
        read_sample(q, n, m),
        tuple(read_order("--orders", text) for text in written) or DEFAULT_ORDERS,
        deltas,
        1 if count is None else read_count("--count", count),
        relation_named(relation),
        read_tolerance("--tolerance", tolerance),
        engine.value,
        curve=not terse,
    )
    if reads_standard_input([spec]):
        from privcalc.cli.stream import answer_lines

        refuse_terminal()
        return answer_lines(ask, output)
    return Printer(output).print(ask(joined([spec])))
