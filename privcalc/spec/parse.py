"""Text -> tree: recursive descent over the grammar, with the place of every mistake.

    spec   = term { "+" term }
    term   = ( call | parts | "(" spec ")" ) { "@" ( count | "_" | call ) }
    count  = digits { ( "*" | "/" ) digits }
    parts  = "max" "(" spec "," spec { "," spec } ")"
    call   = name [ ":" name "=" value { "," name "=" value } ], ":" for "," after runs=NAME
    value  = number { "," number } | name | path | quoted path | "_" | "(" spec ")"
    number = [ "-" ] ( digits [ "/" digits ] | digits { "*" digits } "/" digits ) [ "%" ]

Spaces and tabs may stand between tokens. Between the parentheses of `max` a comma goes on with the
parameters of a call where a name and an equals sign follow, and else begins the next part.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from privcalc.errors import PrivcalcError, SpecError
from privcalc.record import field, record
from privcalc.spec import registry, syntax
from privcalc.spec.entry import MAX_DEPTH, Fault, arranged, shorten, snake_case, suggestion
from privcalc.spec.syntax import NAME, Number, Scanner, Word, typed
from privcalc.spec.tree import (
    HOLE,
    Composed,
    Leaf,
    Node,
    Parallel,
    Repeated,
    Several,
    Wrapped,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.relation import Relation
    from privcalc.spec.entry import Entry, Kind, Parameter
    from privcalc.spec.syntax import Given
    from privcalc.spec.tree import Path, Span, Value

_PARTS = re.compile(r"(?i:max)[ \t]*\(", re.ASCII)
# A comma after which another part begins: a parenthesis, or a name that is no key.
_NEXT_PART = re.compile(rf",[ \t]*(?:\(|(?>{NAME.pattern}[ \t]*)(?!=))", re.ASCII)


@record
class Question:
    """What is asked about, however it was written.

    Attributes:
        relation: the relation that an answer or an event brought along, or None.
        text: the specification on one line: as it was written, or canonical where it was JSON.
        spans: the part of `text` that each node, written parameter (its value) and count was read
            from, by the way through the JSON twin: ("events", 0, "standard_deviation").
        printed: whether it was an answer that privcalc printed.
        name: what an answer was called, or "".
    """

    tree: Node
    relation: Relation | None
    text: str
    spans: Mapping[Path, Span] = field(factory=dict)
    printed: bool = False
    name: str = ""


def parse(text: str) -> Question:
    """Read a specification: one line, such as `gaussian:sigma=1.1@poisson:q=256/60000@14063`.

    Raises:
        SpecError: with the span of the mistake and, where one is known, a hint.
    """
    reader = _Reader(text)
    if not reader.scanner.next:
        reader.scanner.fail("the specification is empty", hint="for example gaussian:sigma=1.1")
    tree = reader.sum().node
    if reader.scanner.next:
        reader.unexpected()
    spans: dict[Path, Span] = {}
    for path, node in walk(tree):
        if part := reader.known.get(id(node)):
            spans[path] = part.span
            spans |= {(*path, name): span for name, span in part.values.items()}
    return Question(tree, None, text, spans)


def reads(text: str) -> bool:
    """Say whether a text is a specification."""
    try:
        parse(text)
    except PrivcalcError:
        return False
    return True


@record
class _Part:
    """A node that was read, where it stands, and where its parameters or its count do.

    The height is how many nodes there are from here down to the deepest leaf.
    """

    node: Node
    span: Span
    height: int
    values: Mapping[str, Span]


@record
class _Pair:
    """`key=value`."""

    key: str
    key_span: Span
    value: Given
    span: Span


class _Reader:
    """One method for each rule of the grammar; each leaves the scanner at the next token."""

    def __init__(self, text: str) -> None:
        self.scanner = Scanner(text)
        self.end = 0  # the end of the last token, before any space after it
        self.depth = 0  # parentheses that are open
        self.listed = False  # whether the innermost of them is that of `max`
        self.known: dict[int, _Part] = {}  # what was read, by the identity of its node

    def sum(self) -> _Part:
        """Read terms joined by `+`."""
        start = self.scanner.place
        terms = [self.term()]
        while self.scanner.take("+"):
            terms.append(self.term())
        return terms[0] if len(terms) == 1 else self.merged(Composed, terms, (start, self.end))

    def merged(self, kind: type[Several], terms: list[_Part], span: Span) -> _Part:
        """Return a node of several terms, with those of its own kind among them merged into it."""
        events: list[Node] = []
        for term in terms:
            inside = term.node.events if isinstance(term.node, kind) else (term.node,)
            events += inside
            for each in inside:
                # The steps of a history are a sum of their own, and stand where it does.
                self.known.setdefault(id(each), _Part(each, term.span, 1, {}))
        return self.part(kind(tuple(events)), span, span, {}, events)

    def part(
        self, node: Node, span: Span, last: Span, values: dict[str, Span], inner: list[Node]
    ) -> _Part:
        """Keep a node with the nodes in it; a tree too high is refused at what was read last."""
        height = max((self.known[id(each)].height for each in inner), default=0)
        if height >= MAX_DEPTH:
            message = f"mechanisms and wrappers are nested deeper than {MAX_DEPTH}"
            self.scanner.fail(message, last)
        self.known[id(node)] = found = _Part(node, span, height + 1, values)
        return found

    def term(self) -> _Part:
        """Read a call, parts or a group, and what is done to it."""
        start = self.scanner.place
        if _PARTS.match(self.scanner.text, start):
            part = self.parts()
        elif self.scanner.next == "(":
            part = self.inside(listed=False)[0]
        else:
            part = self.call(start)
        while self.scanner.next == "@":
            part = self.postfix(part, start)
        return part

    def parts(self) -> _Part:
        """Read what is done to disjoint parts of the data."""
        start = self.scanner.place
        self.scanner.name()
        terms = self.inside(listed=True)
        span = (start, self.end)
        if len(terms) == 1:
            hint = "write max(A,B), or the specification without max"
            self.scanner.fail("max takes two or more specifications, with commas", span, hint)
        return self.merged(Parallel, terms, span)

    def inside(self, *, listed: bool) -> list[_Part]:
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
            scanner.fail(
                "this parenthesis is not closed", (opening, opening + 1), "write ) where it ends"
            )
        self.end = closing + 1
        return found

    def postfix(self, event: _Part, start: int) -> _Part:
        """Read one `@` and what follows it; `start` is where the event began."""
        scanner = self.scanner
        at = (scanner.place, scanner.place + 1)
        scanner.take("@")
        if scanner.next.isalpha():
            return self.call(start, event)
        if not (scanner.next.isdecimal() or scanner.next in ("_", "-", ".")) or not scanner.next:
            hint = "" if scanner.next else "for example @1000 or @poisson:q=0.01"
            scanner.fail("a count or a wrapper follows @", None if scanner.next else at, hint)
        count = scanner.count()
        self.end = count.span[1]
        whole = count.whole if isinstance(count, Number) else None
        repeated = Repeated(HOLE if whole is None else whole, event.node)
        last, values = count.span, {"count": count.span}
        return self.part(repeated, (start, self.end), last, values, [event.node])

    def call(self, start: int, event: _Part | None = None) -> _Part:
        """Read a mechanism; or what is done to an event, which began at `start`."""
        begun = self.scanner.place
        kind: Kind = "wrapper" if event else "mechanism"
        name, name_span, pairs = self.named("a count or a wrapper" if event else "a mechanism")
        opacus = snake_case(name) == "opacus" and not event
        try:
            entry = _opacus() if opacus else registry.spelled(name, kind)
        except Fault as fault:
            from privcalc.spec import hints

            fault.hint = fault.hint or hints.for_name(name, kind)
            self.refuse(fault, name_span)
        given = [(self.key(pair, entry), pair) for pair in pairs]
        found = [(each.name, self.value(pair, each)) for each, pair in given]
        try:
            parameters = arranged(entry, found, long_names=False)
        except Fault as fault:
            if " needs " in str(fault):
                from privcalc.spec import hints

                written = self.scanner.text[begun : self.end]
                fault.hint = hints.for_lacking(name, [*dict(found)], written) or fault.hint
            self.refuse(fault, name_span if fault.index is None else pairs[fault.index].key_span)
        inner = [value for _, value in found if isinstance(value, Node)]
        if event is not None:
            node: Node = Wrapped(entry.name, parameters, event.node)
            inner.append(event.node)
        else:
            node = self.history(pairs[0]) if opacus else Leaf(entry.name, parameters)
        values = {each.name: pair.span for each, pair in given}
        return self.part(node, (start, self.end), (begun, self.end), values, inner)

    def history(self, file: _Pair) -> Node:
        """Read the file of a history that another library wrote."""
        from privcalc.spec.events.history import OPACUS, from_file

        try:
            return from_file(str(typed(OPACUS.parameters[0], file.key, file.value)))
        except SpecError as error:
            self.refuse(Fault(error.message, hint=error.hint), file.span)

    def named(self, wanted: str) -> tuple[str, Span, list[_Pair]]:
        """Read a name and what is written behind its colon; `wanted` says what stands here."""
        scanner = self.scanner
        read = scanner.name()
        if read is None:
            self.no_call(wanted)
        name, name_span = read
        self.end = name_span[1]
        if scanner.next in ("(", "="):
            self.no_call(wanted, read)
        pairs: list[_Pair] = []
        if scanner.take(":"):
            pairs.append(self.pair(shorten(name)))
            # `runs=geometric:mean=30` goes on as after a comma.
            while not self.next_part() and (scanner.take(",") or scanner.take(":")):
                pairs.append(self.pair(shorten(name)))
        elif scanner.next not in ("", "+", "@", ")") and not self.next_part():
            self.no_call(wanted, read)
        return name, name_span, pairs

    def key(self, pair: _Pair, entry: Entry) -> Parameter:
        """Find the parameter that a key names."""
        word = snake_case(pair.key)
        parameter = entry.spelled(word)
        if parameter is None:
            from privcalc.spec import hints

            # Another word for a parameter is known better than by its letters.
            value = "" if isinstance(pair.value, Node) else self.scanner.text[slice(*pair.span)]
            hint = hints.for_parameter(entry, word, value)
            hint = hint or suggestion(word, [each.spelling for each in entry.parameters])
            message = f"{entry.spelling} has no parameter {shorten(pair.key)}"
            self.refuse(Fault(message, hint=hint), pair.key_span)
        return parameter

    def value(self, pair: _Pair, parameter: Parameter) -> Value:
        """Return a value as the type of its parameter."""
        try:
            return typed(parameter, pair.key, pair.value)
        except Fault as fault:
            fault.hint = fault.hint or syntax.hint(parameter, pair.key, pair.value)
            self.refuse(fault, pair.span)

    def pair(self, name: str) -> _Pair:
        """Read `key=value`; `name` is whose parameter it is."""
        scanner = self.scanner
        start = scanner.place
        read = scanner.name()
        if read is None:
            self.no_key(name)
        key, key_span = read
        self.end = key_span[1]
        shown = shorten(key)
        if not scanner.take("="):
            found = ", not a colon" if scanner.next == ":" else ""
            what = "an equals sign follows" if found else "an equals sign and a value follow"
            span = key_span if scanner.next in ("", ",", "@", "+", ")") else None
            from privcalc.spec import hints

            other = found and hints.for_key(key)
            hint = "write + before another mechanism" if other else f"write {shown}=VALUE"
            if scanner.next in (".", "/"):
                hint = hints.for_key(name) or hint
            elif scanner.next in ("^", "²", "*"):
                hint = hints.for_place("²", 0)
            scanner.fail(f"{what} {shown}{found}", span, hint)
        if scanner.next == "(":
            part = self.inside(listed=False)[0]
            return _Pair(key, key_span, part.node, part.span)
        if scanner.next in ("", ",", "@", "+", ")"):
            scanner.fail(f"{shown} has no value", (start, self.end), f"write {shown}=VALUE")
        read_value = scanner.value()
        if read_value is None:
            scanner.fail(f"{shown} is followed by no value, got {scanner.next!r}")
        value = scanner.numbers(read_value) if isinstance(read_value, Number) else read_value
        self.end = value.span[1]
        named = key.lower() == "runs" and isinstance(read_value, Word) and read_value.kind == "name"
        if scanner.next == "(" or (scanner.next == ":" and not named):
            self.no_end(shown, read_value)
        return _Pair(key, key_span, value, value.span)

    def no_end(self, key: str, value: Number | Word) -> NoReturn:
        """Refuse a colon or a parenthesis after a value."""
        fail = self.scanner.fail
        if self.scanner.next == "(":
            from privcalc.spec.hints import for_function

            hint = for_function(key, value.text, self.scanner.text[self.scanner.place :])
            fail("functions are not read", value.span, hint)
        if isinstance(value, Number):
            hint = "write @COUNT to repeat, @WRAPPER for what is done to it, and + to compose"
            fail("a colon follows a name, and none a value", None, hint)
        hint = 'write file="NAME"' if key == "file" else f"write {key}=(NAME:KEY=VALUE)"
        fail("a specification as a value stands in parentheses", value.span, hint)

    @property
    def found(self) -> str:
        """What stands here, in words."""
        return f"got {self.scanner.next!r}" if self.scanner.next else "and the text ends"

    def next_part(self) -> bool:
        """Say whether a comma comes next that does not belong to the parameters before it."""
        return self.listed and bool(_NEXT_PART.match(self.scanner.text, self.scanner.place))

    def refuse(self, fault: Fault, span: Span) -> NoReturn:
        """Turn a refusal of the registry into the error of this text."""
        text = self.scanner.text
        raise SpecError(str(fault), text=text, span=span, hint=fault.hint) from None

    def no_call(self, wanted: str, read: tuple[str, Span] | None = None) -> NoReturn:
        """Refuse what stands in the position of a call, or what follows its name."""
        from privcalc.spec import hints

        scanner = self.scanner
        rest = scanner.text[scanner.place :]
        if read is None:
            hint = hints.for_missing(scanner.text, scanner.place)
            scanner.fail(f"{wanted} is expected here, {self.found}", None, hint)
        name, span = shorten(read[0]), read[1]
        if scanner.next == "(":
            hint = hints.for_functional(name, rest)
            scanner.fail(f"a colon follows {name}, not a parenthesis", None, hint)
        if scanner.next == "=":
            scanner.fail(
                f"{wanted} is expected before {name}=", span, hints.for_bare(name, rest, reads)
            )
        hint = hints.for_file_alone(scanner.text) or hints.for_call(name, rest)
        scanner.fail(f"a colon is expected after {name}, got {scanner.next!r}", None, hint)

    def no_key(self, name: str) -> NoReturn:
        """Refuse what stands where a key should."""
        from privcalc.spec import hints

        scanner = self.scanner
        hint = hints.for_place(scanner.text, scanner.place) or hints.for_key(name)
        value = scanner.value()
        if value is not None:
            alone = scanner.text[slice(*value.span)]
            hint = hints.for_positional(name, alone, alone=scanner.next != ",")
            scanner.fail(f"{name} takes KEY=VALUE, got a value alone", value.span, hint)
        scanner.fail(f"a parameter of {name} is expected here, {self.found}", None, hint)

    def unexpected(self) -> NoReturn:
        """Refuse what stands after a complete specification."""
        scanner = self.scanner
        found = scanner.next
        if found == ")":
            hint = "write ( before it, or leave it out"
            scanner.fail("this parenthesis closes nothing", None, hint)
        scanner.fail(f"{found!r} is not expected here")


def _opacus() -> Entry:
    from privcalc.spec.events.history import OPACUS

    return OPACUS
