"""Values of options, as texts of the command line or as objects of Python: one reader of each.

A text is a number, a ratio or a percentage. Of the objects of Python, numpy and their like, numbers
are read as the texts that they print. What is neither a number nor a list of some is refused:
nothing that was given is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

from privcalc.errors import DomainError, SpecError, UsageError
from privcalc.exact import Written, exact
from privcalc.relation import Relation
from privcalc.render.words import as_written, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from privcalc.spec.syntax import Number

LARGEST_ORDER = 1e6
_BYTES = bytes | bytearray | memoryview
# The longest text that a message has whole.
_LONGEST = 40
# Doubles that differ are farther apart than this, relatively: what is smaller asks for the same.
LEAST_TOLERANCE = 2.0**-54


def read_number(name: str, given: object) -> float:
    """Read a finite number: a double, or with it the fraction or decimal that was given.

    Args:
        name: of the option or the argument, for messages.
        given: a text (`1e-5`, `1/60000`, `0.1%`), or a number of Python: a double, or what stands
            for the text that it prints.

    Raises:
        UsageError: it is none of these, or no double can hold it.
        DomainError: it is infinite.
    """
    given = plain(given)
    if isinstance(given, float):
        if not isfinite(given):
            raise DomainError(f"{name} must be finite, got {given!r}")
        return given
    if isinstance(given, bool) or not isinstance(given, str | Real | Decimal):
        raise UsageError(f"{name} takes a number such as 1e-5, got {type(given).__name__}")
    number = _scanned(name, given, "a number such as 1e-5, 1/60000 or 0.1%")
    # A long decimal is no double that could be shown instead.
    if "/" in number.text or "%" in number.text or isinstance(number.value, Written):
        return as_written(number.value, "".join(number.text.split()))
    return number.value


def _scanned(name: str, given: object, what: str, *, whole: bool = False) -> Number:
    """Read a text, or what a number of Python prints, as specifications have numbers."""
    from privcalc.spec.syntax import Number, Scanner

    try:
        text = str(given)
    except ValueError:
        raise DomainError(f"{name} has too many digits") from None
    # Names, files and free parameters are values of a specification only.
    digits = whole or (text.isascii() and text.lstrip(" \t-.")[:1].isdecimal())
    try:
        if digits and "," not in text:
            scanner = Scanner(text)
            number = scanner.count() if whole else scanner.value()
            if isinstance(number, Number) and not scanner.next:
                return number
    except SpecError as error:
        from privcalc.spec.hints import ANY_NUMBER

        if error.hint != ANY_NUMBER and "free parameter" not in f"{error}":
            raise UsageError(f"{name}: {error}") from None
    from privcalc.spec.hints import for_option

    shown = repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "...")
    raise UsageError(f"{name} takes {what}, got {shown}", hint=for_option(name, text))


def read_delta(name: str, given: object) -> float:
    """Read a probability, such as a delta or a rate."""
    value = read_number(name, given)
    if 0 <= exact(value) <= 1:
        return value
    text = _said(given, value)
    if power := re.fullmatch(r"([0-9.]+)[eE]\+?([1-9][0-9]?)", text):
        text += f"; with a minus it is {power[1]}e-{power[2]}"
    elif power := re.fullmatch(r"-([1-9][0-9]?)", text):
        text += f"; 10^-{power[1]} is written 1e-{power[1]}"
    raise DomainError(f"{name} must be between 0 and 1, got {text}")


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
    given, what = plain(given), "a whole number such as 60_000"
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise UsageError(f"{name} takes {what}, got {type(given).__name__}")
    return _scanned(name, given, what, whole=True).whole or 1


# Counts up to this are exact, and so are their sums.
LARGEST_COUNT = 10**15


def read_whole(name: str, given: object) -> int:
    """Read a whole number of at least 0, such as how often something happened."""
    given = plain(given)
    text = given.strip().replace("_", "") if isinstance(given, str) else given
    if isinstance(text, bool) or not isinstance(text, str | int):
        raise UsageError(f"{name} takes a whole number such as 950, got {type(given).__name__}")
    if not re.fullmatch("[0-9]{1,18}", f"{text}") or int(text) > LARGEST_COUNT:
        words = f"takes a whole number from 0 to {LARGEST_COUNT}, got {str(given)[:_LONGEST]}"
        error = DomainError if re.fullmatch("-?[0-9]+", f"{text}") else UsageError
        raise error(f"{name} {words}")
    return int(text)


def read_counts(name: str, given: object) -> tuple[int, ...]:
    """Read true positives, false negatives, false positives and true negatives."""
    pieces = given.split(",") if isinstance(given, str) else listed(name, given)
    if len(pieces) != 4:
        raise UsageError(f"{name} takes four counts TP,FN,FP,TN, got {len(pieces)}")
    return tuple(read_whole(name, each) for each in pieces)


def read_confidence(name: str, given: object) -> float:
    """Read a confidence."""
    return _within(
        name, given, lambda value: 0.5 < value < 1, "must be above 0.5 and below 1, such as 95%"
    )


def read_text(name: str, given: object) -> str:
    """Read a text, or refuse what is none."""
    if not isinstance(given, str):
        raise UsageError(f"{name} takes a text, got {type(given).__name__}")
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


def split(name: str, text: str) -> list[str]:
    """Take a comma list apart.

    Raises:
        UsageError: a place is empty, or a comma looks like that of a decimal number.
    """
    if "," in text:
        from privcalc.spec.syntax import decimal_comma

        if (place := decimal_comma(text)) is not None:
            from privcalc.spec.hints import DECIMAL_POINT

            words = f"{name}: a comma stands between the numbers of a list, not within one"
            raise UsageError(words, text=text, span=(place, place + 1), hint=DECIMAL_POINT)
    pieces = [piece.strip() for piece in text.split(",")]
    if not all(pieces):
        raise UsageError(f"{name} has an empty place in its comma list")
    return pieces


def read_all(read: Callable[[str, object], float], name: str, given: object) -> tuple[float, ...]:
    """Read one value, or several: a list, or the comma lists of texts; none for None."""
    each = (split(name, x) if isinstance(x, str) else [x] for x in listed(name, given))
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
    if not (found := tuple(plain(given))):
        raise UsageError(f"{name} has no number in it; leave it out, or give one")
    return found


def is_several(given: object) -> bool:
    """Say whether it is a list of values, be it of one, and not a value."""
    found = plain(given)
    return isinstance(found, Sequence) and not isinstance(found, str | _BYTES)


def plain(given: object) -> Any:  # noqa: ANN401
    """Return what numpy and its like have as numbers and lists of Python."""
    convert = None if isinstance(given, type | _BYTES) else getattr(given, "tolist", None)
    return convert() if callable(convert) else given


def _said(given: object, value: float) -> str:
    """Return a number as it was given, for messages."""
    return given.strip() if isinstance(given, str) else written(value)
