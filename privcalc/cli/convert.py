"""The command `convert`: one guarantee in another language. `converting` answers."""

# No postponed annotations: Typer reads them at run time.

from privcalc.cli.exit_status import ExitStatus
from privcalc.cli.numbers import (
    read_count,
    read_delta,
    read_epsilon,
    read_order,
    read_rate,
    read_tolerance,
    split,
)
from privcalc.cli.options import (
    DEFAULT_ORDERS,
    ColorMode,
    ColorOption,
    DeltaOption,
    EngineOfCurveOption,
    EpsilonOption,
    FormatOption,
    GroupOption,
    JsonOption,
    OrdersOption,
    PointsOption,
    PriorOption,
    ProvedEngine,
    QuietOption,
    RateOption,
    RelationOption,
    SpecsArgument,
    Target,
    TargetOption,
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
  privcalc convert zcdp:rho=2.56 --delta 1e-10
  privcalc convert gaussian:sigma=1.1@poisson:q=256/60000@14063 --to tradeoff
  privcalc convert laplace:scale=20@1000 --to profile --points 200 --format csv
  privcalc convert gaussian:sigma=4 --to risk --fpr 1e-3"""

# Which options say something to which target.
USES = {
    Target.DP: {"--delta", "--epsilon"},
    Target.PROFILE: {"--epsilon", "--points"},
    Target.RDP: {"--orders"},
    Target.ZCDP: set[str](),
    Target.GDP: {"--delta"},
    Target.TRADEOFF: {"--fpr", "--points"},
    Target.RISK: {"--fpr", "--prior"},
}


def convert(
    *,
    specs: SpecsArgument,
    to: TargetOption = Target.DP,
    delta: DeltaOption = None,
    epsilon: EpsilonOption = None,
    orders: OrdersOption = None,
    points: PointsOption = None,
    fpr: RateOption = None,
    prior: PriorOption = None,
    group: GroupOption = None,
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
    """State one guarantee in another language.

    Between descriptions of one pair of outputs nothing is lost, and both ends are proved. Where
    one number has to stand for a whole curve (zcdp, gdp), or only an upper bound is known, the
    answer is the tightest that is true, and says so.
    """
    # Loaded when it is this command that runs.
    from privcalc.cli.converting import Converting

    output = read_output(
        json=json, form=form, terse=terse, quiet=quiet, verbose=verbose, color=color
    )
    given = {
        "--delta": delta,
        "--epsilon": epsilon,
        "--orders": orders,
        "--points": points,
        "--fpr": fpr,
        "--prior": prior,
    }
    for option, value in given.items():
        if value and option not in USES[to]:
            takers = " and ".join(f"--to {each.value}" for each in USES if option in USES[each])
            raise UsageError(f"{option} says nothing to --to {to.value}; it is for {takers}")
    if to is Target.DP and not (delta or epsilon):
        raise UsageError("--to dp needs --delta D or --epsilon E; --to profile needs neither")
    if points and (epsilon or fpr):
        raise UsageError("--points chooses points; it contradicts a list of them")
    if terse and to not in (Target.DP, Target.ZCDP, Target.GDP):
        raise UsageError("-t prints one number; it goes with --to dp, zcdp and gdp")
    if engine is not ProvedEngine.AUTO and to in (Target.RDP, Target.ZCDP):
        raise UsageError(f"--engine says nothing to --to {to.value}: the Renyi curve answers it")
    written = tuple(read_order("--orders", text) for text in split("--orders", orders or ()))
    ask = Converting(
        to=to.value,
        deltas=tuple(read_delta("--delta", text) for text in split("--delta", delta or ())),
        epsilons=tuple(
            read_epsilon("--epsilon", text) for text in split("--epsilon", epsilon or ())
        ),
        orders=written or DEFAULT_ORDERS,
        points=None if points is None else read_count("--points", points),
        rates=tuple(read_rate("--fpr", text) for text in split("--fpr", fpr or ())),
        priors=tuple(read_rate("--prior", text) for text in split("--prior", prior or ())),
        records=1 if group is None else read_count("--group", group),
        relation=relation_named(relation),
        tolerance=read_tolerance("--tolerance", tolerance),
        engine=engine.value,
    )
    if reads_standard_input(specs):
        from privcalc.cli.stream import answer_lines

        refuse_terminal()
        return answer_lines(ask, output)
    return Printer(output).print(ask(joined(specs)))
