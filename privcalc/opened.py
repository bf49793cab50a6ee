"""Reads a file of numbers: opened once, refused by kind and by size before anything is decoded."""

from __future__ import annotations

import os
import stat

from privcalc.errors import DomainError

__all__ = ["MAX_BYTES", "decoded", "read_text"]

MAX_BYTES = 20_000_000

# Systems know no longer names.
LONGEST = 4096

# What has no end, or waits for somebody, is no file of numbers.
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe; write what comes out of it to a file",
    stat.S_IFSOCK: "a socket",
}
# Opening a pipe that nobody writes to waits; a terminal must not become that of this process.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def read_text(file: str) -> str:
    """Return what stands in a file.

    Kind and size are those of what was opened, not of what has the name a moment before.

    Raises:
        DomainError: there is no such file, it is of another kind, too large, or no UTF-8 text.
    """
    if len(file) > LONGEST:
        raise DomainError(f"{file[:40]}... cannot be read: it is the name of no file")
    if "\0" in file:
        raise DomainError(f"{file} cannot be read: no name has a null character")
    try:
        os.fsencode(file)
    except UnicodeEncodeError:
        raise DomainError(f"{file!a} cannot be read: it is the name of no file") from None
    try:
        content = _content(file)
    except OSError as error:
        raise DomainError(
            f"{file} cannot be read ({error.strerror or error}); file names are relative to the"
            " current directory"
        ) from None
    return decoded(file, content)


def decoded(file: str, content: bytes) -> str:
    """Return what was read as text; DomainError where it is none."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DomainError(f"{file} cannot be read: not a text file") from None


def _content(file: str) -> bytes:
    descriptor = os.open(file, _FLAGS)
    try:
        found = os.fstat(descriptor)
        kind = stat.S_IFMT(found.st_mode)
        if kind != stat.S_IFREG:
            raise DomainError(f"{file} cannot be read: it is {_KINDS.get(kind, 'no regular file')}")
        parts: list[bytes] = []
        size = found.st_size
        # Some files say that they are empty, and are not; others grow.
        while size <= MAX_BYTES and (part := os.read(descriptor, 1 << 20)):
            parts.append(part)
            size = max(size, sum(map(len, parts)))
    finally:
        os.close(descriptor)
    if size > MAX_BYTES:
        raise DomainError(f"{file} has more than {MAX_BYTES} bytes")
    return b"".join(parts)
