"""The options that commands share, each declared once, and how strictly Typer reads them.

A command takes an option by its type. The help texts here are also the man page and the shell
completions (`privcalc.cli.docs`).
"""

# No postponed annotations: Typer reads those of options at run time.

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated

import typer
from typer._click import Context
from typer._types import TyperChoice
from typer.core import TyperCommand
from typer.models import OptionInfo

from privcalc.cli.choices import ColorMode, Engine, Format, ProvedEngine, RelationName, Target
from privcalc.errors import UsageError


class StrictCommand(TyperCommand):
    """A command that refuses a second value of an option, where the last would win silently."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Check the options as written, then read them."""
        names = {name for each in self.get_params(ctx) for name in (*each.opts, each.name)}
        _check_quiet(args, names)
        values, _, order = self.make_parser(ctx).parse_args(args=list(args))
        times = Counter(each.name for each in order)
        for each in dict.fromkeys(order):
            if each.param_type_name != "option" or vars(each)["is_flag"]:
                continue
            _check_value(each.opts[0], values[str(each.name)], names)
            if times[each.name] > 1 and not vars(each)["multiple"]:
                raise UsageError(f"{each.opts[0]} is given twice; it takes one value")
        return super().parse_args(ctx, args)


def _check_quiet(args: list[str], names: set[str | None]) -> None:
    """Refuse -q before a number where a command has --q: the one would be taken for a SPEC."""
    for option, value in pairwise(args):
        if option == "-q" and "--q" in names and value[:1].isdecimal():
            raise UsageError(f"-q is --quiet and takes no value; write --q {value}")


def _check_value(option: str, value: object, names: set[str | None]) -> None:
    """Refuse an option as the value of another: the value was forgotten."""
    for each in value if isinstance(value, list | tuple) else (value,):
        if isinstance(each, str) and each.startswith("-") and each.partition("=")[0] in names:
            raise UsageError(f"{option} has no value: {each} follows it")


class Names(TyperChoice[str]):
    """A choice among names that may be written in capitals, and with - or _."""

    def __init__(self, kind: str, choices: Iterable[str]) -> None:
        """Take what the names are names of, and the names with dashes."""
        super().__init__([str(choice) for choice in choices], case_sensitive=False)
        self.kind = kind

    def normalize_choice(self, choice: str, ctx: Context | None) -> str:
        """Return the form in which names are compared."""
        return super().normalize_choice(choice, ctx).replace("_", "-")

    def get_invalid_choice_message(self, value: object, ctx: Context | None) -> str:
        """Say what the nearest name is, or all of them."""
        from difflib import get_close_matches

        near = get_close_matches(self.normalize_choice(str(value), ctx), list(self.choices), n=1)
        known = f"did you mean {near[0]}?" if near else f"known: {', '.join(self.choices)}"
        return f"{value!r} is no {self.kind}; {known}"


def _option(flag: str, metavar: str, text: str) -> OptionInfo:
    """Declare an option that takes text."""
    found: OptionInfo = typer.Option(flag, metavar=metavar, help=text)
    return found


Text = str | None
Texts = list[str] | None

SpecsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SPEC...",
        help="What was done with the data; several are one sum. "
        "- reads questions from standard input, one a line, each with all options.",
        show_default=False,
    ),
]
SummedArgument = Annotated[
    Texts,
    typer.Argument(
        metavar="SPEC...",
        help="What was done with the data; several are one sum. "
        "- reads questions from standard input, one a line, each with all options. "
        "Several that share a budget are a file: --file.",
        show_default=False,
    ),
]
CandidatesArgument = Annotated[
    Texts,
    typer.Argument(
        metavar="SPEC...",
        help="What one run costs; several are one sum. With --thresholds: candidates, each with "
        "its count left open (@_). - reads questions from standard input.",
        show_default=False,
    ),
]
RunsOption = Annotated[
    str,
    typer.Option(
        "--runs",
        metavar="R",
        help="Number of runs, such as geometric:mean=30. Any of geometric:mean=M, "
        "logarithmic:mean=M, tnb:shape=S,mean=M, poisson:mean=M, binomial:n=N,mean=M, fixed:n=N, "
        "distribution:file=FILE.",
        show_default=False,
    ),
]
ThresholdsOption = Annotated[
    bool,
    typer.Option(
        "--thresholds",
        help="Ask what candidates that differ in privacy must keep. Also the largest count "
        "that each may run. Needs --epsilon-q and --delta.",
    ),
]
RunEpsilonOption = Annotated[
    Text, _option("--epsilon-q", "E", "Epsilon of one run at --delta, for --thresholds.")
]
SampledSpecArgument = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        help="What sees the sample. - reads questions from standard input.",
        show_default=False,
    ),
]
SamplingProbabilityOption = Annotated[
    Text,
    _option("--q", "Q", "Poisson sampling: the probability of each record."),
]
PopulationOption = Annotated[
    Text, _option("--n", "N", "Number of records to draw from. Needs --m.")
]
SampleSizeOption = Annotated[
    Text, _option("--m", "M", "Number of records that are drawn, without replacement. Needs --n.")
]
OrdersOption = Annotated[
    Texts,
    _option(
        "--orders",
        "A",
        "Orders of the Renyi divergence. Real numbers above 1, at most 1000000. Repeatable, "
        "or a comma list. Without it: twelve from 1.5 to 512.",
    ),
]
CountOption = Annotated[
    Text,
    _option(
        "--count",
        "K",
        "Number of rounds, each with a fresh sample. For epsilon. Needs --delta. Without it: 1.",
    ),
]
DeltaOption = Annotated[
    Texts,
    _option(
        "--delta", "D", "Answer epsilon at this delta, in [0, 1]. Repeatable, or a comma list."
    ),
]
EpsilonOption = Annotated[
    Texts,
    _option("--epsilon", "E", "Answer delta at this epsilon, >= 0. Repeatable, or a comma list."),
]
MaxEpsilonOption = Annotated[
    Text,
    _option(
        "--max-epsilon",
        "E",
        "Exit with 1 unless epsilon is proved at most this. Needs --delta.",
    ),
]
MaxDeltaOption = Annotated[
    Text,
    _option(
        "--max-delta",
        "D",
        "Exit with 1 unless delta is proved at most this. Needs --epsilon.",
    ),
]
MaxRhoOption = Annotated[Text, _option("--max-rho", "R", "The same for rho, with --to zcdp.")]
MaxMuOption = Annotated[Text, _option("--max-mu", "M", "The same for mu, with --to gdp.")]
MaxAdvantageOption = Annotated[
    Text, _option("--max-advantage", "A", "The same for the advantage, with --to risk.")
]
ExitZeroOption = Annotated[
    bool,
    typer.Option(
        "--exit-zero",
        help="Exit with 0 also where a budget is not satisfied. Errors are errors still.",
    ),
]
RelationOption = Annotated[
    RelationName | None,
    typer.Option(
        "--relation",
        click_type=Names("relation", RelationName),
        help="Neighbouring relation. Without it: add-or-remove-one, or replace-one if the "
        "specification samples without replacement.",
    ),
]
SampledRelationOption = Annotated[
    RelationName | None,
    typer.Option(
        "--relation",
        click_type=Names("relation", RelationName),
        help="Neighbouring relation. With --q: add-or-remove-one (without it) or replace-special; "
        "with --n and --m: replace-one.",
    ),
]
ToleranceOption = Annotated[
    str,
    _option(
        "--tolerance",
        "T",
        "Target relative width of the bracket, > 0 and < 1; what costs nothing is narrower. A "
        "bracket of epsilon narrower than 1e-12 always counts as narrow enough.",
    ),
]
EngineOption = Annotated[
    Engine,
    typer.Option(
        "--engine",
        help="Which engine proves it. auto asks what applies to the composition: closed form, "
        "contour, fft, Renyi. Or ask one only: contour, fft, rdp (upper end only), afa (an "
        "estimate without certificate).",
    ),
]
ProvedEngineOption = Annotated[
    ProvedEngine,
    typer.Option("--engine", help="Engine for epsilon, as in privcalc compose. Needs --delta."),
]
EngineOfCurveOption = Annotated[
    ProvedEngine,
    typer.Option(
        "--engine",
        help="Which engine proves it. auto asks what applies to the composition. Or ask one only: "
        "contour, fft, rdp (upper end only). Renyi divergences need none.",
    ),
]
TargetOption = Annotated[
    Target,
    typer.Option(
        "--to",
        help="dp, profile, rdp, zcdp, gdp, tradeoff, risk, dp-event. "
        "dp: epsilon at each --delta, delta at each --epsilon. profile: delta at many "
        "epsilons. rdp: Renyi divergences at --orders. zcdp, gdp: the smallest rho, mu that is "
        "true. tradeoff: the error rates of the best tests. risk: what attacks can achieve. "
        "dp-event: the specification as a DpEvent of dp_accounting.",
    ),
]
PointsOption = Annotated[
    Text,
    _option(
        "--points",
        "N",
        "Number of points of a profile or trade-off curve. In the place of a list of them. "
        "Without it: 21.",
    ),
]
RateOption = Annotated[
    Texts,
    _option(
        "--fpr",
        "F",
        "False positive rate (type I error), in [0, 1]. Repeatable, or a comma list.",
    ),
]
PriorOption = Annotated[
    Texts,
    _option(
        "--prior",
        "P",
        "Chance, before the attack, that the record is there. Repeatable, or a comma list. "
        "Without it: 0.01 and 0.5.",
    ),
]
GroupOption = Annotated[
    Text, _option("--group", "K", "Protect groups of K records together, as @group:k=K does.")
]
DataOption = Annotated[
    Texts,
    _option(
        "--data-dependent",
        "FILE",
        "State what SPEC, one mechanism or a sum, costs on the data that FILE describes, a line "
        "for each use. That is no guarantee, and itself sensitive. Repeatable: a file for each "
        "mechanism.",
    ),
]
FilterOption = Annotated[
    Text,
    _option(
        "--filter",
        "BUDGET",
        "State what a filter with this budget (zcdp, gdp, or rdp at one order) leaves after the "
        "steps of SPEC, whose parameters may have been chosen on the way.",
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object for each answer; same as --format json."),
]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="Output format. Without it: table. statement: two sentences and a table for a paper "
        "or a model card, in Markdown. github, junit, gitlab: what continuous integration shows.",
    ),
]
PlotOption = Annotated[
    bool,
    typer.Option(
        "--plot",
        help="Draw the curve instead of listing it: a profile, a trade-off curve, Renyi "
        "divergences, a sweep, or answers at several deltas or epsilons.",
    ),
]
PlotFileOption = Annotated[
    Text,
    _option(
        "--plot-file",
        "FILE",
        "Draw the curve into FILE too, which ends in .svg, .png or .pdf. Needs matplotlib.",
    ),
]
CertificateOption = Annotated[
    Text,
    _option(
        "--certificate",
        "FILE",
        "Write into FILE what another program needs to prove the answer again. For one delta "
        "or epsilon. See CONTRIBUTING.md for one that does.",
    ),
]
TerseOption = Annotated[
    bool,
    typer.Option("--terse", "-t", help="Print the safe number alone: an upper end, or sufficient."),
]
QuietOption = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print nothing on standard output; only the exit status."),
]
VerboseOption = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Show each direction, the engine, the error terms and which engines fell short, on "
        "standard error.",
    ),
]
JobsOption = Annotated[
    Text,
    _option(
        "--jobs",
        "N",
        "Answer the questions of -, or the values of --sweep, with N processes, in the same order.",
    ),
]
ColorOption = Annotated[ColorMode, typer.Option("--color", help="When to colour tables.")]
FileOption = Annotated[
    Text,
    _option(
        "--file",
        "FILE",
        "Check the budget of a TOML file that lists what is done with the data. In place of SPEC: "
        "exit with status 1 unless the whole is proved to be within it.",
    ),
]
SweepOption = Annotated[
    Text,
    _option(
        "--sweep",
        "NAME=LOW..HIGH/N",
        "Answer for N values of one number of SPEC. With /Nlog spread over the logarithm; or a "
        "list, NAME=A,B,... Without NAME= of what is written _. Of several that are called NAME, "
        "NAME#2 is the second.",
    ),
]

# Those of `calibrate` alone: free parameters, targets and ratios.
HoleArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SPEC...",
        help="What will be done with the data, with _ for the value that is wanted; several are "
        "one sum. - reads questions from standard input.",
        show_default=False,
    ),
]
TargetEpsilonOption = Annotated[
    Texts,
    _option(
        "--epsilon", "E", "Epsilon that may be spent. Needs --delta. Repeatable, or a comma list."
    ),
]
TargetDeltaOption = Annotated[
    Texts, _option("--delta", "D", "Delta at which --epsilon holds. Repeatable, or a comma list.")
]
MuOption = Annotated[
    Texts, _option("--mu", "M", "mu of Gaussian differential privacy. Repeatable, or a comma list.")
]
RhoOption = Annotated[
    Texts,
    _option(
        "--rho", "R", "rho of zero-concentrated differential privacy. Repeatable, or a comma list."
    ),
]
AdvantageOption = Annotated[
    Texts,
    _option(
        "--advantage",
        "A",
        "Advantage of a membership attack. True minus false positive rate. Repeatable, or a "
        "comma list.",
    ),
]
TprOption = Annotated[
    Texts,
    _option(
        "--tpr",
        "T",
        "True positive rate of a membership attack. Needs --fpr. Repeatable, or a comma list.",
    ),
]
TargetFprOption = Annotated[
    Texts,
    _option("--fpr", "F", "False positive rate at which --tpr holds. Repeatable, or a comma list."),
]
RatioOption = Annotated[
    Text,
    _option(
        "--ratio",
        "A,B,...",
        "Ratio of the values of several free parameters. In order of appearance.",
    ),
]
