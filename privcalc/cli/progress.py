"""Progress on standard error, where an answer takes long and a person is looking."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

# Shorter waits need no explanation.
PATIENCE = 0.5
_ERASE = "\r\x1b[K"


class Progress:
    """A line that counts steps and is gone in the end; only a terminal sees it."""

    def __init__(self, steps: int, *, shown: bool) -> None:
        """Start the clock."""
        self._steps, self._done = steps, 0
        self._shown = shown and sys.stderr is not None and sys.stderr.isatty()
        self._start = time.monotonic()
        self._written = False

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def advance(self) -> None:
        """Count one step."""
        self._done += 1
        if self._shown and time.monotonic() - self._start > PATIENCE:
            sys.stderr.write(f"{_ERASE}privcalc: {self._done} of {self._steps}")
            sys.stderr.flush()
            self._written = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the line away."""
        if self._written:
            sys.stderr.write(_ERASE)
            sys.stderr.flush()
