"""What the functions of the library are given: specifications in any form, names and numbers.

All that comes from outside is converted here, once: what cannot be is an error of privcalc, and
nothing that was given is left out. Numbers may be texts, which are read as on the command line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Complex, Rational, Real
from operator import index
from typing import TYPE_CHECKING

from privcalc.errors import DomainError, SpecError, UsageError
from privcalc.exact import Written, shown, standing_for
from privcalc.library.result import Result
from privcalc.relation import Relation
from privcalc.reporting.questions import (
    LEAST_TOLERANCE,
    question,
    read_all,
    read_count,
    read_number,
    summed,
)

if TYPE_CHECKING:
    from privcalc.spec.read import Question

Spec = str | Mapping[str, object] | Result
"""A specification: text, an object of its JSON form, or an answer (which is read as the guarantee
that its numbers are about, under its relation, or refused)."""

Number = float | str | Decimal | Fraction
Numbers = Number | Sequence[Number] | None
"""One number or several; a text is read as on the command line: 1e-5, 1/60000, 0.1%."""


class Recorded(str):
    """A specification as a text, with what it was read as: of that no length is too long.

    Attributes:
        question: what all functions ask.
    """

    __slots__ = ("question",)

    question: Question

    @classmethod
    def of(cls, text: str, question: Question) -> Recorded:
        """Return a text that stands for a question."""
        found = cls(text)
        found.question = question
        return found


ENGINES = ("auto", "contour", "fft", "rdp")
MOST = 10**15
"""The largest count, as in specifications."""


def asked(
    specs: Sequence[Spec], relation: str | Relation | None, *, holes: bool = False
) -> Question:
    """Read the specifications as one question, their sum, asked under a relation.

    Raises:
        SpecError: one cannot be read.
        UsageError: there is none, or answers bring different relations.
    """
    if not specs:
        raise UsageError("a question needs a specification")
    under = relation_named(relation)
    return summed([_question(spec, under, holes=holes) for spec in specs])


def _question(spec: Spec, relation: Relation | None, *, holes: bool) -> Question:
    if isinstance(spec, Recorded):
        return spec.question
    return question(_text(spec), holes=holes, relation=relation)


def _text(spec: Spec) -> str:
    """Write a specification as the command line takes it: there is one reader."""
    if isinstance(spec, str):
        return spec
    if isinstance(spec, Result):
        return spec.to_json()
    if isinstance(spec, Mapping):
        try:
            return json.dumps(_exactly(spec), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise SpecError(f"not JSON: {error}") from None
    kind = type(spec).__name__
    raise SpecError(f"a specification is a text, an object or an answer, got {kind}")


def relation_named(name: str | Relation | None) -> Relation | None:
    """Return a relation by its name, with dashes or underscores; None for the default."""
    if name is None or isinstance(name, Relation):
        return name
    known = {each.value: each for each in Relation}
    word = text_of("relation", name).replace("-", "_")
    if word not in known:
        words = ", ".join(each.text for each in Relation)
        raise UsageError(f"{name!r} is no relation; known: {words}")
    return known[word]


def engine_named(name: str) -> str:
    """Return the name of an engine that proves what it says."""
    if text_of("engine", name) not in ENGINES:
        raise UsageError(f"engine is one of {', '.join(ENGINES)}, got {name!r}")
    return name


def text_of(name: str, given: object) -> str:
    """Return a text, or refuse what is none."""
    if not isinstance(given, str):
        raise UsageError(f"{name} takes a text, got {_kind(given)}")
    return given


def numbers(name: str, given: object) -> tuple[float, ...]:
    """Return one number, or several, as a tuple; none for None.

    A text may have several between commas. What has no order, such as a set, and what has no
    number in it, is refused: it would ask another question than the one that was meant.
    """
    if given is None:
        return ()
    if isinstance(given, str):
        return read_all(read_number, name, (given,))
    plain = _plain(given)
    if not isinstance(plain, Sequence) or isinstance(plain, _BYTES):
        return (_number(name, plain),)
    if not plain:
        raise UsageError(f"{name} has no number in it; leave it out, or give one")
    return tuple(_number(name, _plain(each)) for each in plain)


def at_most_one(name: str, given: object) -> tuple[float, ...]:
    """Return the one number that an answer is about as a tuple, or none; several are refused."""
    found = numbers(name, given)
    if len(found) > 1:
        raise UsageError(f"an answer is about one {name}, got {len(found)}; ask in turn")
    return found


def one_place(delta: object, epsilon: object) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return where one bracket is asked: one delta, one epsilon, or neither."""
    deltas, epsilons = at_most_one("delta", delta), at_most_one("epsilon", epsilon)
    if deltas and epsilons:
        raise UsageError("an answer is about one delta or one epsilon; ask for both in turn")
    return deltas, epsilons


def tolerance_of(given: object) -> float:
    """Return a relative tolerance."""
    found = at_most_one("tolerance", given)
    if not found:
        raise UsageError("tolerance takes a number such as 1e-9, got None")
    if not 0.0 < found[0] < 1.0:
        raise DomainError(f"tolerance must be > 0 and < 1, got {found[0]!r}")
    return max(found[0], LEAST_TOLERANCE)


def whole(name: str, given: object) -> int:
    """Return a whole number of at least 1; a float is none, and a text has digits only."""
    if isinstance(given, str):
        return read_count(name, given)
    plain = _plain(given)
    if isinstance(plain, bool) or not hasattr(plain, "__index__"):
        raise UsageError(f"{name} takes a whole number such as 60_000, got {_kind(given)}")
    try:
        number = index(plain)
    except TypeError:
        raise UsageError(
            f"{name} takes a whole number such as 60_000, got {_kind(given)}"
        ) from None
    if not 1 <= number <= MOST:
        raise DomainError(f"{name} must be at least 1 and at most 1e15")
    return number


def _number(name: str, given: object) -> float:
    """Return a finite number: a double, or with it the fraction or decimal that was given.

    An integer or a fraction that only rounds to 0 or to infinity is refused, as a text is.
    """
    if isinstance(given, str):
        return read_number(name, given)
    if isinstance(given, Written):
        return given
    real = hasattr(given, "__float__") or hasattr(given, "__index__")
    if not real or isinstance(given, bool) or _imaginary(given):
        raise UsageError(f"{name} takes a number such as 1e-5, got {_kind(given)}")
    try:
        number = float(given)  # type: ignore[arg-type]
        lost = number == 0.0 and given != 0
    except OverflowError:
        raise DomainError(f"{name} is too large for a double") from None
    except (TypeError, ValueError):
        raise UsageError(f"{name} takes a number such as 1e-5, got {_kind(given)}") from None
    if not isfinite(number):
        raise DomainError(f"{name} must be finite, got {number!r}")
    if lost:
        raise DomainError(f"{name} is too small for a double")
    if isinstance(given, Rational | Decimal):
        return standing_for(number, Fraction(given))
    return number


def _exactly(value: object) -> object:
    """Return an object of the JSON form with fractions, and what is no double, as texts there."""
    if isinstance(value, Mapping):
        return {key: _exactly(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_exactly(each) for each in value]
    if isinstance(value, Fraction | Decimal):
        value = _number("a value", value)
    return shown(value) if isinstance(value, Written) else value


def _plain(given: object) -> object:
    """Return what numpy and its like have as numbers and lists of Python."""
    convert = None if isinstance(given, type | _BYTES) else getattr(given, "tolist", None)
    return convert() if callable(convert) else given


def _imaginary(given: object) -> bool:
    """Say whether a number is complex: numpy would make a double of it and only warn."""
    return isinstance(given, Complex) and not isinstance(given, Real)


def _kind(given: object) -> str:
    return type(given).__name__


_BYTES = bytes | bytearray | memoryview
