"""Tokens of a text (names, numbers, words and counts, each with its span), and values of them.

A text and its JSON twin hand over values as `Number`, `Numbers`, `Word` or a node; the registry
says what type each becomes. A refusal of that is a `Fault`: who meets it adds the span in the text,
or the place in the object.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NoReturn

from privcalc.errors import SpecError
from privcalc.exact import MOST_DIGITS, Spelled, Written, decimal_text, standing_for
from privcalc.record import record
from privcalc.spec.entry import (
    FILE_NAME,
    MAX_INTEGER,
    PATH,
    SIGNS,
    Fault,
    check_range,
    choice,
    shorten,
    snake_case,
)
from privcalc.spec.tree import HOLE, Count, Node

if TYPE_CHECKING:
    from privcalc.spec.entry import Parameter
    from privcalc.spec.tree import Span, Value


@record
class Number:
    """A number, ratio (of a product, too) or percentage as written, and its value.

    `whole` is the value again where it was written as a whole number (digits and a sign).
    """

    span: Span
    text: str
    value: float
    whole: int | None


@record
class Numbers:
    """Two or more numbers as written, separated by commas."""

    span: Span
    text: str
    items: tuple[Number, ...]


@record
class Word:
    """A value that is no number; the text of a quoted one is without the quotes.

    A path has a dot or a slash. Of JSON there are strings, flags, and what no parameter takes.
    """

    span: Span
    text: str
    kind: Literal["name", "path", "quoted", "hole", "string", "flag", "other"]


# Longest text that is read: room for a ledger of ten thousand entries, and read in a second or two.
MAX_LENGTH = 1_000_000

_DIGITS = r"[0-9]+(?:_[0-9]+)*"
# Three digits of exponent reach past the doubles on both sides; more would only cost time.
_NUMBER = rf"(?:{_DIGITS}(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{{1,3}})?"

_SPACE = re.compile(r"[ \t]*", re.ASCII)
NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9])?", re.ASCII)
_QUOTED = re.compile(rf"(['\"])([{SIGNS}]{{1,1000}})\1")
_COUNT = re.compile(_DIGITS, re.ASCII)
_COUNTED = re.compile(rf"{_DIGITS}(?:[ \t]*[*/][ \t]*{_DIGITS})*", re.ASCII)
# A product has a divisor: `sigma=2*10` may be meant as ten uses.
_PRODUCT = rf"{_NUMBER}(?:[ \t]*\*[ \t]*{_NUMBER})+(?=[ \t]*/[ \t]*\.?[0-9])"
_QUANTITY = re.compile(
    rf"(-)?[ \t]*({_PRODUCT}|{_NUMBER})(?:[ \t]*/[ \t]*({_NUMBER}))?(?:[ \t]*(%))?", re.ASCII
)
_FURTHER = re.compile(r",[ \t]*-?[ \t]*\.?[0-9]", re.ASCII)
# A value that begins like a number or a word and runs on: what a message shows of it.
_RUN = re.compile(r"[A-Za-z0-9./_-]+", re.ASCII)


class Scanner:
    """A text and a place in it. Each method reads one terminal, or raises SpecError."""

    def __init__(self, text: str) -> None:
        """Start at the first character that is no space."""
        self.text = text
        self.place = 0
        if len(text) > MAX_LENGTH:
            self.fail(
                f"a specification has at most {MAX_LENGTH:,} characters, this has {len(text):,}",
                (MAX_LENGTH, len(text)),
            )
        self.skip()

    def skip(self) -> None:
        """Pass over spaces and tabs."""
        found = _SPACE.match(self.text, self.place) if self.next in (" ", "\t") else None
        if found:
            self.place = found.end()

    @property
    def next(self) -> str:
        """The next character, or "" at the end."""
        return self.text[self.place : self.place + 1]

    def take(self, character: str) -> bool:
        """Pass over this character and the space after it, if it comes next."""
        if self.next != character:
            return False
        self.place += 1
        self.skip()
        return True

    def fail(self, message: str, span: Span | None = None, hint: str = "") -> NoReturn:
        """Raise SpecError at a span, which is the next character where none is given.

        Without a hint there may be one for what stands there.
        """
        end = len(self.text)
        start, stop = span or (min(self.place, end), min(self.place + 1, end))
        if not hint:
            from privcalc.spec import hints

            hint = hints.for_place(self.text, start)
        raise SpecError(message, text=self.text, span=(start, stop), hint=hint)

    def name(self) -> tuple[str, Span] | None:
        """Read a name, if one comes next."""
        found = NAME.match(self.text, self.place)
        if found is None:
            return None
        if self.text[found.end() : found.end() + 1] in ("-", "_"):
            self.fail("a name ends in a letter or a digit", (found.start(), found.end() + 1))
        return self._end(found)

    def count(self) -> Number | Word:
        """Read the count of a repetition, or a free one."""
        if self.next == "_":
            return self._hole()
        start = self.place
        found = _COUNTED.match(self.text, start)
        quantity = _QUANTITY.match(self.text, start)
        end = max(start + len(self._run(start)), quantity.end() if quantity else start + 1)
        if found is None or end > found.end():
            from privcalc.spec import hints

            written = self.text[start:end]
            self.fail(
                f"a count is written in digits, got {shorten(written)}",
                (start, end),
                hints.for_count(written),
            )
        text, span = self._end(found)
        if "*" in text or "/" in text:
            return self._worked_out(text, span)
        digits = text.replace("_", "").lstrip("0") or "0"
        # The length is tested first: Python refuses to convert thousands of digits.
        if len(digits) > len(str(MAX_INTEGER)) or int(digits) > MAX_INTEGER:
            self.fail(f"a count is at most {MAX_INTEGER}", span)
        if digits == "0":
            self.fail(f"a count is at least 1, got {shorten(text)} (write 1 or more)", span)
        return Number(span, text, float(digits), int(digits))

    def _worked_out(self, text: str, span: Span) -> Number:
        """Return the count that a product or a quotient is, or the next whole number."""
        signs = iter(re.split(r"[ \t]*([*/])[ \t]*", text.replace("_", "")))
        if len(text) > MOST_DIGITS:
            self.fail(f"a count that is worked out has at most {MOST_DIGITS} characters", span)
        number = Fraction(next(signs))
        for sign, digits in zip(signs, signs, strict=True):
            if sign == "/" and not int(digits):
                self.fail("division by zero (write another divisor)", span)
            number = number * int(digits) if sign == "*" else number / int(digits)
        if not 1 <= number <= MAX_INTEGER:
            most = f"at most {MAX_INTEGER}, got {shorten(text)}"
            least = f"at least 1, got {shorten(text)} (write 1 or more)"
            self.fail(f"a count is {most if number > 1 else least}", span)
        count = Count(math.ceil(number))
        count.written = "" if number == count else f"{shorten(text)} is {float(number):.10g}"
        return Number(span, text, float(count), count)

    def numbers(self, first: Number) -> Number | Numbers:
        """Read what follows a number: after a comma, where no key may begin, the list goes on."""
        items = [first]
        while _FURTHER.match(self.text, self.place):
            self.take(",")
            start, value = self.place, self.value()
            if not isinstance(value, Number):
                self.fail("a number is expected in a list of numbers", (start, self.place))
            items.append(value)
        if len(items) == 1:
            return first
        span = (first.span[0], items[-1].span[1])
        return Numbers(span, self.text[slice(*span)], tuple(items))

    def value(self) -> Number | Word | None:
        """Read a value other than a specification in parentheses, if one comes next."""
        if self.next == "_":
            return self._hole()
        start = self.place
        quoted = _QUOTED.match(self.text, start) if self.next in ("'", '"') else None
        if quoted is not None:
            _, span = self._end(quoted)
            return Word(span, quoted[2], "quoted")
        run = self._run(start)
        quantity = _QUANTITY.match(self.text, start)
        if quantity is not None and quantity.end() >= start + len(run):
            return self._number(quantity)
        found = NAME.fullmatch(run)
        if found is not None:
            return Word((start, self._pass(len(run))), run, "name")
        if FILE_NAME.fullmatch(run):
            return Word((start, self._pass(len(run))), run, "path")
        if run:
            from privcalc.spec import hints

            self.fail(
                f"cannot read the value {shorten(run)}",
                (start, start + len(run)),
                hints.for_number(run, self.text[start + len(run) : start + len(run) + 1]),
            )
        return None

    def _hole(self) -> Word:
        """Read a hole, which is a whole value."""
        start, run = self.place, self._run(self.place)
        end = self._pass(1)
        if run != "_" or self.next in ("/", "%", "_"):
            self.fail("a free parameter is a whole value: _ by itself", (start, start + len(run)))
        return Word((start, end), run, "hole")

    def _number(self, found: re.Match[str]) -> Number:
        text, span = self._end(found)
        sign, top, bottom, percent = (each and each.replace("_", "") for each in found.groups())
        whole = None
        if "*" in top and len(top) <= MOST_DIGITS:
            factors = map(Fraction, re.split(r"[ \t]*\*[ \t]*", top))
            top = decimal_text(math.prod(factors, start=Fraction(1))) or top
        if "*" in top:
            self.fail(f"{shorten(top)} has too many digits", span)
        if bottom is None and not percent and _COUNT.fullmatch(top):
            # One digit too many is as good as thousands: the range check refuses both.
            whole = int((top.lstrip("0") or "0")[: len(str(MAX_INTEGER)) + 1])
            whole = -whole if sign else whole
        try:
            value = number_value(f"{sign or ''}{top}", bottom, percent=bool(percent))
        except Fault as fault:
            self.fail(str(fault), span)
        return Number(span, text, value, whole)

    def _run(self, start: int) -> str:
        found = _RUN.match(self.text, start)
        return found.group() if found else ""

    def _pass(self, length: int) -> int:
        end = self.place + length
        self.place = end
        self.skip()
        return end

    def _end(self, found: re.Match[str]) -> tuple[str, Span]:
        self._pass(found.end() - self.place)
        return found.group(), found.span()


def number_value(top: str, bottom: str | None = None, *, percent: bool = False) -> float:
    """Return the double of a decimal or of a ratio, standing for what was written.

    Raises:
        Fault: it has thousands of digits, or no double is near it.
    """
    shown = shorten(top + (f"/{bottom}" if bottom else ""))
    value = float(top)
    if bottom is None and not percent and repr(value) in (top, f"{top}.0"):
        # A double stands for the decimal that `repr` prints of it. Adding 0.0 makes 0.0 of -0.0.
        return value + 0.0
    if math.isinf(value):
        raise Fault(f"{shown} is too large")
    if max(len(top), len(bottom or "")) > MOST_DIGITS:
        raise Fault(f"a number has at most {MOST_DIGITS} digits")
    # Decimal takes any number of digits, Fraction some thousands.
    divisor = Fraction(Decimal(bottom or 1)) * (100 if percent else 1)
    if not divisor:
        raise Fault("division by zero (write another divisor)")
    number = Fraction(Decimal(top)) / divisor
    try:
        value = float(number)
    except OverflowError:
        raise Fault(f"{shown} is too large") from None
    if number and not value:
        raise Fault(f"{shown} is too small")
    # A ratio that is a decimal is spelled as one.
    ratio = f"{top}/{bottom}" if bottom and not percent else ""
    found = standing_for(value + 0.0, number, "" if decimal_text(number) else ratio)
    return Spelled(found, ratio) if ratio and not isinstance(found, Written) else found


Given = Number | Numbers | Word | Node


def typed(parameter: Parameter, key: str, written: Given) -> Value:
    """Return what was written as a value of the type of its parameter, which messages call `key`.

    Raises:
        Fault: it is of another type, or out of range.
    """
    value: Value | None = None
    if isinstance(written, Node):
        value = written if parameter.kind == "spec" else None
    elif parameter.kind == "numbers":
        if not isinstance(written, Word):
            value = _listed(parameter, key, written)
    elif isinstance(written, Number):
        value = _number(parameter, key, written)
    elif isinstance(written, Word):
        value = _word(parameter, key, written)
    if value is None:
        raise Fault(f"{key} takes {parameter.takes}, got {_shown(written)}")
    return value


def _number(parameter: Parameter, key: str, written: Number) -> Value | None:
    if parameter.kind == "path":
        # What is a number elsewhere names a file: .5
        return written.text if FILE_NAME.fullmatch(written.text) else None
    if parameter.kind == "number":
        check_range(parameter, key, written.value, shorten(written.text))
        return written.value
    if parameter.kind == "integer" and written.whole is not None:
        check_range(parameter, key, written.whole, shorten(written.text))
        return written.whole
    return None


def _listed(parameter: Parameter, key: str, written: Number | Numbers) -> Value:
    items = written.items if isinstance(written, Numbers) else (written,)
    # Here a list of 0 and 1 is common; that numbers are in range, and as many as they should be, is
    # checked.
    if any(re.fullmatch(_PADDED, each, re.ASCII) for each in written.text.split(",")[1:]):
        from privcalc.spec.hints import DECIMAL_POINT

        message = f"{key}: a comma stands between the numbers of a list, not within one"
        raise Fault(message, hint=DECIMAL_POINT)
    for each in items:
        check_range(parameter, key, each.value, shorten(each.text))
    return tuple(each.value for each in items)


def _word(parameter: Parameter, key: str, written: Word) -> Value | None:
    if parameter.kind in ("number", "integer") and written.kind == "hole":
        return HOLE
    # Names of a text are in any spelling, and strings of JSON in one.
    word = snake_case(written.text) if written.kind == "name" else written.text
    name = written.kind in ("name", "string")
    if parameter.kind == "flag" and written.kind in ("name", "flag") and word in ("true", "false"):
        return word == "true"
    if parameter.kind == "choice" and name:
        return choice(parameter, key, word)
    if parameter.kind == "name" and name and NAME.fullmatch(word) and word == snake_case(word):
        return word
    if parameter.kind == "path":
        return _path(key, written)
    return None


def _path(key: str, written: Word) -> str | None:
    """Return the name of a file: it is told from other words by a dot, a slash or another sign."""
    if written.kind == "quoted":
        return written.text if PATH.fullmatch(written.text) else f"./{written.text}"
    if written.kind == "string" and not PATH.fullmatch(written.text):
        raise Fault(
            f"{key} takes a file, got {_shown(written)}",
            hint="a file name has a dot or a slash, and no quotes: ./name",
        )
    return written.text if written.kind == "string" or FILE_NAME.fullmatch(written.text) else None


def _shown(written: Given) -> str:
    if isinstance(written, Node):
        return "a specification"
    if isinstance(written, Word) and written.kind == "hole":
        return "a free parameter"
    quoted = isinstance(written, Word) and written.kind == "string"
    return shorten(f'"{written.text}"' if quoted else written.text)


def hint(parameter: Parameter, key: str, written: Given) -> str:
    """Return what to write for a value of a text that a parameter does not take, or ""."""
    from privcalc.spec import hints

    numeric = parameter.kind in ("number", "integer")
    if isinstance(written, Numbers):
        several = "one value for each key, and the next key after a comma"
        return hints.DECIMAL_POINT if numeric else several
    if not isinstance(written, Number | Word):
        return ""
    text = shorten(written.text)
    if isinstance(written, Number) and numeric:
        if parameter.maximum == 1 and written.whole is not None and written.whole > 1:
            return f"{text} of N records are {key}={text}/N"
        whole = "a whole number is written in digits, as 60_000"
        fits = parameter.kind == "number" or written.whole is not None
        return "" if fits else hints.for_count(text, otherwise=whole)
    if isinstance(written, Word) and written.kind == "quoted":
        return f"only names of files stand in quotes: write {key}={text}"
    if parameter.kind == "spec":
        return f"write {key}=({text}:...)"
    if parameter.kind == "path":
        other = f'with other signs in quotes: {key}="NAME"'
        return f"a file name holds a dot or a slash: write {key}=./{text}; {other}"
    return hints.for_word_as_number(text) if numeric else ""


# Zeros before digits, which no number of a list has: `0,00001`, `0,05`, `1,0e-5`.
_PADDED = r"[ \t]*0(?:[0-9]+|[0-9]*[eE][+-]?[0-9]+)%?[ \t]*"
# `0,5`, and what digits alone would say nothing of: `1,5e-5` and `2,5%`.
_BELOW_ONE = r"[ \t]*-?0[0-9]*,[0-9]+(?:[eE]-[0-9]+)?%?[ \t]*"
_MARKED = r"[ \t]*(?:-?[1-9],[0-9]+[eE]-[0-9]+|[1-9][0-9]*,[0-9]+%)[ \t]*"


def decimal_comma(text: str) -> int | None:
    """Return where a comma list of an option has a comma that looks like a decimal one, or None.

    Whoever is read wrongly gets an answer to another question without a word, so that what may well
    be one number is refused; a list that people write as such, as `1,2` or `1e-5,1e-6`, is not.
    """
    items = text.split(",")
    try:
        values = [float(each) for each in items]
    except ValueError:
        values = []
    # Three numbers or more that go up from 0 are a list, and have no 0.5.
    ascending = len(values) > 2 and all(low < high for low, high in pairwise(values))
    listed = ascending and items[0].strip() == "0"
    place = -1
    for before, after in pairwise(items):
        place += len(before) + 1
        both = f"{before},{after}"
        below_one = re.fullmatch(_BELOW_ONE, both, re.ASCII) and not listed
        padded = re.fullmatch(_PADDED, after, re.ASCII)
        if below_one or padded or re.fullmatch(_MARKED, both, re.ASCII):
            return place
    return None
