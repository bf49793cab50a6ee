"""What was asked of the output, what the terminal can show, and the printing of answers."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING

from privcalc.cli.failure import ExitStatus, abandon, complain
from privcalc.commands.options import option
from privcalc.commands.values import read_count
from privcalc.errors import UsageError
from privcalc.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.commands.options import Text
    from privcalc.render.report import Report


@record
class Terminal:
    """How tables may look on standard output.

    Attributes:
        boxed: it is a terminal that a person reads.
        colour: colour is wanted.
        columns: how wide it is; a table that does not fit has no boxes, and is never cut.
        lines: how many it has; 0 where it is none.
    """

    boxed: bool
    colour: bool
    columns: int = 80
    lines: int = 0


def terminal(mode: str) -> Terminal:
    """Decide from the option, then NO_COLOR, then FORCE_COLOR, then the terminal itself."""
    capable = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if mode != "auto":
        colour = mode == "always"
    elif os.environ.get("NO_COLOR"):
        colour = False
    else:
        colour = capable or bool(os.environ.get("FORCE_COLOR"))
    if not capable:
        return Terminal(boxed=False, colour=colour)
    from shutil import get_terminal_size

    size = get_terminal_size()
    return Terminal(boxed=True, colour=colour, columns=size.columns, lines=size.lines)


MOST_JOBS = 256
# One document for one question; what prints many answers would not be one.
DOCUMENTS = ("junit", "gitlab")
# The module and the function of each format, and whether that takes one answer at a time.
FORMATS = {
    "terse": ("plain", "terse_line", True),
    "json": ("data", "json_line", True),
    "csv": ("data", "csv_lines", True),
    "github": ("ci", "github", True),
    "markdown": ("plain", "markdown_lines", False),
    "junit": ("ci", "junit", False),
    "gitlab": ("ci", "gitlab", False),
}


@record
class Output:
    """How one invocation prints.

    Attributes:
        format: the output format.
        terse: print the safe number alone.
        quiet: print no answer at all.
        verbose: explain on standard error.
        terminal: what tables may look like.
        jobs: how many processes answer what stands on standard input.
        plot: draw the curve in the place of its table.
        plot_file: draw it into this file too.
        command: the words of the command line, for statements.
    """

    format: str
    terse: bool
    quiet: bool
    verbose: bool
    terminal: Terminal
    jobs: int = 1
    plot: bool = False
    plot_file: str | None = None
    command: tuple[str, ...] = ()

    @property
    def watched(self) -> bool:
        """Whether a person waits at a terminal on which a line can be taken back."""
        dumb = self.quiet or os.environ.get("TERM") == "dumb"
        return not dumb and sys.stderr is not None and sys.stderr.isatty()


def read_output(
    *,
    json: bool = False,
    format_: Text = None,
    terse: bool = False,
    quiet: bool = False,
    verbose: bool = False,
    color: str = "auto",
    jobs: Text = None,
    plot: bool = False,
    plot_file: Text = None,
) -> Output:
    """Turn the options of the output, which all commands have, into the value that they take.

    Raises:
        UsageError: two of them contradict each other.
    """
    if json and format_ not in (None, "json"):
        raise UsageError(f"--json contradicts --format {format_}; give one")
    if terse and (json or format_ is not None):
        raise UsageError("-t prints a bare number; it does not go with --json or --format")
    chosen = "json" if json else format_ or "table"
    processes = 1 if jobs is None else read_count("--jobs", jobs)
    if processes > MOST_JOBS:
        raise UsageError(f"--jobs takes at most {MOST_JOBS} processes, got {processes}")
    if plot and (terse or quiet or chosen != "table"):
        raise UsageError("--plot draws on standard output; --plot-file FILE goes with all else")
    if plot_file is not None:
        from privcalc.picture.picture import check_file

        check_file(plot_file)
    return Output(chosen, terse, quiet, verbose, terminal(color), processes, plot, plot_file)


OUTPUT = [option("", name) for name in read_output.__kwdefaults__ or ()]
OPTIONS = [each.name for each in OUTPUT]


@record
class Printed:
    """All that is printed of one question.

    Attributes:
        lines: for standard output.
        said: for standard error.
        notes: the same, but for what was said of a question before.
        status: what it amounts to.
        checked: whether a budget was checked.
        line: the line of standard input that asked, or None.
    """

    lines: tuple[str, ...]
    said: tuple[str, ...]
    status: ExitStatus
    checked: bool = False
    line: int | None = None
    notes: tuple[str, ...] = ()


class Printer:
    """Prints answers to one question after another in one format."""

    def __init__(self, output: Output) -> None:
        """Start with nothing printed."""
        self._output = output
        self._started = False
        self._noted: set[str] = set()

    def print(self, reports: Sequence[Report]) -> ExitStatus:
        """Print all answers to one question; return the status that they amount to."""
        printed = self.rendered(reports)
        if self._output.plot_file is not None:
            from privcalc.picture.figure import write
            from privcalc.picture.picture import picture

            write(picture(reports)[0], self._output.plot_file)
        self.emit(printed)
        return printed.status

    def rendered(
        self,
        reports: Sequence[Report],
        *,
        line: int | None = None,
        text: str = "",
        name: str = "",
    ) -> Printed:
        """Return what is printed of all answers to one question, before any of it is.

        Args:
            reports: the answers.
            line: the line of standard input that asked, for what goes to standard error.
            text: what it asked, for statements.
            name: what it is called.
        """
        place = "" if line is None else f"line {line}{f' ({name})' if name else ''}: "
        lines = () if self._output.quiet else tuple(self._lines(reports, text))
        said = tuple(self._messages(reports, place))
        checks = [report.check for report in reports if report.check is not None]
        failed = any(not check.verdict.passes for check in checks)
        status = ExitStatus.BUDGET if failed else ExitStatus.OK
        notes = tuple(self._notes(reports))
        return Printed(lines, said, status, checked=bool(checks), line=line, notes=notes)

    def emit(self, printed: Printed) -> bool:
        """Print an answer; say whether standard error took what was said."""
        if printed.lines:
            text = "\n".join((*self._before(), *printed.lines)) + "\n"
            self._write(text, checked=printed.checked)
        new = [note for note in printed.notes if note not in self._noted]
        self._noted.update(new)
        place = "" if printed.line is None else f"line {printed.line}: "
        said = (*printed.said, *(f"privcalc: {place}note: {note}" for note in new))
        return all(complain(each) for each in said)

    def _before(self) -> Iterator[str]:
        """Yield what stands once at the top, or between two answers."""
        form = self._output.format
        if form == "csv" and not self._started:
            from privcalc.render.data import csv_header

            yield csv_header()
        pages = ("table", "markdown", "statement")
        if form in pages and self._started and not self._output.terse:
            yield ""

    def _write(self, text: str, *, checked: bool) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            # The verdict of a check does not depend on who reads on.
            if not checked:
                raise
            abandon(sys.stdout)
        self._started = True

    def _lines(self, reports: Sequence[Report], text: str) -> Iterator[str]:
        form = "terse" if self._output.terse else self._output.format
        if form == "statement":
            from privcalc.render import statement

            return statement.lines(reports, self._output.command, text)
        if form == "table":
            return self._picture(reports) if self._output.plot else self._tables(reports)
        # Each format is imported when it is used: starting up is most of the run time.
        module, name, each = FORMATS[form]
        render = getattr(import_module(f"privcalc.render.{module}"), name)
        if not each:
            return iter(render(reports))
        found = map(render, reports)
        return chain.from_iterable([each] if isinstance(each, str) else each for each in found)

    def _picture(self, reports: Sequence[Report]) -> Iterator[str]:
        """Draw the curve in the place of its table; other answers have theirs."""
        from privcalc.picture.picture import picture
        from privcalc.picture.terminal import draw
        from privcalc.render.plain import aligned, verdicts
        from privcalc.render.words import names

        found, rest = picture(reports)
        terminal = self._output.terminal
        above = [*aligned((*names(reports), ("spec", found.title), *found.facts))]
        below = [*verdicts(reports, colour=terminal.colour)]
        if rest:
            below = ["", *self._tables(rest)]
        if terminal.boxed:
            above, below = _broken(above, terminal.columns), _broken(below, terminal.columns)
        # The last line of a screen is that of the next prompt.
        left = terminal.lines - len(above) - len(below) - 1
        yield from above
        yield from draw(found, columns=terminal.columns, lines=left)
        yield from below

    def _tables(self, reports: Sequence[Report]) -> Iterator[str]:
        terminal = self._output.terminal
        from privcalc.render import plain

        if terminal.boxed:
            text = plain.boxed(reports, colour=terminal.colour, width=terminal.columns)
            return iter(text.rstrip("\n").split("\n"))
        return plain.lines(reports, colour=terminal.colour)

    def _messages(self, reports: Sequence[Report], place: str) -> Iterator[str]:
        """Say on standard error what the format on standard output has no place for."""
        # Most answers have nothing to say, and what says it is not loaded.
        silent = not self._output.verbose and all(map(_is_plain, reports))
        if self._output.quiet or silent:
            return
        from privcalc.render import messages

        if self._output.verbose:
            yield from messages.details(reports, place)
        yield from messages.warnings(reports, place, verbose=self._output.verbose)
        if self._output.terse or self._output.format in ("json", "csv", *DOCUMENTS):
            yield from messages.failed_checks(reports, place)

    def _notes(self, reports: Sequence[Report]) -> Iterator[str]:
        """Say on standard error what numbers rest on that nobody wrote, and why they are wide."""
        if self._output.quiet:
            return
        from privcalc.render.notes import notes

        # Of a bare number the usual sensitivity is said where details are asked for; an event is
        # read by another program, in multiples of it.
        event = any("dp_event" in report.result for report in reports)
        bare = self._output.terse and (self._output.verbose or event)
        for words, hint in notes(reports, bare=bare):
            yield f"{words}\nhint: {hint}" if hint else words
        if self._output.terse or self._output.format == "csv":
            yield from dict.fromkeys(each for report in reports for each in report.reasons)


def _is_plain(report: Report) -> bool:
    """Return whether an answer is a proved number that is as narrow as was asked."""
    from privcalc.render.report import Estimate

    numbers = not any(isinstance(value, Estimate) for value in report.result.values())
    return numbers and report.method.tolerance_met and report.check is None


def _broken(lines: Sequence[str], columns: int) -> list[str]:
    """Break lines at spaces; a specification has none, and can be copied."""
    from textwrap import wrap

    broken = (wrap(line, columns, break_long_words=False) or [""] for line in lines)
    return [piece for pieces in broken for piece in pieces]
