"""Every option once: its name, what its value is called, its kind, its help and its reader.

Typer's parameters, the reader of plain lines, completions, manual pages and the arguments in Python
are made from this table. Which options a command has, and in which order, it says itself.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from privcalc.commands.values import (
    read_all,
    read_confidence,
    read_count,
    read_counts,
    read_delta,
    read_epsilon,
    read_number,
    read_order,
    read_ratio,
    read_relation,
    read_text,
    read_texts,
    read_tolerance,
    read_whole,
)
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Kinds: without a value, with one, and with several (repeated, or separated by commas).
FLAG, TEXT, TEXTS = "flag", "text", "texts"
Text = str | None


@record
class Option:
    """One option, or the positional arguments.

    Attributes:
        name: the keyword of the command; with dashes, the flag. A `_` at its end keeps a name of
            Python free.
        metavar: what its value is called; "" for a flag or a choice.
        kind: FLAG, TEXT or TEXTS.
        help: whole sentences. The short help has the first of them.
        choices: the values it takes, if they are few.
        commands: those that have it with this meaning; () for all that have the keyword.
        short: its letter, or "".
        read: reads what is given, by its name in messages; None where it is no argument of the
            command.
    """

    name: str
    metavar: str
    kind: str
    help: str
    choices: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    short: str = ""
    read: Callable[[str, Any], Any] | None = None

    @property
    def positional(self) -> bool:
        """Whether it stands without a flag."""
        return self.metavar.startswith("SPEC")

    @property
    def flags(self) -> tuple[str, ...]:
        """Its spellings, the short one first."""
        long = f"--{self.name.rstrip('_').replace('_', '-')}"
        return (f"-{self.short}", long) if self.short else (long,)

    @property
    def value(self) -> str:
        """What its value is called, also where it is a choice; "" for a flag."""
        last = self.name.rstrip("_").rpartition("_")[2].upper()
        return self.metavar or (last if self.choices else "")


def spelt(rows: Iterable[Option]) -> dict[str, Option]:
    """Return rows by what is written for them: each flag, and "SPEC" for what stands without."""
    return {"SPEC" if each.positional else flag: each for each in rows for flag in each.flags}


def option(command: str, name: str) -> Option:
    """Return the row of a keyword of a command."""
    return next(
        each
        for each in OPTIONS
        if each.name == name and (not each.commands or command in each.commands)
    )


def _numbers(
    name: str,
    metavar: str,
    read: Callable[[str, Any], float],
    help_: str,
    *,
    rest: str = "",
    commands: tuple[str, ...] = (),
) -> Option:
    """Return the row of an option that takes several numbers."""
    words = f"{help_} Repeatable, or a comma list. {rest}".rstrip()
    return Option(name, metavar, TEXTS, words, commands=commands, read=partial(read_all, read))


RELATIONS = ("add-or-remove-one", "replace-one", "replace-special")
# Engines that prove what they answer.
PROVING_ENGINES = ("auto", "contour", "fft", "rdp")

# The first row that fits holds.
# fmt: off
OPTIONS = (
    # Of some commands; they stand first.
    Option("engine", "", TEXT,
        "Which engine proves the answer. auto takes all that apply to the composition: closed "
        "form, contour, fft, Renyi. Or one alone: contour, fft, rdp (upper end only), afa (an "
        "estimate without certificate).",
        choices=(*PROVING_ENGINES, "afa"), commands=("compose",), read=read_text),
    Option("specs", "SPEC...", TEXTS,
        "What was done with the data; several are one sum. - reads questions from standard input,"
        " one a line, each with all options.", commands=("convert",)),
    Option("relation", "", TEXT,
        "Neighbouring relation. With --q: add-or-remove-one (without it) or replace-special; with"
        " --n and --m: replace-one.",
        choices=RELATIONS, commands=("subsample",), read=read_relation),
    Option("engine", "", TEXT,
        "Engine for epsilon, as in privcalc compose. Needs --delta.",
        choices=PROVING_ENGINES, commands=("subsample",), read=read_text),
    Option("specs", "SPEC...", TEXTS,
        "What one run does with the data; several are one sum. With --thresholds: candidates, "
        "each with a free count (@_). - reads questions from standard input.",
        commands=("select",)),
    Option("specs", "SPEC...", TEXTS,
        "What will be done with the data, with _ for the value that is wanted; several are one "
        "sum. - reads questions from standard input.", commands=("calibrate",)),
    _numbers("epsilon", "E", read_epsilon,
        "Epsilon that may be spent. Needs --delta.", commands=("calibrate",)),
    _numbers("delta", "D", read_delta, "Delta at which --epsilon holds.", commands=("calibrate",)),
    _numbers("fpr", "F", read_delta,
        "False positive rate at which --tpr holds.", commands=("calibrate",)),
    Option("specs", "SPEC...", TEXTS,
        "What the attacked system is said to do; several are one sum. Without it: epsilon of the "
        "evidence at --delta. - reads questions from standard input.", commands=("audit",)),
    Option("delta", "D", TEXT, "Answer epsilon of the evidence at this delta, in [0, 1).",
        commands=("audit",), read=read_delta),
    Option("max_epsilon", "E", TEXT,
        "Exit with 1 if the evidence shows that epsilon is above this. Needs --delta; in place of "
        "SPEC.", commands=("audit",), read=read_epsilon),
    Option("counts", "TP,FN,FP,TN", TEXT,
        "Runs with the record called in and out, then without. Of --design runs.",
        read=read_counts),
    # The same keywords in other commands, and all others.
    Option("specs", "SPEC...", TEXTS,
        "What was done with the data; several are one sum. - reads questions from standard input,"
        " one a line, each with all options. Several that share a budget are a file: --file."),
    _numbers("delta", "D", read_delta, "Answer epsilon at this delta, in [0, 1]."),
    _numbers("epsilon", "E", read_epsilon, "Answer delta at this epsilon, >= 0."),
    Option("max_epsilon", "E", TEXT,
        "Exit with 1 unless epsilon is proved at most this. Needs --delta.", read=read_epsilon),
    Option("max_delta", "D", TEXT,
        "Exit with 1 unless delta is proved at most this. Needs --epsilon.", read=read_delta),
    Option("exit_zero", "", FLAG,
        "Exit with 0 also where a budget is not satisfied. Errors still exit with 2."),
    Option("sweep", "NAME=LOW..HIGH/N", TEXT,
        "Answer for N values of one number of SPEC. With /Nlog spread over the logarithm; or a "
        "list, NAME=A,B,... Without NAME= the values written _ are swept. Where NAME occurs "
        "several times, NAME#2 is the second."),
    Option("relation", "", TEXT,
        "Neighbouring relation. Without it: add-or-remove-one, or replace-one if the "
        "specification samples without replacement.", choices=RELATIONS, read=read_relation),
    Option("tolerance", "T", TEXT,
        "Target relative width of the bracket, > 0 and < 1; digits that cost nothing are added. A "
        "bracket of epsilon narrower than 1e-12 always counts as narrow enough.",
        read=read_tolerance),
    Option("file", "FILE", TEXT,
        "Check the budget of a TOML file that lists what is done with the data. In place of SPEC:"
        " exit with status 1 unless the whole is proved to be within it."),
    Option("certificate", "FILE", TEXT,
        "Write into FILE what another program needs to prove the answer again. For one delta or "
        "epsilon. man 5 privcalc-certificate describes it."),
    Option("json", "", FLAG, "Print one JSON object for each answer; same as --format json."),
    Option("format_", "", TEXT,
        "Output format. Without it: table. statement: two sentences and a table for a paper or a "
        "model card, in Markdown. github, junit, gitlab: what continuous integration shows.",
        choices=("table", "json", "csv", "markdown", "github", "junit", "gitlab", "statement")),
    Option("terse", "", FLAG,
        "Print the safe number alone: an upper end, or sufficient.", short="t"),
    Option("quiet", "", FLAG, "Print nothing on standard output; only the exit status.", short="q"),
    Option("verbose", "", FLAG,
        "Show each direction, the engine, the error terms and which engines fell short, on "
        "standard error.", short="v"),
    Option("color", "", TEXT, "When to colour tables.", choices=("auto", "always", "never")),
    Option("jobs", "N", TEXT,
        "Answer the questions of -, or the values of --sweep, with N processes, in the same "
        "order."),
    Option("plot", "", FLAG,
        "Draw the curve instead of listing it: a profile, a trade-off curve, Renyi divergences, a"
        " sweep, or answers at several deltas or epsilons."),
    Option("plot_file", "FILE", TEXT,
        "Draw the curve into FILE too, which ends in .svg, .png or .pdf. Needs matplotlib."),
    Option("to", "", TEXT,
        "dp, profile, rdp, zcdp, tcdp, gdp, tradeoff, risk, dp-event. dp: epsilon at each --delta, "
        "delta at each --epsilon. profile: delta at many epsilons. rdp: Renyi divergences at "
        "--orders. zcdp, gdp: the smallest rho, mu that holds. tcdp: rho up to the order --omega."
        " tradeoff: the error rates of the best tests. risk: what attacks can achieve. dp-event:"
        " the specification as a DpEvent of dp_accounting.",
        choices=("dp", "profile", "rdp", "zcdp", "tcdp", "gdp", "tradeoff", "risk", "dp-event"),
        read=read_text),
    _numbers("orders", "A", read_order,
        "Orders of the Renyi divergence. Real numbers above 1, at most 1000000.",
        rest="Without it: twelve from 1.5 to 512."),
    Option("omega", "W", TEXT,
        "Largest Renyi order that counts, above 1. Needs --to tcdp.", read=read_order),
    Option("points", "N", TEXT,
        "Number of points of a profile or trade-off curve. In the place of a list of them. "
        "Without it: 21.", read=read_count),
    _numbers("fpr", "F", read_delta, "False positive rate (type I error), in [0, 1]."),
    _numbers("prior", "P", read_delta,
        "Chance, before the attack, that the record is there.", rest="Without it: 0.01 and 0.5."),
    Option("group", "K", TEXT,
        "Protect groups of K records together, as @group:k=K does.", read=read_count),
    Option("max_rho", "R", TEXT,
        "Exit with 1 unless rho is proved at most this. Needs --to zcdp or --to tcdp.",
        read=read_epsilon),
    Option("max_mu", "M", TEXT,
        "Exit with 1 unless mu is proved at most this. Needs --to gdp.", read=read_epsilon),
    Option("max_advantage", "A", TEXT,
        "Exit with 1 unless the advantage is proved at most this. Needs --to risk.",
        read=read_delta),
    Option("engine", "", TEXT,
        "Which engine proves the answer. auto takes all that apply to the composition. Or one "
        "alone: contour, fft, rdp (upper end only). Renyi divergences need none.",
        choices=PROVING_ENGINES, read=read_text),
    Option("data_dependent", "FILE", TEXTS,
        "State what SPEC, one mechanism or a sum, costs on the data that FILE describes, a line "
        "for each use. That is no guarantee, and itself sensitive. Repeatable: a file for each "
        "mechanism.", read=read_texts),
    Option("filter_", "BUDGET", TEXT,
        "State what a filter with this budget (zcdp, gdp, or rdp at one order) leaves after the "
        "steps of SPEC, whose parameters may have been chosen on the way.", read=read_text),
    Option("spec", "SPEC", TEXT,
        "What is done with the sample. - reads questions from standard input."),
    Option("q", "Q", TEXT, "Poisson sampling: the probability of each record.", read=read_delta),
    Option("n", "N", TEXT, "Number of records to draw from. Needs --m.", read=read_count),
    Option("m", "M", TEXT,
        "Number of records that are drawn, without replacement. Needs --n.", read=read_count),
    Option("count", "K", TEXT,
        "Number of rounds, each with a fresh sample. For epsilon. Needs --delta. Without it: 1.",
        read=read_count),
    Option("runs", "R", TEXT,
        "Number of runs, such as geometric:mean=30. Any of geometric:mean=M, logarithmic:mean=M, "
        "tnb:shape=S,mean=M, poisson:mean=M, binomial:n=N,mean=M, fixed:n=N, "
        "distribution:file=FILE.", read=read_text),
    Option("thresholds", "", FLAG,
        "Compute thresholds for candidates that differ in privacy. Also the largest count of "
        "each. Needs --epsilon-q and --delta."),
    Option("epsilon_q", "E", TEXT, "Epsilon of one run at --delta, for --thresholds."),
    _numbers("mu", "M", read_epsilon, "mu of Gaussian differential privacy."),
    _numbers("rho", "R", read_epsilon, "rho of zero-concentrated differential privacy."),
    _numbers("advantage", "A", read_delta,
        "Advantage of a membership attack. True minus false positive rate."),
    _numbers("tpr", "T", read_delta, "True positive rate of a membership attack. Needs --fpr."),
    Option("design", "", TEXT,
        "runs: many trainings, with and without one record. one-run: one training with many "
        "canaries, each in by its own fair coin.", choices=("runs", "one-run"), read=read_text),
    Option("canaries", "M", TEXT, "Canaries of the one run, guessed or not. Of one-run.",
        read=read_whole),
    Option("guesses", "R", TEXT, "Canaries guessed in or out; a number fixed beforehand.",
        read=read_whole),
    Option("correct", "V", TEXT, "Right guesses among them.", read=read_whole),
    Option("scores", "FILE", TEXT,
        "CSV with the header score,member. A line for each run, or for each canary of the one run; "
        "member is 1 or 0, and a higher score says member.", read=read_text),
    Option("threshold", "T", TEXT,
        "Call scores above it members; named before the scores were seen. Of --design runs; "
        "without it: thresholds at ranks.", read=read_number),
    Option("top", "K", TEXT, "Of one-run: guess the K largest scores in.", read=read_whole),
    Option("bottom", "K", TEXT, "Of one-run: guess the K least scores out.", read=read_whole),
    Option("confidence", "C", TEXT,
        "Confidence of the answer, above 0.5 and below 1. What is refuted wrongly is so in at most"
        " 1 - C of all audits.", read=read_confidence),
    Option("ratio", "A,B,...", TEXT,
        "Ratio of the values of several free parameters. In order of appearance.",
        read=partial(read_all, read_ratio)),
)
# fmt: on
