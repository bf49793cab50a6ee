"""Tokens of a text: names, numbers, words and counts, each with its span."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NoReturn

from privcalc.errors import SpecError
from privcalc.exact import MOST_DIGITS, decimal_text, significant_digits, standing_for
from privcalc.record import record
from privcalc.spec.entry import FILE_NAME, MAX_INTEGER, SIGNS, Fault, shorten

if TYPE_CHECKING:
    from privcalc.spec.tree import Span


@record
class Number:
    """A number, ratio or percentage as written, and its value.

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
    """A value that is no number.

    Attributes:
        span: where it stands.
        text: what was written; of a quoted one without the quotes.
        kind: a name such as geometric; a path, which has a dot or a slash; quoted; a hole. Of JSON,
            a string, a flag, or what no parameter takes.
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
_QUANTITY = re.compile(
    rf"(-)?[ \t]*({_NUMBER})(?:[ \t]*/[ \t]*({_NUMBER}))?(?:[ \t]*(%))?", re.ASCII
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
        """Read the count of a repetition, or a hole."""
        if self.next == "_":
            return self._hole()
        start = self.place
        found = _COUNT.match(self.text, start)
        quantity = _QUANTITY.match(self.text, start)
        end = max(found.end() if found else start, quantity.end() if quantity else start)
        end = max(end, start + len(self._run(start)))
        if found is None or end > found.end():
            from privcalc.spec import hints

            end = max(end, start + 1)
            written = self.text[start:end]
            self.fail(
                f"a count is written in digits, got {shorten(written)}",
                (start, end),
                hints.for_count(written),
            )
        text, span = self._end(found)
        digits = text.replace("_", "").lstrip("0") or "0"
        # The length is tested first: Python refuses to convert thousands of digits.
        if len(digits) > len(str(MAX_INTEGER)) or int(digits) > MAX_INTEGER:
            self.fail(f"a count is at most {MAX_INTEGER}", span)
        if digits == "0":
            self.fail(f"a count is at least 1, got {shorten(text)}", span)
        return Number(span, text, float(digits), int(digits))

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
                hints.for_number(run),
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
        if bottom is None and not percent and _COUNT.fullmatch(top):
            # One digit too many is as good as thousands: the range check refuses both.
            whole = int((top.lstrip("0") or "0")[: len(str(MAX_INTEGER)) + 1])
            whole = -whole if sign else whole
        try:
            value = number_value(top, bottom, percent=bool(percent), negative=bool(sign))
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
        self.place = found.end()
        self.skip()
        return found.group(), found.span()


def number_value(
    top: str, bottom: str | None = None, *, percent: bool = False, negative: bool = False
) -> float:
    """Return the double of a decimal or of a ratio, standing for what was written.

    Raises:
        Fault: it has thousands of digits, or no double is near it.
    """
    shown = shorten(("-" if negative else "") + top + (f"/{bottom}" if bottom else ""))
    value = float(top)
    if bottom is None and not percent and repr(value) in (top, f"{top}.0"):
        # A double stands for the decimal that `repr` prints of it. Adding 0.0 makes 0.0 of -0.0.
        return (-value if negative else value) + 0.0
    if math.isinf(value):
        raise Fault(f"{shown} is too large")
    for each in (top, bottom or "0"):
        if len(each) > MOST_DIGITS and significant_digits(each) > MOST_DIGITS:
            raise Fault(f"a number has at most {MOST_DIGITS} significant digits")
    # Decimal takes any number of digits, Fraction some thousands.
    divisor = Fraction(Decimal(bottom or 1)) * (100 if percent else 1)
    if not divisor:
        raise Fault("division by zero")
    number = Fraction(Decimal(top)) / divisor
    try:
        value = float(number)
    except OverflowError:
        raise Fault(f"{shown} is too large") from None
    if number and not value:
        raise Fault(f"{shown} is too small")
    if negative:
        value, number = -value, -number
    # A ratio that is a decimal is spelled as one.
    ratio = f"{'-' if negative else ''}{top}/{bottom}" if bottom and not percent else ""
    return standing_for(value + 0.0, number, "" if decimal_text(number) else ratio)
