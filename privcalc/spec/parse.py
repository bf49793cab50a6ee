"""Text -> syntax -> tree: recursive descent over the grammar, with the place of every mistake.

    spec   = term { "+" term }
    term   = ( call | parts | "(" spec ")" ) { "@" ( count | "_" | call ) }
    parts  = "max" "(" spec "," spec { "," spec } ")"
    call   = name [ ":" name "=" value { "," name "=" value } ]
    value  = number { "," number } | name | path | "_" | "(" spec ")"
    number = [ "-" ] digits [ "/" digits ] [ "%" ]

Spaces and tabs may stand between tokens. Between the parentheses of `max` a comma goes on with the
parameters of a call where a name and an equals sign follow, and else begins the next part. This
module knows syntax and spans; what names and values mean is decided by `resolve`, with the
registry.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from privcalc.spec import hints
from privcalc.spec.check import MAX_DEPTH
from privcalc.spec.resolve import Parsed, resolve
from privcalc.spec.spelling import shorten
from privcalc.spec.syntax import Call, Number, Pair, Parts, Repeat, Sum, Syntax, Wrap
from privcalc.spec.tokens import MAX_LENGTH, NAME, Scanner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privcalc.spec.holes import Span

__all__ = ["MAX_DEPTH", "MAX_LENGTH", "Parsed", "parse", "read_syntax"]

_PARTS = re.compile(r"(?i:max)[ \t]*\(", re.ASCII)
# A comma after which another part begins: a parenthesis, or a name that is no key.
_NEXT_PART = re.compile(rf",[ \t]*(?:\(|(?>{NAME.pattern}[ \t]*)(?!=))", re.ASCII)


def parse(text: str) -> Parsed:
    """Read a specification.

    Args:
        text: one line, such as `gaussian:sigma=1.1@poisson:q=256/60000@14063`.

    Returns:
        The tree, and the spans of its parts.

    Raises:
        SpecError: with the span of the mistake and, where one is known, a hint.
    """
    return resolve(read_syntax(text), text)


def read_syntax(text: str) -> Syntax:
    """Read a specification as far as its grammar goes, whatever its names mean."""
    reader = _Reader(text)
    if not reader.scanner.next:
        reader.scanner.fail("the specification is empty", hint="for example gaussian:sigma=1.1")
    tree = reader.sum()
    if reader.scanner.next:
        reader.unexpected()
    return tree


class _Reader:
    """One method for each rule of the grammar; each leaves the scanner at the next token."""

    def __init__(self, text: str) -> None:
        self.scanner = Scanner(text)
        self.end = 0  # the end of the last token, before any space after it
        self.depth = 0  # parentheses that are open
        self.listed = False  # whether the innermost of them is that of `max`

    def sum(self) -> Syntax:
        """Read terms joined by `+`; sums among the terms are merged into this one."""
        start = self.scanner.place
        terms = [self.term()]
        while self.scanner.take("+"):
            terms.append(self.term())
        if len(terms) == 1:
            return terms[0]
        return self.merged(Sum, terms, (start, self.end))

    def merged(self, kind: type[Sum | Parts], terms: Iterable[Syntax], span: Span) -> Sum | Parts:
        """Return a node of several terms, with those of its own kind among them merged into it."""
        flat: list[Syntax] = []
        for term in terms:
            flat.extend(term.terms if isinstance(term, kind) else (term,))
        return kind(span, tuple(flat), self.above(max(term.height for term in flat), span))

    def term(self) -> Syntax:
        """Read a call, parts or a group, and what is done to it."""
        start = self.scanner.place
        if _PARTS.match(self.scanner.text, start):
            node = self.parts()
        else:
            node = self.group() if self.scanner.next == "(" else self.call("a mechanism")
        while self.scanner.next == "@":
            node = self.postfix(node, start)
        return node

    def parts(self) -> Syntax:
        """Read what is done to disjoint parts of the data."""
        start = self.scanner.place
        self.scanner.name()
        terms = self.inside(listed=True)
        span = (start, self.end)
        if len(terms) == 1:
            hint = "write max(A,B), or the specification without max"
            self.scanner.fail("max takes two or more specifications, with commas", span, hint)
        return self.merged(Parts, terms, span)

    def group(self) -> Syntax:
        """Read a specification in parentheses."""
        return self.inside(listed=False)[0]

    def inside(self, *, listed: bool) -> list[Syntax]:
        """Read parentheses, and the specification in them; or a list of such."""
        scanner = self.scanner
        opening = scanner.place
        if self.depth == MAX_DEPTH:
            scanner.fail(f"parentheses are nested deeper than {MAX_DEPTH}")
        scanner.take("(")
        if scanner.next == ")":
            scanner.fail("nothing stands between the parentheses", (opening, scanner.place + 1))
        outer = self.listed
        self.depth, self.listed = self.depth + 1, listed
        found = [self.sum()]
        while listed and scanner.take(","):
            found.append(self.sum())
        self.depth, self.listed = self.depth - 1, outer
        closing = scanner.place
        if not scanner.take(")"):
            if scanner.next:
                self.unexpected()
            scanner.fail("this parenthesis is not closed", (opening, opening + 1))
        self.end = closing + 1
        return found

    def postfix(self, event: Syntax, start: int) -> Syntax:
        """Read one `@` and what follows it; `start` is where the event began."""
        scanner = self.scanner
        at = (scanner.place, scanner.place + 1)
        scanner.take("@")
        if scanner.next.isalpha():
            call = self.call("a count or a wrapper")
            height = self.above(max(event.height, call.height - 1), call.span)
            return Wrap((start, self.end), call, event, height)
        if scanner.next.isdecimal() or scanner.next in ("_", "-", "."):
            count = scanner.count()
            self.end = count.span[1]
            span = (start, self.end)
            return Repeat(span, count, event, self.above(event.height, count.span))
        hint = (
            hints.for_character(scanner.text[scanner.place :])
            or "for example @1000 or @poisson:q=0.01"
        )
        return scanner.fail("a count or a wrapper follows @", None if scanner.next else at, hint)

    def call(self, wanted: str) -> Call:
        """Read a name and its parameters; `wanted` says what kind of name stands here."""
        scanner = self.scanner
        start = scanner.place
        read = scanner.name()
        if read is None:
            found = f"got {scanner.next!r}" if scanner.next else "and the text ends"
            hint = hints.for_character(scanner.text[scanner.place :]) or hints.for_no_name(
                scanner.next
            )
            scanner.fail(f"{wanted} is expected here, {found}", None, hint)
        full_name, name_span = read
        name = shorten(full_name)  # for messages
        self.end = name_span[1]
        rest = scanner.text[scanner.place :]
        if hint := hints.for_parts(name, wanted):
            scanner.fail(f"{wanted} is expected here, got {name}", name_span, hint)
        if scanner.next == "(":
            hint = hints.for_functional(name, rest)
            scanner.fail(f"a colon follows {name}, not a parenthesis", None, hint)
        if scanner.next == "=":
            hint = hints.for_bare(name, rest)
            scanner.fail(f"{wanted} is expected before {name}=", name_span, hint)
        pairs: list[Pair] = []
        if scanner.take(":"):
            pairs.append(self.pair(name))
            while not self.next_part() and scanner.take(","):
                pairs.append(self.pair(name))
        elif scanner.next not in ("", "+", "@", ")") and not self.next_part():
            hint = (
                hints.for_character(scanner.text[scanner.place :])
                if scanner.next not in ",;"
                else ""
            )
            hint = hints.for_call(name, rest) or hint
            scanner.fail(f"a colon is expected after {name}, got {scanner.next!r}", None, hint)
        inner = [pair.value.height for pair in pairs if isinstance(pair.value, Syntax)]
        span = (start, self.end)
        return Call(
            span, full_name, name_span, tuple(pairs), self.above(max(inner, default=0), span)
        )

    def next_part(self) -> bool:
        """Say whether a comma comes next that does not belong to the parameters before it."""
        return self.listed and bool(_NEXT_PART.match(self.scanner.text, self.scanner.place))

    def pair(self, name: str) -> Pair:
        """Read `key=value`; `name` is whose parameter it is."""
        scanner = self.scanner
        start = scanner.place
        read = scanner.name()
        if read is None:
            self.no_key(name)
        full_key, key_span = read
        key = shorten(full_key)  # for messages
        self.end = key_span[1]
        if scanner.next == ":":
            scanner.fail(f"an equals sign follows {key}, not a colon", None, f"write {key}=VALUE")
        if not scanner.take("="):
            span = key_span if scanner.next in ("", ",", "@", "+", ")") else None
            hint = hints.for_file(name, scanner.text[key_span[0] :]) or f"write {key}=VALUE"
            scanner.fail(f"an equals sign and a value follow {key}", span, hint)
        if scanner.next == "(":
            return Pair(full_key, key_span, self.group())
        if scanner.next in ("", ",", "@", "+", ")"):
            scanner.fail(f"{key} has no value", (start, self.end), f"write {key}=VALUE")
        start = scanner.place
        if hint := hints.for_input(name, key, scanner.text[start:]):
            scanner.fail(f"{key} takes a file, got -", None, hint)
        value = scanner.value()
        if value is None:
            hint = hints.for_character(scanner.text[scanner.place :])
            scanner.fail(f"{key} is followed by no value, got {scanner.next!r}", None, hint)
        written = scanner.numbers(value) if isinstance(value, Number) else value
        self.end = written.span[1]
        if scanner.next in (":", "("):
            if hint := hints.for_root(name, key, scanner.text[start:]):
                scanner.fail("functions are not read", value.span, hint)
            hint = f"write {key}=(NAME:KEY=VALUE)"
            scanner.fail("a specification as a value stands in parentheses", value.span, hint)
        return Pair(full_key, key_span, written)

    def no_key(self, name: str) -> NoReturn:
        """Refuse what stands where a key should."""
        scanner = self.scanner
        hint = hints.for_character(scanner.text[scanner.place :]) or hints.for_key(name)
        value = scanner.value()
        if value is not None:
            alone = scanner.text[slice(*value.span)]
            hint = hints.for_positional(name, alone)
            scanner.fail(f"{name} takes KEY=VALUE, got a value alone", value.span, hint)
        found = f"got {scanner.next!r}" if scanner.next else "and the text ends"
        scanner.fail(f"a parameter of {name} is expected here, {found}", None, hint)

    def unexpected(self) -> NoReturn:
        """Refuse what stands after a complete specification."""
        scanner = self.scanner
        found = scanner.next
        if found == ")":
            scanner.fail("this parenthesis closes nothing")
        place = scanner.place
        hint = hints.for_comma(scanner.text[:place], scanner.text[place:])
        hint = hint or hints.for_character(scanner.text[place:])
        if found.isalnum() or found == "_":
            hint = hint or "compose with +, and separate parameters with a comma"
        scanner.fail(f"{found!r} is not expected here", None, hint)

    def above(self, height: int, span: Span) -> int:
        """Return the height of a node above nodes of this height; refuse a tree too high."""
        if height >= MAX_DEPTH:
            message = f"mechanisms and wrappers are nested deeper than {MAX_DEPTH}"
            self.scanner.fail(message, span)
        return height + 1
