"""Plain JSON values -> typed parameter values, and how a message shows what it refuses."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.errors import SpecError
from privcalc.exact import Written, standing_for
from privcalc.spec.check import Fault, check_integer, check_range, choice
from privcalc.spec.spelling import brief_text, shorten, snake_case
from privcalc.spec.syntax import Number
from privcalc.spec.tokens import FILE_NAME, NAME, Scanner
from privcalc.spec.tree import HOLE, Hole, Value

if TYPE_CHECKING:
    from privcalc.spec.entry import Parameter


def typed_value(parameter: Parameter, value: object) -> Value:
    """Return the value of any parameter but a specification; Fault where it is none."""
    result: Value | None
    if parameter.kind in ("number", "integer"):
        result = HOLE if value == "_" else _quantity(parameter, value)
    elif parameter.kind == "numbers":
        result = _numbers(parameter, value)
    elif parameter.kind == "flag":
        result = value if isinstance(value, bool) else None
    else:
        result = _word(parameter, value) if isinstance(value, str) else None
    if result is None:
        raise Fault(f"{parameter.name} takes {parameter.takes}, got {shown(value)}")
    return result


def typed_count(value: object) -> int | Hole:
    """Return the count of a repetition."""
    if value == "_":
        return HOLE
    number = read_number(value)
    if number is None or not number.is_integer():
        raise Fault(f"count takes a whole number, got {shown(value)}")
    count = int(number)
    check_integer("count", count)
    if count < 1:
        raise Fault(f"count must be >= 1, got {count}")
    return count


def shown(value: object) -> str:
    """Return how a message shows a JSON value."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) > 10**20:
        return "a huge number"
    if isinstance(value, int | float) and value - value == 0:
        return brief_text(value)
    return shorten(f'"{value}"' if isinstance(value, str) else repr(value))


def _quantity(parameter: Parameter, value: object) -> float | int | None:
    number = read_number(value)
    if number is None:
        return None
    if parameter.kind == "number":
        check_range(parameter, parameter.name, number)
        return number
    # The type of `value` decides nothing: JSON has one kind of number, and 5.0 is 5.
    if not number.is_integer():
        return None
    check_integer(parameter.name, int(number))
    check_range(parameter, parameter.name, int(number))
    return int(number)


def _numbers(parameter: Parameter, value: object) -> tuple[float, ...] | None:
    if not isinstance(value, list) or not value:
        return None
    found: list[float] = []
    for each in value:
        number = read_number(each)
        if number is None:
            return None
        check_range(parameter, parameter.name, number)
        found.append(number)
    return tuple(found)


def read_number(value: object) -> float | None:
    """Return a finite JSON number, or a string that is one of text, such as "256/60000"."""
    if isinstance(value, str):
        return _in_words(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = standing_for(float(value), Fraction(value)) if isinstance(value, int) else value
    except OverflowError:
        return None
    if number == 0.0:
        return 0.0  # and not -0.0
    return number if number - number == 0 else None


def _in_words(text: str) -> float | None:
    """Return the number in a string: a ratio, or a decimal that no double prints."""
    try:
        scanner = Scanner(text)
        number, rest = scanner.value(), scanner.next
    except SpecError:
        return None
    if not isinstance(number, Number) or rest or "%" in text:
        return None
    # What readers of JSON do not round is a number there.
    return number.value if "/" in text or isinstance(number.value, Written) else None


def _word(parameter: Parameter, value: str) -> str | None:
    if parameter.kind == "choice":
        return choice(parameter, parameter.name, value)
    if parameter.kind == "name":
        return value if NAME.fullmatch(value) and value == snake_case(value) else None
    if parameter.kind == "path":
        if FILE_NAME.fullmatch(value):
            return value
        raise Fault(
            f"{parameter.name} takes a file, got {shown(value)}",
            hint="a file name is letters, digits and . / _ - with a dot or a slash: ./name",
        )
    return None
