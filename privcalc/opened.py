"""Reads a file of numbers: refused by kind and by size before anything is decoded."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from privcalc.errors import DomainError

MAX_BYTES = 20_000_000

# What has no end, or waits for somebody, is no file of numbers.
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe; write what comes out of it to a file",
}


def read_text(file: str) -> str:
    """Return what stands in a file.

    Raises:
        DomainError: there is no such file, it is of another kind, too large, or no UTF-8 text.
    """
    try:
        kind = stat.S_IFMT(os.stat(file).st_mode)  # noqa: PTH116
        content = b""
        if kind == stat.S_IFREG:
            # Some files say that they are empty, and are not; others grow.
            with Path(file).open("rb") as opened:
                content = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise DomainError(
            f"{file[:200]} cannot be read ({error.strerror or error}); file names are relative to"
            " the current directory"
        ) from None
    except ValueError:
        raise DomainError(f"{file[:200]!a} cannot be read: it is the name of no file") from None
    if kind != stat.S_IFREG:
        raise DomainError(f"{file} cannot be read: it is {_KINDS.get(kind, 'no regular file')}")
    if len(content) > MAX_BYTES:
        raise DomainError(f"{file} has more than {MAX_BYTES} bytes")
    return decoded(file, content)


def decoded(file: str, content: bytes) -> str:
    """Return what was read as text; DomainError where it is none."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DomainError(f"{file} cannot be read: not a text file") from None
