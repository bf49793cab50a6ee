"""A command line becomes an exit status: read without Typer where it is plain, checked, answered.

To load Typer takes as long as half of numpy: what it would read in the same way is read here, from
the table of options. What a command asks and reports, and what goes together there, is said in
`commands/`; here is what stands on a line besides.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from privcalc.cli.failure import (
    ExitStatus,
    abandon,
    complain,
    failure,
    open_closed_streams,
    shown,
    wanted_form,
    wants_traceback,
)
from privcalc.cli.output import DOCUMENTS, OPTIONS, OUTPUT, Printer, read_output
from privcalc.commands.command import COMMANDS, Asking, limited, load
from privcalc.commands.options import FLAG, TEXTS, spelt
from privcalc.errors import UsageError
from privcalc.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from privcalc.cli.output import Output
    from privcalc.commands.command import Command
    from privcalc.render.report import Report


def read_plainly(arguments: Sequence[str]) -> tuple[Command, dict[str, object]] | None:
    """Return the command that a line asks for, and the texts of its options.

    None where Typer has to say what is meant or wrong: an option that is unknown, or is given
    twice, or has no value or one that begins as options do; a name that is no choice; a SPEC that
    is missing or one too many.
    """
    name, words = "".join(arguments[:1]), iter(arguments[1:])
    if name not in COMMANDS:
        return None
    command = load(name)
    known = spelt([*command.options, *OUTPUT])
    if "--q" in known:
        # -q is likely a mistake, which Typer's reader explains.
        del known["-q"]
    found: dict[str, Any] = {}
    for word in words:
        flag, joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word == "-" or word[:1] not in ("-", ""):
            flag, value = "SPEC", word
        elif flag in known and known[flag].kind != FLAG:
            value = value if joined else next(words, "")
            # A number below zero is no option, but a value that was forgotten looks like one.
            value = "" if value.startswith("-") else value
        each = known.get(flag)
        if each is None or (each.name in found and each.kind != TEXTS):
            return None
        if each.kind == FLAG and not joined:
            found[each.name] = True
        elif not value or each.kind == FLAG or (each.choices and value not in each.choices):
            return None
        else:
            found[each.name] = [*found.get(each.name, ()), value] if each.kind == TEXTS else value
    needed = {*command.needed}
    if "--file" in known and "file" not in found:
        # A file has what is else written as SPEC.
        needed.add(known["SPEC"].name)
    return (command, found) if needed <= found.keys() else None


def main(arguments: Sequence[str]) -> int:
    """Run the command line; return the exit status. No exception leaves this function."""
    # numpy and scipy each start a BLAS thread pool when imported. Nothing here uses BLAS, and
    # without the pools a run takes half the time. The user's own setting holds.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    open_closed_streams()
    try:
        status = _run(list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        abandon(sys.stdout)
        return ExitStatus.OK
    except KeyboardInterrupt:
        abandon(sys.stdout)
        return ExitStatus.INTERRUPTED
    except Exception as error:  # noqa: BLE001  (an uncaught one would exit 1: over budget)
        if isinstance(error, OSError):
            abandon(sys.stdout)
        problem = failure(error)
        if problem.code == "internal" and wants_traceback(arguments):
            from traceback import format_exc

            complain(format_exc().rstrip("\n"))
        complain(shown(problem, wanted_form(arguments)))
        return ExitStatus.ERROR
    return status


def _run(arguments: list[str]) -> int:
    """Read what is asked, the quick way or with Typer, and answer it."""
    plain = read_plainly(arguments)
    if plain is None:
        from privcalc.cli.program import run

        return run(arguments, answer)
    return answer(*plain, arguments)


Found = TypeVar("Found")

# Targets of convert that are one number, or one line.
TERSE = ("dp", "zcdp", "tcdp", "gdp", "dp-event")


def answer(command: Command, values: Mapping[str, Any], arguments: Sequence[str] = ()) -> int:
    """Answer a line.

    Args:
        command: the command.
        values: what its options are, as texts; those that have a default may be omitted.
        arguments: the command line, for formats that repeat it.
    """
    output = read_output(**{name: values[name] for name in OPTIONS if name in values})
    output = replace(output, command=tuple(arguments))
    given = {name: values[name] for name in values if name not in OPTIONS}
    spec = given.get("spec")
    specs = list(given.get("specs") or ([spec] if spec is not None else ()))
    check = CHECKS.get(command.name)
    ask = check(command, given, output) if check else command.asking(given)
    if ask.values.get("to") == "dp-event" and output.format == "table":
        # A line that can be read again.
        output = replace(output, terse=True)
    if command.name == "compose" and given.get("file") is not None:
        status = _check_file(given["file"], ask, output)
    elif given.get("thresholds"):
        status = _thresholds(given, ask, output, specs)
    elif given.get("sweep") is not None:
        from privcalc.cli.stream import answer_sweep

        status = answer_sweep(specs, given["sweep"], ask, output)
    else:
        status = _status(specs, ask, output, given.get("certificate"))
    # A budget that is not satisfied may be no failure.
    return ExitStatus.OK if given.get("exit_zero") and status is ExitStatus.BUDGET else status


def _compose(command: Command, given: Mapping[str, Any], output: Output) -> Asking:
    """Check a line of `compose`."""
    specs, sweep, file = given.get("specs", ()), given.get("sweep"), given.get("file")
    estimate = given.get("engine") == "afa"
    if file is None and not specs:
        raise UsageError("missing argument 'SPEC...' (see privcalc compose --help)")
    if file is not None:
        _check_alone(given, output)
    ask = command.asking(given, hints=not output.quiet and sweep is None)
    places = _places(ask)
    if output.terse and file is None and not places:
        raise UsageError("-t prints one number for each question: add --delta D or --epsilon E")
    if output.terse and estimate:
        raise UsageError("-t prints a proved number; --engine afa gives an estimate only")
    _check_swept(places, sweep)
    if (name := given.get("certificate")) is not None:
        one = sum(map(len, places)) == 1 and file is None and sweep is None and "-" not in specs
        _check_certificate(name, one=one, estimate=estimate)
    return ask


def _check_alone(given: Mapping[str, Any], output: Output) -> None:
    """Reject options that have no effect with a budget file."""
    if any(map(given.get, ("specs", "delta", "epsilon", "max_epsilon", "max_delta"))):
        raise UsageError(
            "--file has the specifications and the budget; do not give them as options too",
            hint="--file takes one file",
        )
    if given.get("sweep") is not None:
        raise UsageError("--sweep goes with SPEC, not with --file")
    _check_jobs(output)
    if given.get("engine") == "afa":
        raise UsageError("--engine afa gives an estimate only; a budget check needs a proof")


def _convert(command: Command, given: Mapping[str, Any], output: Output) -> Asking:
    """Check a line of `convert`."""
    ask = command.asking(given)
    to, sweep = ask.values["to"], given.get("sweep")
    mode = given.get("data_dependent") or given.get("filter_")
    if output.terse and to not in TERSE:
        raise UsageError(
            "-t prints one number: add --delta D or --epsilon E, or take --to zcdp or gdp",
            hint="leave out -t; -q has the exit status alone" if limited(ask.values) else "",
        )
    if output.terse and given.get("data_dependent"):
        raise UsageError("-t cannot say that a data-dependent number is no guarantee")
    if sweep is not None and mode:
        raise UsageError("--sweep goes with a guarantee: not with --data-dependent or --filter")
    if sweep is not None and (to not in TERSE[:4] or (to == "gdp" and "delta" in ask.values)):
        raise UsageError(
            "--sweep needs one number at each value: take --delta D, --epsilon E, --to zcdp,"
            " or --to gdp without deltas"
        )
    if to == "dp-event" and output.format not in ("table", "json"):
        raise UsageError(f"--to dp-event prints a line, or --json; not {output.format}")
    # Only what is asked at deltas and epsilons has several numbers.
    if to == "dp":
        _check_swept(_places(ask), sweep)
    return ask


def _subsample(command: Command, given: Mapping[str, Any], output: Output) -> Asking:
    """Check a line of `subsample`."""
    ask = command.asking(given, curve=not output.terse)
    if output.terse and "delta" not in ask.values:
        raise UsageError("-t prints one number for each question: add --delta D")
    return ask


def _select(command: Command, given: Mapping[str, Any], output: Output) -> Asking:
    """Check a line of `select`."""
    thresholds, sweep = given.get("thresholds"), given.get("sweep")
    one = given.get("epsilon_q")
    ask = command.asking(given, verbose=output.verbose)
    places = _places(ask)
    if thresholds and (one is None or len(ask.values.get("delta", ())) != 1 or len(places) > 1):
        raise UsageError("--thresholds needs --epsilon-q E and one --delta D")
    if one is not None and not thresholds:
        raise UsageError("--epsilon-q has no effect without --thresholds")
    if not (thresholds or given.get("specs")):
        raise UsageError("select needs a SPEC: what one run does")
    if thresholds and (limited(ask.values) or output.jobs > 1 or sweep is not None):
        raise UsageError("--thresholds computes thresholds for candidates: no budget, no sweep")
    _check_swept(places, sweep)
    return ask


def _calibrate(command: Command, given: Mapping[str, Any], output: Output) -> Asking:
    """Check a line of `calibrate`."""
    ask = command.asking(given)
    if output.terse and "ratio" in ask.values:
        raise UsageError("-t prints one number, and with --ratio there are several; use --json")
    if given.get("sweep") is not None and len(ask.values["targets"]) > 1:
        raise UsageError("--sweep goes with one target, not with a list")
    return ask


def _audit(command: Command, given: Mapping[str, Any], output: Output) -> Asking:
    """Check a line of `audit`."""
    if given.get("sweep") is not None and not given.get("specs"):
        raise UsageError("--sweep is over a number of SPEC, and there is none")
    ask = command.asking(given, verbose=output.verbose)
    if output.plot or output.plot_file is not None:
        raise UsageError("audit draws no picture; convert SPEC --to tradeoff --plot has the curve")
    if not given.get("specs") and "delta" not in ask.values:
        raise UsageError("without SPEC audit answers epsilon of the evidence: add --delta D")
    if output.terse and "delta" not in ask.values:
        raise UsageError("-t prints epsilon of the evidence: add --delta D")
    return ask


CHECKS = {
    "compose": _compose,
    "convert": _convert,
    "subsample": _subsample,
    "select": _select,
    "calibrate": _calibrate,
    "audit": _audit,
}


def _places(ask: Asking) -> list[tuple[float, ...]]:
    """Return the deltas and the epsilons that are asked about, as far as there are any."""
    return [ask.values[name] for name in ("delta", "epsilon") if ask.values.get(name)]


def _check_swept(places: Sequence[Sequence[float]], sweep: str | None) -> None:
    """Refuse a sweep over anything but one number at each value."""
    asked = sum(map(len, places))
    if sweep is not None and asked != 1:
        listed = ", not with a list" if asked else ""
        raise UsageError(
            f"--sweep goes with one --delta D or one --epsilon E{listed}",
            hint="several deltas or epsilons are a list without --sweep: --delta 1e-8,1e-7",
        )


def _check_jobs(output: Output) -> None:
    if output.jobs > 1:
        raise UsageError("--jobs has no effect on one question; use it with - or --sweep")


def _check_certificate(name: str, *, one: bool, estimate: bool) -> None:
    """Refuse, before anything is computed, what has no certificate."""
    if not one:
        raise UsageError("--certificate takes one question: a SPEC with one --delta or --epsilon")
    if estimate:
        raise UsageError("--certificate writes what is proved; --engine afa gives an estimate only")
    if name == "-":
        raise UsageError("--certificate takes the name of a file: ./- for one that is called -")
    if not Path(name).parent.is_dir():
        raise UsageError(f"--certificate: there is no folder {Path(name).parent}")


def _certify(reports: Sequence[Report], name: str) -> None:
    """Write down what proves the answer, before anything is printed."""
    from privcalc.render.data import certificate

    [report] = reports
    try:
        Path(name).write_text(certificate(report), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--certificate: cannot write {name}: {error.strerror}") from None


def _check_file(file: str, ask: Asking, output: Output) -> ExitStatus:
    """Check the budget of a file, `-` being standard input, and print what it costs."""
    from privcalc.commands.check import MAX_LENGTH, STANDARD_INPUT, checked

    text = None
    if file == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("--file - reads standard input, and it is a terminal, or closed")
        from privcalc.opened import decoded

        # It is refused before it fills memory.
        text = decoded(STANDARD_INPUT, sys.stdin.buffer.read(4 * MAX_LENGTH + 4))
        file = STANDARD_INPUT
    return Printer(output).print([_watching(lambda: checked(file, ask, text), output)])


def _thresholds(
    given: Mapping[str, Any], ask: Asking, output: Output, specs: list[str]
) -> ExitStatus:
    """Say what candidates have to keep."""
    from privcalc.cli.thresholds import thresholds
    from privcalc.commands.values import read_epsilon

    one, [delta] = read_epsilon("--epsilon-q", given["epsilon_q"]), ask.values["delta"]
    runs = ask.values["runs"]
    report = _watching(lambda: thresholds(runs, one, delta, ask.relation, specs), output)
    return Printer(output).print([report])


def _watching(work: Callable[[], Found], output: Output) -> Found:
    """Work, and where a person waits for it show after a second how far it is."""
    if not output.watched:
        return work()
    from privcalc.cli.progress import Progress

    with Progress(watched=True) as progress:
        progress.begin()
        return work()


def _status(
    specs: Sequence[str],
    ask: Asking,
    output: Output,
    certificate: str | None,
) -> ExitStatus:
    """Answer the sum of the specifications, or where SPEC is `-` each line of standard input."""
    if "-" not in specs:
        _check_jobs(output)
        asked = ask.asked(specs)
        reports = _watching(lambda: ask(asked), output)
        if certificate is not None:
            _certify(reports, certificate)
        return Printer(output).print(reports)
    if output.plot_file is not None:
        raise UsageError("--plot-file draws one question; - may ask many")
    if output.format in DOCUMENTS:
        raise UsageError(f"--format {output.format} is one document; - may ask many questions")
    if len(specs) > 1:
        raise UsageError("- reads whole questions from standard input; it stands alone")
    if sys.stdin is not None and sys.stdin.isatty():
        raise UsageError(
            "standard input is a terminal: - reads questions from a pipe or a file, one on each "
            "line (for example: privcalc compose - --delta 1e-6 < specs.txt)"
        )
    from privcalc.cli.stream import answer_questions

    return answer_questions(ask, output)
