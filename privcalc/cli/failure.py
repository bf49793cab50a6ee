"""How it ends: exit statuses, errors on standard error, and streams that are closed or full.

An error is one line, or an object, or an annotation. What is lost on a closed stream is noticed.
"""

from __future__ import annotations

import os
import re
import sys
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING, TextIO

from privcalc.errors import FileError, PrivcalcError, SpecError
from privcalc.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence


class ExitStatus(IntEnum):
    """What the caller learns without reading the output (man page, EXIT STATUS)."""

    OK = 0
    """Done, or within the budget."""
    BUDGET = 1
    """The budget is exceeded, or nothing proves that it is satisfied."""
    ERROR = 2
    """Anything wrong: usage, specification, domain, not certified, internal."""
    INTERRUPTED = 130
    """Ctrl-C: 128 + SIGINT, as shells report it."""


def open_closed_streams() -> None:
    """Give a caller that closed standard output or standard error one in its place.

    The opened files also keep the numbers 1 and 2 of the closed ones from those opened later.
    """
    if sys.stdout is None:
        # It is read-only: whoever writes to it fails, for the text would be lost.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115  (until the process ends)


def complain(text: str) -> bool:
    """Write a line to standard error; where nobody can read it, the exit status has to do.

    What a file or a specification has in it may be part of it. Here, and nowhere else, is seen to
    it that no byte of that moves a terminal's cursor, or changes its colour or its direction.

    Returns:
        Whether it was written.
    """
    try:
        sys.stderr.write(f"{_visible(text)}\n")
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)
        return False
    return True


def _visible(text: str) -> str:
    """Escape what a terminal would not print, but for the ends of lines."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    # Lone surrogates stand for bytes that are not UTF-8.
    text = text.encode(errors="replace").decode()
    return "".join(
        each if each == "\n" or each.isprintable() else ascii(each)[1:-1] for each in text
    )


def abandon(stream: TextIO) -> None:
    """Let what a stream still buffers go nowhere when the interpreter flushes it at its end."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
    except (OSError, ValueError, AttributeError):
        # The stream is no file (a test), or there is none: nothing will be flushed.
        return


SCHEMA = "privcalc/error/v1"


@record
class Failure:
    """An error as the caller sees it.

    Attributes:
        code: the kind of error, one of those in error-v1.json.
        message: one line.
        text: the specification at fault, or "".
        span: half-open range of `text`, or None.
        hint: what to write instead, or "".
        line: the line of standard input, or of the file, or None.
        file: the file that is at fault, or "".
    """

    code: str
    message: str
    text: str = ""
    span: tuple[int, int] | None = None
    hint: str = ""
    line: int | None = None
    file: str = ""

    def as_text(self) -> str:
        """Return the line, and below it the specification with error markers, and the hint."""
        places = [self.file] if self.file else []
        places += [] if self.line is None else [f"line {self.line}"]
        place = ", ".join(places) + (": " if places else "")
        if self.span is not None:
            from privcalc.spec.hints import marked

            error = SpecError(self.message, text=self.text, span=self.span, hint=self.hint)
            return f"privcalc: {place}{marked(error)}"
        hint = f" ({self.hint})" if self.hint else ""
        return f"privcalc: {place}{self.message}{hint}"

    def as_object(self) -> str:
        """Return the error object, on one line."""
        import json

        data: dict[str, object] = {"schema": SCHEMA, "code": self.code, "message": self.message}
        if self.hint:
            data["hint"] = self.hint
        if self.span is not None and self.text:
            from privcalc.spec.hints import excerpt

            data["text"], data["span"] = excerpt(self.text, self.span)
        if self.file:
            data["file"] = self.file
        if self.line is not None:
            data["line"] = self.line
        return json.dumps({key: _clean(value) for key, value in data.items()})

    def as_annotation(self) -> str:
        """Return the error as a GitHub workflow command."""
        from privcalc.render.ci import annotation

        place = (self.file, self.line or 1) if self.file else None
        return annotation("error", "privcalc", self.as_text().removeprefix("privcalc: "), place)


def _clean(value: object) -> object:
    """Replace the lone surrogates that stand for bytes that are not UTF-8."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def failure(error: Exception, *, line: int | None = None) -> Failure:
    """Describe any exception; what was not raised on purpose is an internal error."""
    if isinstance(error, FileError):
        return replace(failure(error.cause, line=error.line), file=error.file)
    if isinstance(error, PrivcalcError):
        span = error.span if error.text or isinstance(error, SpecError) else None
        return Failure(error.code, _one_line(error), error.text, span, error.hint, line)
    if isinstance(error, OSError):
        return Failure("internal", error.strerror or _one_line(error), line=line)
    kind = type(error).__name__
    message = f"internal error: {kind}: {_one_line(error)}".removesuffix(": ")
    return Failure("internal", message, hint="-v shows where", line=line)


def shown(problem: Failure, form: str) -> str:
    """Write a failure in the form that goes with the output format: text, json or github."""
    if form == "json":
        return problem.as_object()
    return problem.as_annotation() if form == "github" else problem.as_text()


def wanted_form(arguments: Sequence[str]) -> str:
    """Find the output format in arguments that may not be parsable: usage errors need it too."""
    words = list(arguments)
    if "--" in words:
        words = words[: words.index("--")]
    chosen = [value for option, value in pairwise(words) if option == "--format"]
    chosen += [word.removeprefix("--format=") for word in words if word.startswith("--format=")]
    if "--json" in words or "json" in chosen:
        return "json"
    return "github" if "github" in chosen else "text"


def wants_traceback(arguments: Sequence[str]) -> bool:
    """Return whether an internal error is to be shown whole: with -v, or PRIVCALC_DEBUG set."""
    verbose = any(word == "--verbose" or re.fullmatch("-[a-z]*v[a-z]*", word) for word in arguments)
    return verbose or bool(os.environ.get("PRIVCALC_DEBUG"))


def _one_line(error: Exception) -> str:
    text = error.message if isinstance(error, PrivcalcError) else str(error)
    return " ".join(text.split())
