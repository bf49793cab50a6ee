"""How much work a question may cost: counted, not timed, so that answers are the same everywhere.

A unit is about a tenth of a microsecond of one core: one value of a characteristic function, one
point of a transform. Whoever does much work charges for it; whoever chooses between engines, or
goes on with a search, looks at what is left. Nothing is interrupted.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# About five seconds: what one question may cost.
QUESTION = 5e7


@dataclass(slots=True)
class _Allowance:
    limit: float
    spent: float = 0.0


_current: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def allowance(units: float) -> Iterator[None]:
    """Allow so much work inside, or what is left of an allowance around it if that is less."""
    outer = _current.get()
    inner = _Allowance(min(units, left()))
    token = _current.set(inner)
    try:
        yield
    finally:
        _current.reset(token)
        if outer is not None:
            outer.spent += inner.spent


def charge(units: float) -> None:
    """Take note of work that was done, or is about to be."""
    allowed = _current.get()
    if allowed is not None:
        allowed.spent += units


def left() -> float:
    """Return what may still be spent; infinity where nothing is limited."""
    allowed = _current.get()
    return math.inf if allowed is None else max(0.0, allowed.limit - allowed.spent)
