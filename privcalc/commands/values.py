"""Values of options, as texts of the command line or as objects of Python: one reader of each.

A text is a number, a ratio or a percentage. An object is what Python, numpy and their like have as
numbers and lists. What can be read as neither is refused: nothing that was given is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Complex, Rational, Real
from typing import TYPE_CHECKING, Any, NoReturn

from privcalc.errors import DomainError, SpecError, UsageError
from privcalc.exact import Written, exact, standing_for
from privcalc.relation import Relation
from privcalc.render.words import as_written, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from privcalc.spec.syntax import Number, Scanner

LARGEST_ORDER = 1e6
# The largest count, as in specifications.
MOST = 10**15
# Doubles that differ are farther apart than this, relatively: what is smaller asks for the same.
LEAST_TOLERANCE = 2.0**-54


def read_number(name: str, given: object) -> float:
    """Read a finite number: a double, or with it the fraction or decimal that was given.

    Args:
        name: of the option or the argument, for messages.
        given: a text (`1e-5`, `1/60000`, `0.1%`), or a number of Python.

    Raises:
        UsageError: it is none of these.
        DomainError: it is infinite, or no double can hold it.
    """
    return _number_of_text(name, given) if isinstance(given, str) else _number(name, given)


def _number_of_text(name: str, text: str) -> float:
    refusal = f"{name} takes a number such as 1e-5, 1/60000 or 0.1%, got {_shown(text)}"
    # Names, files and free parameters are values of a specification only.
    if not (text.isascii() and text.lstrip(" \t-.")[:1].isdecimal()) or "," in text:
        _refuse(refusal, name, text)
    number = _scanned(name, text, refusal, lambda scanner: scanner.value())
    # A long decimal is no double that could be shown instead.
    if "/" in number.text or "%" in number.text or isinstance(number.value, Written):
        return as_written(number.value, "".join(number.text.split()))
    return number.value


def _scanned(name: str, text: str, refusal: str, read: Callable[[Scanner], object]) -> Number:
    """Read a text as specifications have numbers, or refuse it."""
    from privcalc.spec.hints import ANY_NUMBER
    from privcalc.spec.syntax import Number, Scanner

    try:
        scanner = Scanner(text)
        number, rest = read(scanner), scanner.next
    except SpecError as error:
        if error.hint == ANY_NUMBER or "free parameter" in f"{error}":
            _refuse(refusal, name, text)
        hint = f" ({error.hint})" if error.hint else ""
        raise UsageError(f"{name}: {error.message}{hint}") from None
    if not isinstance(number, Number) or rest:
        _refuse(refusal, name, text)
    return number


def _number(name: str, given: object) -> float:
    """Read a number of Python; one that only rounds to 0 or to infinity is refused, as texts are.

    A complex number is none: numpy would make a double of it and only warn.
    """
    given = _plain(given)
    if isinstance(given, float) and isfinite(given):
        return given
    real = hasattr(given, "__float__") or hasattr(given, "__index__")
    imaginary = isinstance(given, Complex) and not isinstance(given, Real)
    if not real or isinstance(given, bool) or imaginary:
        raise UsageError(f"{name} takes a number such as 1e-5, got {kind(given)}")
    try:
        number = float(given)  # type: ignore[arg-type]
        lost = number == 0.0 and given != 0
    except OverflowError:
        raise DomainError(f"{name} is too large for a double") from None
    except (TypeError, ValueError):
        raise UsageError(f"{name} takes a number such as 1e-5, got {kind(given)}") from None
    if not isfinite(number):
        raise DomainError(f"{name} must be finite, got {number!r}")
    if lost:
        raise DomainError(f"{name} is too small for a double")
    if isinstance(given, Rational | Decimal):
        return standing_for(number, Fraction(given), str(given))
    return number


def read_delta(name: str, given: object) -> float:
    """Read a probability, such as a delta or a rate."""
    value = read_number(name, given)
    if 0 <= exact(value) <= 1:
        return value
    meant = ""
    if isinstance(given, str):
        if power := re.fullmatch(r"\s*([0-9.]+)[eE]\+?([1-9][0-9]?)\s*", given):
            meant = f"; with a minus it is {power[1]}e-{power[2]}"
        elif power := re.fullmatch(r"\s*-([1-9][0-9]?)\s*", given):
            meant = f"; 10^-{power[1]} is written 1e-{power[1]}"
    raise DomainError(f"{name} must be between 0 and 1, got {_said(given, value)}{meant}")


def _within(name: str, given: object, fits: Callable[[Fraction], bool], words: str) -> float:
    """Read a number that is in a range."""
    value = read_number(name, given)
    if not fits(exact(value)):
        raise DomainError(f"{name} {words}, got {_said(given, value)}")
    return value


def read_epsilon(name: str, given: object) -> float:
    """Read an epsilon, or another quantity that is finite and not negative."""
    return _within(name, given, lambda value: value >= 0, "must be >= 0")


def read_tolerance(name: str, given: object) -> float:
    """Read a relative tolerance."""
    value = _within(name, given, lambda value: 0 < value < 1, "must be > 0 and < 1")
    return max(value, LEAST_TOLERANCE)


def read_order(name: str, given: object) -> float:
    """Read a Renyi order."""
    words = f"takes orders > 1 and at most {LARGEST_ORDER:.0f}"
    return _within(name, given, lambda value: 1 < value <= LARGEST_ORDER, words)


def read_ratio(name: str, given: object) -> float:
    """Read a part of a ratio of values."""
    return _within(name, given, lambda value: value > 0, "takes numbers > 0")


def read_count(name: str, given: object) -> int:
    """Read a whole number of at least 1; a float is none, and a text has digits only."""
    refusal = f"{name} takes a whole number such as 60_000, got"
    if not isinstance(given, str):
        plain = _plain(given)
        if isinstance(plain, bool) or not isinstance(plain, int):
            raise UsageError(f"{refusal} {kind(given)}")
        if not 1 <= plain <= MOST:
            raise DomainError(f"{name} must be at least 1 and at most 1e15")
        return plain
    refusal = f"{refusal} {_shown(given)}"
    if "," in given:
        _refuse(refusal, name, given)
    whole = _scanned(name, given, refusal, lambda scanner: scanner.count()).whole
    if whole is None:
        raise UsageError(refusal)
    return whole


def _refuse(refusal: str, name: str, text: str) -> NoReturn:
    """Refuse what is no number, with what to write where that is known."""
    from privcalc.spec.hints import for_option

    raise UsageError(refusal, hint=for_option(name, text)) from None


def read_text(name: str, given: object) -> str:
    """Read a text, or refuse what is none."""
    if not isinstance(given, str):
        raise UsageError(f"{name} takes a text, got {kind(given)}")
    return given


def read_texts(name: str, given: object) -> tuple[str, ...]:
    """Read several texts, such as names of files."""
    return tuple(read_text(name, each) for each in listed(name, given))


def read_relation(name: str, given: object) -> Relation:
    """Read a relation by its name, with dashes or underscores."""
    if isinstance(given, Relation):
        return given
    known = {each.value: each for each in Relation}
    word = read_text(name, given).lower().replace("-", "_")
    if word not in known:
        words = ", ".join(each.text for each in Relation)
        from privcalc.commands.meant import for_value

        raise UsageError(f"{given!r} is no relation; known: {words}", hint=for_value(word, known))
    return known[word]


def split(name: str, texts: Iterable[str]) -> list[str]:
    """Take apart the comma lists of a repeatable option, in the order they were written.

    Raises:
        UsageError: a place is empty, or a comma looks like that of a decimal number.
    """
    texts = tuple(texts)
    for text in texts:
        if "," in text:
            from privcalc.spec.syntax import decimal_comma

            if (place := decimal_comma(text)) is not None:
                from privcalc.spec.hints import DECIMAL_POINT

                raise UsageError(
                    f"{name}: a comma stands between the numbers of a list, not within one",
                    text=text,
                    span=(place, place + 1),
                    hint=DECIMAL_POINT,
                )
    pieces = [piece.strip() for text in texts for piece in text.split(",")]
    if not all(pieces):
        raise UsageError(f"{name} has an empty place in its comma list")
    return pieces


def read_all(read: Callable[[str, object], float], name: str, given: object) -> tuple[float, ...]:
    """Read one value, or several: a list, or the comma lists of texts; none for None."""
    each = (split(name, [x]) if isinstance(x, str) else [x] for x in listed(name, given))
    return tuple(read(name, value) for values in each for value in values)


def listed(name: str, given: object) -> Sequence[object]:
    """Return what is in a list, or the one value; nothing for None.

    What has no order, such as a set, is one value, and refused as such. So is a list with nothing
    in it: it would ask another question than the one that was meant.
    """
    if given is None:
        return ()
    if not is_several(given):
        return (given,)
    plain: Any = _plain(given)
    if not plain:
        raise UsageError(f"{name} has no number in it; leave it out, or give one")
    return tuple(plain)


def is_several(given: object) -> bool:
    """Say whether it is a list of values, be it of one, and not a value."""
    plain = _plain(given)
    return isinstance(plain, Sequence) and not isinstance(plain, str | _BYTES)


def _plain(given: object) -> object:
    """Return what numpy and its like have as numbers and lists of Python."""
    convert = None if isinstance(given, type | _BYTES) else getattr(given, "tolist", None)
    return convert() if callable(convert) else given


def kind(given: object) -> str:
    """Name what was given, for messages."""
    return type(given).__name__


_BYTES = bytes | bytearray | memoryview


def _said(given: object, value: float) -> str:
    """Return a number as it was given, for messages."""
    return given.strip() if isinstance(given, str) else written(value)


def _shown(text: str, limit: int = 40) -> str:
    return repr(text if len(text) <= limit else text[:limit] + "...")
