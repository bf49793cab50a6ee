"""Standard input as SPEC: what stands on its lines, read as far as it is needed.

A question is a line of text, a JSON value on any number of lines, or an entry of an array. A line
of text may have a name before it, and a comment behind it, or be one. What is read ahead is one
question: input may be longer than memory, and need not have an end.
"""

from __future__ import annotations

import re
import sys
from codecs import BOM_UTF8
from functools import partial
from typing import TYPE_CHECKING

from privcalc.commands.questions import question
from privcalc.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from privcalc.spec.read import Question

    # A question is the text of one, or why there is none, and its line.
    Asked = tuple[int, str | SpecError]


# Longer than any question that is read; such a line is refused, and nothing after it is read.
MAX_LINE = 8_000_000
# What ends and begins in JSON; a quote by itself is not closed on its line, as it has to be.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[\[\](){},"]')
# How what Python prints begins where that is no bracket; it may go on on further lines.
_PRINTED = re.compile(
    r"(?:[A-Za-z_]\w*\.)*(?:OrderedDict|\w*DpEvent|\w+NamedTupleWrapper)\s*\(|(?:\(\s*)+[\d.]",
    re.ASCII,
)
# What each bracket does to the depth.
_BRACKETS = {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}
# The first step of a history: a list of such is one question.
_STEP = re.compile(r"[\[(][\[(\s]*(?:[\w.]+\()?[\d.-]", re.ASCII)
# The module that the list of an event of dp_accounting begins with: such a list is one question.
_EVENT = re.compile(r'"(?:[a-z_]+\.)*dp_event"')
# A name before a question. No specification has a colon behind the word that follows its first one,
# no JSON and no event a word before it, and a name has a space behind its colon.
_NAMED = re.compile(r"([^\W\d_][\w .-]{0,79}):\s+(?=[A-Za-z][\w.-]*\s*[:(]|[{(\[])")
# What is in quotes, and a comment: a space before it tells it from a part of a word, as in shells.
_QUOTED_OR_COMMENT = re.compile(r'"[^"]*"|\'[^\']*\'|(?P<comment>(?:^|\s)\s*#.*)')
# How a line begins that can only go on with an open value: as programs that print JSON indent it.
_INSIDE = ' \t"}]),:-0123456789'


def questions() -> Iterator[Asked]:
    """Yield the questions of standard input, each as soon as it is complete."""
    value: _Value | None = None
    for number, line in _lines():
        if value is not None and (isinstance(line, SpecError) or not value.goes_on_with(line)):
            yield value.cut_off()
            value = None
        if isinstance(line, SpecError):
            yield number, line
            continue
        if value is None:
            text = without_comment(line.strip())
            if not text:
                continue
            data = text[0] in "{[" or _PRINTED.match(text)
            if not data or (text[0] == "{" and text[-1] == "}"):
                yield number, text
                continue
            value = _Value(number, array=text[0] == "[")
        yield from value.feed(number, line)
        if value.closed:
            value = None
    if value is not None:
        yield value.cut_off()


def without_comment(text: str) -> str:
    """Leave out what stands behind a `#` at the beginning or after a space; data have none.

    >>> without_comment("gaussian:sigma=1 # training"), without_comment("# all of it")
    ('gaussian:sigma=1', '')
    """
    if "#" not in text or text[0] in "{[":
        return text
    for found in _QUOTED_OR_COMMENT.finditer(text):
        if found["comment"] is not None:
            return text[: found.start()]
    return text


def name_and_text(text: str) -> tuple[str, str]:
    """Return the name before a question, or "", and the question.

    >>> name_and_text("train: gaussian:sigma=1"), name_and_text("gaussian: sigma=1")
    (('train', 'gaussian:sigma=1'), ('', 'gaussian: sigma=1'))
    """
    found = _NAMED.match(text)
    return (found[1].rstrip(), text[found.end() :]) if found else ("", text)


class _Value:
    """Data that have begun: an object is one question, an array one for each element.

    An array whose elements are steps is a history, and one question.
    """

    def __init__(self, line: int, *, array: bool) -> None:
        """Begin on a line."""
        self._line, self._array = line, array
        self._depth = self._size = 0
        # The question that is being read, and the line that it begins on.
        self._pieces: list[str] = []
        self._begun = line
        self._last = ""
        self._asked = self._events = False
        self.closed = False

    def goes_on_with(self, line: str) -> bool:
        """Say whether a line belongs to the value, and is not the first after one cut off."""
        return line[0] in _INSIDE or (line[0] in "{[(" and self._last in ("[", ",", ":", "("))

    def feed(self, number: int, line: str) -> Iterator[Asked]:
        """Take a line; yield the questions that are complete with it."""
        start = 0
        self._last = line.rstrip()[-1:]
        for token in _TOKEN.finditer(line):
            mark = token[0]
            first = self._array and self._depth == 1 and not (self._asked or self._pieces)
            if first and _EVENT.fullmatch(mark):
                self._array, self._pieces, start = False, ["["], token.start()
            self._depth += _BRACKETS.get(mark, 0)
            if self._array and self._depth == 1 and _BRACKETS.get(mark) == 1:
                start = token.end()
            between = self._array and self._depth == 1 and mark == ","
            self.closed = self._depth == 0 or mark == '"'
            if between or self.closed:
                self._check_history(line[start : token.start()])
            if (between and self._array) or self.closed:
                # What is wrong with an object is said by who reads it, who has to see all of it.
                stop = token.start() if self._array and mark != '"' else len(line)
                yield from self._question(number, line[start:stop])
                start = token.end()
            if self.closed:
                rest = line[start:].strip() if self._array and mark != '"' else ""
                if rest:
                    yield number, SpecError("an array stands alone on its lines")
                return
        self._take(number, line[start:])
        if self._size > MAX_LINE:
            self.closed = True
            yield self._begun, SpecError(f"a question has fewer than {MAX_LINE} characters")

    def _check_history(self, piece: str) -> None:
        """Take an array for one question where its first element is a step of a history."""
        if self._array and not self._asked:
            element = " ".join([*self._pieces, piece.strip()]).strip()
            if _STEP.match(element):
                self._array, self._begun = False, self._line
                self._pieces.insert(0, "[")

    def cut_off(self) -> Asked:
        """Return what becomes of a value without an end."""
        if self._array:
            return self._line, SpecError("the array that begins here has no end")
        return self._begun, " ".join(self._pieces)

    def _take(self, number: int, piece: str) -> None:
        if piece := piece.strip():
            self._begun = self._begun if self._pieces else number
            self._pieces.append(piece)
            self._size += len(piece)

    def _question(self, number: int, piece: str) -> Iterator[Asked]:
        """Yield what was read as one question; the element of an array has to look like one.

        Of events in brackets one error is said: their commas are not those of the array.
        """
        self._take(number, piece)
        text, begun = " ".join(self._pieces), self._begun if self._pieces else number
        self._pieces, self._size = [], 0
        first, self._asked = not self._asked, True
        if not self._array or text[:1] in ("{", "["):
            yield begun, text
        elif text[:1] == '"':
            yield begun, _quoted(text)
        elif self._events:
            return
        elif "DpEvent(" in text:
            from privcalc.spec.events.data import LISTED, LISTED_HINT

            self._events = True
            yield begun, SpecError(LISTED, hint=LISTED_HINT)
        elif text:
            yield begun, SpecError("an array has questions: objects, or texts in quotes")
        else:
            empty = "an empty array has no question" if first and self.closed else ""
            yield begun, SpecError(empty or "an array has an empty place")


def _quoted(text: str) -> str | SpecError:
    """Return what stands in quotes."""
    from privcalc.spec.json import load_json

    try:
        return str(load_json(text))
    except SpecError as error:
        return error


def _lines() -> Iterator[tuple[int, str | SpecError]]:
    """Yield the lines that are not blank, numbered from 1, without a byte order mark."""
    if sys.stdin is None:
        return
    for number, line in enumerate(iter(partial(sys.stdin.buffer.readline, MAX_LINE), b""), start=1):
        if len(line) == MAX_LINE:
            # The rest of it is no line of its own, and may have no end.
            words = f"a line has fewer than {MAX_LINE} bytes; nothing after this one is read"
            yield number, SpecError(words)
            return
        kept = line.removeprefix(BOM_UTF8).rstrip()
        try:
            text = kept.decode()
        except UnicodeDecodeError as error:
            place = error.start + 1 - (len(kept) - len(kept.lstrip()))
            yield number, SpecError("not UTF-8 text", hint=f"byte {place} of the line")
            continue
        # Of text more is blank than of bytes: separators that are no ASCII spaces.
        if text.strip():
            yield number, text.rstrip()


def distinct(asked: Iterable[Asked]) -> Iterator[Asked]:
    """Leave out answers about the guarantee that the answer before them is about."""
    before: Question | None = None
    for line, text in asked:
        found = _answered(text)
        if found is None or found != before:
            yield line, text
        before = found


def _answered(text: str | SpecError) -> Question | None:
    """Return the guarantee of an answer; None of any other question.

    A text, or an event of another library, that is written twice is asked twice.
    """
    if isinstance(text, SpecError) or '"schema"' not in text:
        return None
    try:
        found = question(text, holes=True)
    except Exception:  # noqa: BLE001  (who answers it says what is wrong)
        return None
    return found if found.printed else None
