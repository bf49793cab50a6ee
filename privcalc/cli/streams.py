"""The standard streams where they are closed or full: what is lost there must be noticed."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import NoReturn, TextIO


class ClosedOutput(io.TextIOBase):
    """Stands in for a standard output that the caller closed: whoever writes to it fails."""

    def write(self, _text: str) -> NoReturn:
        """Refuse: the text would be lost."""
        raise OSError(errno.EBADF, "standard output is closed")


def open_closed_streams() -> None:
    """Give a caller that closed standard output or standard error one that can be written to.

    The opened files also keep the numbers 1 and 2 of the closed ones from those opened later.
    """
    if sys.stdout is None:
        os.open(os.devnull, os.O_WRONLY)
        sys.stdout = ClosedOutput()
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
    return "".join(
        each if each == "\n" or each.isprintable() else ascii(each)[1:-1] for each in text
    )


def abandon_output() -> None:
    """Let what is still buffered for standard output go nowhere."""
    abandon(sys.stdout)


def abandon(stream: TextIO) -> None:
    """Let what a stream still buffers go nowhere when the interpreter flushes it at its end."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
    except (OSError, ValueError, AttributeError):
        # The stream is no file (a test), or there is none: nothing will be flushed.
        return
