"""JSON text -> plain values, without the liberties of the standard reader.

The standard reader keeps the last of two equal keys, knows NaN and Infinity, and turns 1e999 into
infinity. In a specification each of these would change a privacy claim without a word.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import NoReturn

from privcalc.errors import SpecError
from privcalc.exact import MOST_DIGITS, significant_digits, standing_for
from privcalc.spec.spelling import shorten

# The JSON twin of the longest text that is read stays far below this.
MAX_JSON_LENGTH = 1_000_000
_MAX_DIGITS = 400


def is_json(text: str) -> bool:
    """Say whether a question is JSON: its first character decides."""
    return text.lstrip(" \t\r\n")[:1] in ("{", "[")


def load_json(text: str, *, infinity: bool = False) -> object:
    """Read JSON text; SpecError (with a span where the reader tells one) if it is not strict JSON.

    Numbers keep their type: `5` is an int, `5.0` a float. With `infinity`, the word that Python
    writes is read too.
    """
    if len(text) > MAX_JSON_LENGTH:
        _fail(f"JSON has at most {MAX_JSON_LENGTH} characters, this text has {len(text)}")
    import json

    try:
        value: object = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=read_float,
            parse_constant=_infinity if infinity else _constant,
        )
    except json.JSONDecodeError as error:
        at = min(error.pos, len(text))
        stop = min(at + 1, len(text))
        raise SpecError(f"not JSON: {error.msg}", text=text, span=(at, stop)) from None
    except RecursionError:
        _fail("JSON is nested too deep")
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in pairs:
        if key in fields:
            _fail(f'the field "{shorten(key)}" is given twice')
        fields[key] = value
    return fields


def _integer(digits: str) -> int:
    # Python refuses to convert more digits than some limit, with a ValueError of its own.
    if len(digits) > _MAX_DIGITS:
        _fail(f"{shorten(digits)} is too large")
    return int(digits)


def read_float(written: str) -> float:
    """Return the double of a decimal, standing for what was written.

    Raises:
        SpecError: no double is near it.
    """
    value = float(written)
    if value in (float("inf"), float("-inf")):
        _fail(f"{shorten(written)} is too large")
    if value == 0 and written.lower().partition("e")[0].strip("-0."):
        _fail(f"{shorten(written)} is too small")
    if significant_digits(written) > MOST_DIGITS:
        _fail(f"a number has at most {MOST_DIGITS} significant digits")
    return standing_for(value, Fraction(Decimal(written)))


def _infinity(word: str) -> float:
    return float("inf") if word == "Infinity" else _constant(word)


def _constant(word: str) -> NoReturn:
    _fail(f"{word} is not a number")


def _fail(message: str) -> NoReturn:
    raise SpecError(message)
