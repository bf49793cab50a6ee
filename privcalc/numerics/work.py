"""How much work a question may cost: counted, not timed, so that answers are the same everywhere.

A unit is about a tenth of a microsecond of one core: one value of a characteristic function, one
point of a transform. Whoever does much work charges for it; whoever chooses between engines, or
goes on with a search, looks at what is left. What goes on regardless is refused by the next charge
after 1.4 times as much: it counts as a bound that could not be proved.

What is remembered is remembered for one question: a later one that found it there would have more
work left, and another answer.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from privcalc.errors import NotCertifiedError
from privcalc.record import mutable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_P = ParamSpec("_P")
_R = TypeVar("_R")

# About four seconds, where a unit takes longer than it should: what one question may cost.
QUESTION = 2.5e7
# What is spent beyond an allowance, as a multiple of it, before work is refused.
PATIENCE = 1.4


class OutOfWorkError(NotCertifiedError):
    """A question would take far more work than it is allowed."""


# What each function has found, by its arguments.
_Memory = dict[Any, dict[Any, Any]]


@mutable
class _Allowance:
    limit: float
    most: float
    memory: _Memory
    spent: float = 0.0


_current: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)
# The allowances and the attempts that are under way, from the outside in: for whoever watches from
# another thread, where the variable above is not seen. No answer depends on them.
_open: list[_Allowance] = []
_tried: list[str] = []
# Of calls that belong to no question, where nothing is counted.
_unlimited: _Memory = {}


@contextmanager
def _within(inner: _Allowance) -> Iterator[None]:
    """Count what is spent inside on an allowance, and afterwards on the one around it."""
    outer = _current.get()
    token = _current.set(inner)
    _open.append(inner)
    try:
        yield
    finally:
        _open.pop()
        _current.reset(token)
        if outer is not None:
            outer.spent += inner.spent


@contextmanager
def allowance(units: float) -> Iterator[None]:
    """Allow so much work inside, or what is left of an allowance around it if that is less."""
    outer = _current.get()
    rest = math.inf if outer is None else outer.most - outer.spent
    memory = {} if outer is None else outer.memory
    with _within(_Allowance(min(units, left()), min(PATIENCE * units, rest), memory)):
        yield


@contextmanager
def alone(units: float, *told: Callable[..., Any]) -> Iterator[None]:
    """Allow what a question by itself has, whatever is left: it has the answer that it has alone.

    Nothing is remembered from before but what some functions have found, on which no answer
    depends. All is counted on the allowance around it.

    Raises:
        OutOfWorkError: far more than is allowed around it was spent already.
    """
    charge(0.0)
    outer = _current.get()
    known = {} if outer is None else outer.memory
    # What `remembered` has decorated.
    keys = [each.__wrapped__ for each in told]  # type: ignore[attr-defined]
    memory = {each: known.setdefault(each, {}) for each in keys}
    with _within(_Allowance(units, PATIENCE * units, memory)):
        yield


@contextmanager
def share(parts: float, most: float = math.inf) -> Iterator[None]:
    """Allow one of so many equal parts of what is left.

    Refused is what the whole refuses, and what takes more than `most` of all that is left. Where
    nothing is left the whole refuses, not the part.
    """
    outer = _current.get()
    if outer is None:
        yield
        return
    rest = min(outer.most - outer.spent, most * left() if left() > 0.0 else math.inf)
    with _within(_Allowance(left() / parts, rest, outer.memory)):
        yield


@contextmanager
def trying(words: str) -> Iterator[None]:
    """Name what is tried inside, for whoever watches."""
    _tried.append(words)
    try:
        yield
    finally:
        _tried.pop()


def under_way() -> tuple[float, str]:
    """Return which part of what a question may cost is spent, and what is being tried.

    Of one question at a time; for whoever watches it from another thread.
    """
    # One without limit is no question.
    allowed, tried = [each for each in _open if each.limit < math.inf], [*_tried]
    spent = sum(each.spent for each in allowed)
    return (min(1.0, spent / allowed[0].limit) if allowed else 0.0), ": ".join(tried)


def charge(units: float) -> None:
    """Take note of work that was done, or is about to be.

    Raises:
        OutOfWorkError: far more was spent than is allowed.
    """
    allowed = _current.get()
    if allowed is None:
        return
    # What is refused is not spent: another engine may still answer.
    if allowed.spent + units > allowed.most:
        raise OutOfWorkError(
            "this takes more work than one question may cost; ask for fewer values at a time, for"
            " less with --tolerance 1e-3, or for parts of it"
        )
    allowed.spent += units


def spend(units: float) -> None:
    """Take note of work that is not refused: little in comparison with what it makes use of."""
    allowed = _current.get()
    if allowed is not None:
        allowed.spent += units


def left() -> float:
    """Return what may still be spent; infinity where nothing is limited."""
    allowed = _current.get()
    return math.inf if allowed is None else max(0.0, allowed.limit - allowed.spent)


def remembered(size: int) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a function remember its last results, as `lru_cache` does, within one question.

    Args:
        size: how many of them.
    """

    def decorated(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            allowed = _current.get()
            memory = _unlimited if allowed is None else allowed.memory
            known = memory.setdefault(function, {})
            key = args, *kwargs.items()
            # The last one asked for comes last.
            found: _R = known.pop(key) if key in known else function(*args, **kwargs)
            known[key] = found
            if len(known) > size:
                del known[next(iter(known))]
            return found

        return call

    return decorated
