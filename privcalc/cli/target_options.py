"""Arguments and options of `calibrate` alone: holes, targets, ratios and sweeps."""

# No postponed annotations: Typer reads them at run time.

from typing import Annotated

import typer

HoleArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SPEC...",
        help="What will touch the data, with _ for the value that is wanted; several are one sum. "
        "- reads questions from standard input.",
        show_default=False,
    ),
]
TargetEpsilonOption = Annotated[
    str | None,
    typer.Option("--epsilon", metavar="E", help="Epsilon that may be spent. Needs --delta."),
]
TargetDeltaOption = Annotated[
    str | None,
    typer.Option("--delta", metavar="D", help="Delta at which --epsilon holds."),
]
MuOption = Annotated[
    str | None,
    typer.Option("--mu", metavar="M", help="mu of Gaussian differential privacy."),
]
RhoOption = Annotated[
    str | None,
    typer.Option("--rho", metavar="R", help="rho of zero-concentrated differential privacy."),
]
AdvantageOption = Annotated[
    str | None,
    typer.Option(
        "--advantage",
        metavar="A",
        help="Advantage of a membership attack: true minus false positive rate.",
    ),
]
TprOption = Annotated[
    str | None,
    typer.Option(
        "--tpr", metavar="T", help="True positive rate of a membership attack. Needs --fpr."
    ),
]
TargetFprOption = Annotated[
    str | None,
    typer.Option("--fpr", metavar="F", help="False positive rate at which --tpr holds."),
]
RatioOption = Annotated[
    str | None,
    typer.Option(
        "--ratio",
        metavar="A,B,...",
        help="For several holes: the ratio of their values, in order of appearance.",
    ),
]
SweepOption = Annotated[
    str | None,
    typer.Option(
        "--sweep",
        metavar="NAME=LOW:HIGH:STEPS",
        help="Fill the hole for each of so many values of another parameter, spread over the "
        "logarithm.",
    ),
]
TerseSufficientOption = Annotated[
    bool,
    typer.Option("--terse", "-t", help="Print the safe number alone: the sufficient value."),
]
