"""Plain data as Python prints it: dicts, lists, tuples, `OrderedDict`; read, and never evaluated.

    value  = dict | items | string { string } | number | word | method | call
    dict   = "{" [ value ":" value { "," value ":" value } [ "," ] ] "}"
    items  = ( "[" | "(" ) [ value { "," value } [ "," ] ] ( "]" | ")" )
    word   = "True" | "False" | "None"
    method = "<bound method " name ">"        what a state printed for the name of its accountant
    call   = name "(" [ value ] ")"           OrderedDict, and numbers of numpy
           | name "(" name "=" value { "," name "=" value } ")"     named tuples of DpEvents

The result is what JSON would have: dictionaries with texts as keys, lists, texts, numbers. Whatever
else Python prints is refused at its place: an object that is cut short, or rounded, is no data.
"""

from __future__ import annotations

import re
import struct
from typing import NoReturn, cast

from privcalc.errors import SpecError
from privcalc.record import record
from privcalc.spec.entry import MAX_DEPTH, shorten
from privcalc.spec.events.event import FIELDS, SUFFIX
from privcalc.spec.json import load_json, read_float
from privcalc.spec.syntax import MAX_LENGTH

# Numbers of numpy that are those of Python.
NUMBERS = frozenset({"float64", "int64", "int32", "int16", "int8", "uint64", "uint32"})
# Those whose decimal is that of no double: how their bits are packed.
SHORT = {"float32": "<f", "float16": "<e"}
# What is written as JSON, and what only Python prints: a quote, a parenthesis, a word.
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ONLY_PYTHON = re.compile(r"['(]|\b(?:True|False|None)\b|<bound", re.ASCII)
# How such data begins that is no JSON: no specification begins so.
_BEGINS = re.compile(
    r"\s*(?:(?:[A-Za-z_]\w*\.)*(?:OrderedDict|\w+NamedTupleWrapper)\s*\(|(?:\(\s*)+[\d.][\w.+-]*\s*,)",
    re.ASCII,
)
_TOKEN = re.compile(
    r"(?P<mark>[\[\](){},:=])"
    r"|(?P<string>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w))"
    r"|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
    r"|(?P<method><bound method [^<>]{1,200}(?:<[^<>]{1,200}>)?>)",
    re.ASCII,
)
_SPACE = re.compile(r"\s*")
_WORDS = {"True": True, "False": False, "None": None}
_CLOSES = {"[": "]", "(": ")", "{": "}"}
_MOST_DIGITS = 400
# What dp_accounting calls the class of an event's `to_named_tuple()` ends so.
_TUPLE = "NamedTupleWrapper"
_HINT = "json.dump(accountant.state_dict(), f) writes a history that is read"


def begins_like_python(text: str) -> bool:
    """Say whether a text that begins with no bracket is data of Python, and no specification."""
    return _BEGINS.match(text) is not None


def load(text: str, *, infinity: bool = False) -> object:
    """Read JSON, or what Python prints in its place.

    Args:
        text: the data; no JSON has single quotes, parentheses or words of Python outside of texts.
        infinity: whether JSON may have the word that Python writes for it.

    Raises:
        SpecError: it is neither; with the place where it is not.
    """
    # Long JSON is looked through once, and only what has such a mark in a text of it twice.
    printed = _ONLY_PYTHON.search(text) and _ONLY_PYTHON.search(_TEXT.sub("", text))
    if printed or begins_like_python(text):
        return _Reader(text).whole()
    return load_json(text, infinity=infinity)


@record
class _Token:
    kind: str
    text: str
    span: tuple[int, int]


class _Reader:
    """Reads a text from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        """Take the text, which has a limited length."""
        # A message shows one line.
        self.text = text.replace("\n", " ").replace("\r", " ").rstrip()
        if len(text) > MAX_LENGTH:
            raise SpecError(
                f"what Python prints has at most {MAX_LENGTH:,} characters, this has {len(text):,}",
                hint=_HINT,
            )
        self.place = 0
        self.depth = 0

    def whole(self) -> object:
        """Read all of the text as one value."""
        found = self.value()
        if (rest := self.next()).kind != "end":
            self.fail("the data ends before this", rest)
        return found

    def next(self) -> _Token:
        """Return the token that comes next, and stay before it."""
        start = self.place
        if space := _SPACE.match(self.text, start):
            start = space.end()
        if start >= len(self.text):
            return _Token("end", "", (start, start))
        found = _TOKEN.match(self.text, start)
        if found is None:
            token = _Token("", self.text[start], (start, start + 1))
            self.fail("this is neither JSON nor plain data of Python", token)
        return _Token(str(found.lastgroup), found.group(), found.span())

    def take(self, mark: str) -> bool:
        """Pass over a mark, if it comes next."""
        token = self.next()
        if token.kind != "mark" or token.text != mark:
            return False
        self.place = token.span[1]
        return True

    def value(self) -> object:
        """Read one value."""
        token = self.next()
        self.place = token.span[1]
        if token.kind == "mark" and token.text in _CLOSES:
            self.deeper(token)
            found = self.fields(token) if token.text == "{" else self.items(token)
            self.depth -= 1
            return found
        if token.kind == "number":
            return self.number(token)
        if token.kind == "string":
            return self.string(token)
        if token.kind == "method":
            return token.text
        if token.kind == "name":
            return self.named(token)
        got = f", got {shorten(token.text)}" if token.text else ", and the text ends"
        return self.fail(f"a value is expected here{got}", token)

    def string(self, token: _Token) -> str:
        """Return a text; `pprint` writes a long one as several that follow one another."""
        found = token.text[1:-1]
        while (token := self.next()).kind == "string":
            self.place = token.span[1]
            found += token.text[1:-1]
        return found

    def deeper(self, token: _Token) -> None:
        """Note a bracket that opens; each costs some frames of Python."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"brackets are nested deeper than {MAX_DEPTH}", token)

    def items(self, opening: _Token) -> object:
        """Read what stands in brackets; one value in parentheses is itself."""
        closes = _CLOSES[opening.text]
        found: list[object] = []
        listed = opening.text == "["
        while not self.take(closes):
            found.append(self.value())
            if self.take(","):
                listed = True
            elif self.take(closes):
                break
            else:
                self.unclosed(opening)
        return found if listed or len(found) != 1 else found[0]

    def fields(self, opening: _Token) -> dict[str, object]:
        """Read what stands in braces."""
        pairs: list[object] = []
        while not self.take("}"):
            key = self.value()
            if not self.take(":"):
                self.unclosed(opening)
            pairs.append([key, self.value()])
            if self.take(","):
                continue
            if self.take("}"):
                break
            self.unclosed(opening)
        return self.dictionary(pairs, opening)

    def dictionary(self, pairs: object, place: _Token) -> dict[str, object]:
        """Return pairs as a dictionary; keys that are no texts are of nothing that is read."""
        if isinstance(pairs, dict):
            return cast("dict[str, object]", pairs)
        found: dict[str, object] = {}
        if not isinstance(pairs, list):
            self.fail("an OrderedDict has pairs", place)
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                self.fail("an OrderedDict has pairs", place)
            key = str(pair[0])
            if key in found:
                self.fail(f"{shorten(key)} is given twice", place)
            found[key] = pair[1]
        return found

    def named(self, token: _Token) -> object:
        """Read a word, an `OrderedDict`, or a number of numpy."""
        if token.text in _WORDS:
            return _WORDS[token.text]
        name = token.text.rpartition(".")[2]
        calls = self.take("(")
        if name in ("inf", "nan"):
            self.fail(f"{name} is not a number", token)
        if calls and name == "OrderedDict":
            return {} if self.take(")") else self.dictionary(self.argument(token), token)
        if calls and name.endswith(_TUPLE):
            return self.keywords(token)
        if calls and (name in NUMBERS or name in SHORT):
            number = self.argument(token)
            if isinstance(number, bool) or not isinstance(number, int | float):
                self.fail("a number is expected here", token)
            try:
                return stored(name, number) if name in SHORT else number
            except OverflowError:
                self.fail(f"{shorten(token.text)} is too large", token)
        hint = "write its value, float(x): what is printed of a tensor or an array is rounded"
        return self.fail(
            f"a number, a text, a list or a dict is expected here, got {shorten(token.text)}",
            token,
            hint if name in ("tensor", "array", "Array") else _HINT,
        )

    def keywords(self, token: _Token) -> list[object]:
        """Read a named tuple of an event, whose parenthesis is open, as the list it is in JSON."""
        given: dict[str, tuple[_Token, object]] = {}
        self.deeper(token)
        while not self.take(")"):
            key = self.next()
            self.place = key.span[1]
            if key.kind != "name" or not self.take("="):
                self.fail("a named tuple has NAME=VALUE", key)
            if key.text in given:
                self.fail(f"{shorten(key.text)} is given twice", key)
            given[key.text] = key, self.value()
            if not self.take(",") and self.next().text != ")":
                self.unclosed(token)
        self.depth -= 1
        named = token.text.rpartition(".")[2].removeprefix("_").removesuffix(_TUPLE)
        module, event = (
            given.pop(name, (token, None))[1] for name in ("module_name", "class_name")
        )
        if event != named:
            self.fail(f"the named tuple of a {shorten(named)} says so in class_name", token)
        return [module, event, *self.in_order(named, given, token)]

    def in_order(
        self, event: str, given: dict[str, tuple[_Token, object]], token: _Token
    ) -> list[object]:
        """Return the fields of an event in their order, in which lists have them."""
        known = FIELDS.get(event.removesuffix(SUFFIX))
        if known is None:
            # Refused by name where events are read.
            return [value for _, value in given.values()]
        for key, (place, _) in given.items():
            if key not in known:
                self.fail(f"{event} has no field {shorten(key)}", place)
        found = []
        for key, default in known.items():
            if key not in given and default is None:
                self.fail(f"{event} needs {key}", token)
            found.append(given[key][1] if key in given else default)
        return found

    def argument(self, token: _Token) -> object:
        """Read the one argument of a call, whose parenthesis is open."""
        self.deeper(token)
        found = self.value()
        self.depth -= 1
        if not self.take(")"):
            self.unclosed(token)
        return found

    def number(self, token: _Token) -> float | int:
        """Read a number as it was written."""
        written = token.text.removeprefix("+")
        try:
            if not written.removeprefix("-").isdecimal():
                return read_float(written)
            if re.fullmatch(r"-?0+[1-9].*", written):
                self.fail(
                    f"Python prints no {shorten(written)}: a number does not begin with 0", token
                )
            if len(written) <= _MOST_DIGITS:
                return int(written)
        except SpecError as error:
            self.fail(error.message, token)
        return self.fail(f"{shorten(written)} is too large", token)

    def unclosed(self, opening: _Token) -> NoReturn:
        """Refuse what follows a value where neither a comma nor the end does."""
        token = self.next()
        if token.kind == "end":
            self.fail(f"what {shorten(opening.text)} opens has no end", opening)
        self.fail(f"a comma or an end is expected here, got {shorten(token.text)}", token)

    def fail(self, message: str, token: _Token, hint: str = _HINT) -> NoReturn:
        """Refuse what stands at a token."""
        raise SpecError(message, text=self.text, span=token.span, hint=hint)


def stored(name: str, value: float) -> float:
    """Return a number of numpy with few bits: what the run computed with, not its decimal.

    A sampling rate float32(0.1) is larger than 0.1.

    Args:
        name: one of `SHORT`.
        value: the decimal.

    Raises:
        OverflowError: there is no such number.
    """
    (found,) = struct.unpack(SHORT[name], struct.pack(SHORT[name], value))
    return float(found)
