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
# What brackets there are outside of quotes; a quote that is not closed on its line stands alone.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[\[\](){}"]')
# How what Python prints begins where that is no bracket; it may go on on further lines.
_PRINTED = re.compile(
    r"(?:[A-Za-z_]\w*\.)*(?:OrderedDict|\w*DpEvent|\w+NamedTupleWrapper)\s*\(|(?:\(\s*)+[\d.]",
    re.ASCII,
)
# What each bracket does to the depth.
_BRACKETS = {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}
# The module that the list of an event of dp_accounting begins with: such a list is one question.
_EVENT = re.compile(r"(?:[a-z_]+\.)*dp_event")
# What stands before an element of an array.
_BETWEEN = re.compile(r"\s*[\[,]\s*")
# A name before a question. No specification has a colon behind the word that follows its first one,
# no JSON and no event a word before it, and a name has a space behind its colon.
_NAMED = re.compile(r"([^\W\d_][\w .-]{0,79}):\s+(?=[A-Za-z][\w.-]*\s*[:(]|[{(\[])")
# What is in quotes, and a comment: a space before it tells it from a part of a word, as in shells.
_QUOTED_OR_COMMENT = re.compile(r'"[^"]*"|\'[^\']*\'|(?P<comment>(?:^|\s)\s*#.*)')
# How a line begins that can only go on with an open value: as programs that print JSON indent it.
_INSIDE = ' \t"}]),:-0123456789'


def questions() -> Iterator[Asked]:
    """Yield the questions of standard input, each as soon as it is complete."""
    # The lines of data that go on, where they begin, their brackets that are open, their length.
    held: list[str] = []
    begun = depth = size = 0
    # Whether each element of an array is a question.
    separate = False
    for number, line in _lines():
        if held and (isinstance(line, SpecError) or not _goes_on(held[-1], line)):
            # What is wrong with data is said by who reads them, who has to see all of them.
            yield begun, " ".join(held)
            held = []
        if isinstance(line, SpecError):
            yield number, line
            continue
        text = line.strip() if held else without_comment(line.strip())
        if not held:
            data = text[:1] in ("{", "[") or _PRINTED.match(text)
            if not data or text[0] + text[-1] == "{}":
                if text:
                    yield number, text
                continue
            depth = size = 0
            separate = text[0] == "["
        begun = begun if held and held != ["["] else number
        held.append(text)
        depth, size = depth + _opened(text), size + len(text)
        if size > MAX_LINE:
            yield begun, SpecError(f"a question has fewer than {MAX_LINE} characters")
            held = []
        elif depth <= 0 or (separate and depth == 1 and text[-1] == ","):
            closed, whole = depth <= 0, " ".join(held)
            found = _elements(whole if closed else f"{whole[:-1]}]") if separate else []
            yield from ((begun, each) for each in (found or [whole] * closed))
            # Where the first is no question, all of the array is one.
            separate = bool(found)
            held = [] if closed else ["["] if separate else held
    if held:
        yield begun, " ".join(held)


def _goes_on(before: str, line: str) -> bool:
    """Say whether a line belongs to the data before it, and is not the first after a cut."""
    return line[0] in _INSIDE or (line[0] in "{[(" and before[-1] in "[,:(")


def _opened(text: str) -> int:
    """Return how many brackets a line leaves open; data with half a string have ended."""
    tokens = [found[0] for found in _TOKEN.finditer(text)]
    return -MAX_LINE if '"' in tokens else sum(_BRACKETS.get(each, 0) for each in tokens)


def _elements(text: str) -> list[str]:
    """Return the questions of an array; none where it is one question, or no JSON.

    A list of steps is a history, and one that begins with the name of a module is an event.
    """
    from json import JSONDecoder

    found: list[str] = []
    stop = 0
    try:
        while between := _BETWEEN.match(text, stop):
            value, stop = JSONDecoder().raw_decode(text, between.end())
            listed = isinstance(value, list) and isinstance([*value, ""][0], str)
            if not listed and not isinstance(value, dict | str):
                return []
            found.append(value if isinstance(value, str) else text[between.end() : stop])
    except (ValueError, RecursionError):
        return []
    return found if text[stop:].strip() == "]" and not _EVENT.fullmatch(found[0]) else []


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
