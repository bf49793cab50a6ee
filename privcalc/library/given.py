"""What the functions of the library are given: specifications in any form, names and numbers.

All that comes from outside is converted here, once: what cannot be is an error of privcalc, and
nothing that was given is ignored. Numbers may be texts, which are read as on the command line; what
other libraries recorded of a run is read as a specification.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Complex, Rational, Real
from operator import index
from typing import TYPE_CHECKING, Any

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
    relation_in_force,
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

Several = Sequence[float] | Sequence[Decimal] | Sequence[Fraction] | list[str] | tuple[str, ...]
"""Several numbers, for each of which there is an answer."""


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
    hint = ""
    if isinstance(spec, list | tuple):
        hint = "several are arguments of their own: give *specs"
    elif isinstance(spec, float | int | Decimal | Fraction):
        hint = "numbers have names, as in delta=1e-5"
    raise SpecError(
        f"a specification is a text, an object or an answer, got {_kind(spec)}", hint=hint
    )


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


def is_several(given: object) -> bool:
    """Say whether it is a list of numbers, be it of one, and not a number."""
    plain = _plain(given)
    return isinstance(plain, Sequence) and not isinstance(plain, str | _BYTES)


def listed(name: str, given: object) -> tuple[float, ...]:
    """Return the numbers for each of which there is an answer: those of a list, one, or none."""
    found = numbers(name, given)
    if len(found) > 1 and not is_several(given):
        raise UsageError(f"{name} is a text with {len(found)} numbers; give a list of them")
    return found


def at_most_one(name: str, given: object, hint: str = "ask in turn") -> tuple[float, ...]:
    """Return the one number that an answer is about as a tuple, or none; several are refused."""
    found = numbers(name, given)
    if len(found) > 1:
        raise UsageError(f"an answer is about one {name}, got {len(found)}", hint=hint)
    return found


def places(delta: object, epsilon: object) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return where brackets are asked: deltas, epsilons, or neither."""
    deltas, epsilons = listed("delta", delta), listed("epsilon", epsilon)
    if deltas and epsilons:
        raise UsageError("an answer is about a delta or an epsilon; ask for both in turn")
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


def from_opacus(accountant: object) -> str:
    """Return the specification of the training run that an accountant of Opacus recorded.

        >>> import privcalc
        >>> state = {"history": [(1.1, 0.0042666, 5), (1.1, 0.0042666, 14058)], "mechanism": "rdp"}
        >>> privcalc.from_opacus(state)
        'gaussian:noise_multiplier=1.1@poisson:q=0.0042666@14063'
        >>> spent = privcalc.compose(privcalc.from_opacus(state), delta=1e-5)
        >>> round(spent.epsilon.upper, 6)
        2.381648

    Steps are read as Poisson sampling under add-or-remove-one, as Opacus accounts for them.

    Args:
        accountant: `privacy_engine.accountant`, its `state_dict()`, or its `history` alone; what
            has one of these in it, such as a checkpoint that is loaded; or any of it as a text.

    Returns:
        A text that all functions take, however long it is.

    Raises:
        SpecError: there is no history in it, more than one, or an empty one.
    """
    if isinstance(accountant, str):
        text = accountant
        if "history" not in text and not text.lstrip().startswith(("[", "(")):
            raise SpecError("this text has no history")
    else:
        text = _json(_state(accountant))
    found = question(text)
    return Recorded.of(found.text, found)


def _state(accountant: object) -> object:
    """Return the history in what Opacus has, or what has nothing else, as plain data."""
    from privcalc.spec.events.history import histories

    if not isinstance(accountant, Mapping | list | tuple):
        recorded: Any = accountant
        try:
            return {"history": recorded.history, "mechanism": recorded.mechanism()}
        except (AttributeError, TypeError):
            kind = type(accountant).__name__
            raise SpecError(f"{kind} is no accountant: it has no history and mechanism()") from None
    found = [_named(state) for _, state in histories(accountant)]
    if len(found) > 1:
        raise SpecError(f"there are {len(found)} histories in it; give one of them")
    if found:
        return found[0]
    if isinstance(accountant, Mapping) and "history" not in accountant:
        raise SpecError("the state of an accountant has the fields history and mechanism")
    return _named(accountant) if isinstance(accountant, Mapping) else list(accountant)


def _named(state: Mapping[str, object]) -> dict[str, object]:
    """Return what a state says of a history; before Opacus 1.6 it has a method for the name."""
    known = {key: state[key] for key in ("history", "mechanism") if key in state}
    name = known.get("mechanism")
    return {**known, "mechanism": name()} if callable(name) else known


def from_dp_event(event: object, *, relation: str | None = None) -> str:
    """Return the specification of a DpEvent of dp_accounting.

        >>> import privcalc
        >>> event = "SelfComposedDpEvent(GaussianDpEvent(noise_multiplier=5.0), 100)"
        >>> round(privcalc.compose(privcalc.from_dp_event(event), delta=1e-6).epsilon.upper, 6)
        10.997151

    Args:
        event: the event, its repr, or its `to_named_tuple()` as JSON has it: a list, or the text.
        relation: the one that will be asked for: some events say nothing without it.

    Returns:
        A text that all functions take, however long it is: the specification where the numbers of
        the event are the same under all relations, or one was given; else the event itself, which
        brings its relation along.

    Raises:
        SpecError: it is no event, or one that is not accounted for.
    """
    if isinstance(event, str):
        text = event
    else:
        text = _json(event) if isinstance(event, list | tuple) else repr(event)
    text = " ".join(text.split())
    if not (text.startswith("[") or "DpEvent(" in text):
        raise SpecError("this is no DpEvent: neither its repr nor its to_named_tuple() as JSON")
    under = relation_named(relation)
    found = question(text, relation=under)
    relation_in_force(under, found.relation)
    brought = found.relation not in (None, under)
    return Recorded.of(text if brought else found.text, found)


def _json(value: object) -> str:
    """Write what Python has as the JSON that is read; numbers of numpy are numbers."""
    try:
        return json.dumps(value, default=_json_number)
    except (TypeError, ValueError, RecursionError) as error:
        raise SpecError(f"not JSON: {error}") from None


def _json_number(value: object) -> object:
    item = getattr(value, "item", None)
    if item is None:
        raise TypeError(f"{type(value).__name__} is no number")
    return item()
