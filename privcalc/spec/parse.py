"""Text -> syntax -> tree: recursive descent over the grammar, with the place of every mistake.

    spec   = term { "+" term }
    term   = ( call | parts | "(" spec ")" ) { "@" ( count | "_" | call ) }
    parts  = "max" "(" spec "," spec { "," spec } ")"
    call   = name [ ":" name "=" value { "," name "=" value } ]
    value  = number { "," number } | name | path | quoted path | "_" | "(" spec ")"
    number = [ "-" ] digits [ "/" digits ] [ "%" ]

Spaces and tabs may stand between tokens. Between the parentheses of `max` a comma goes on with the
parameters of a call where a name and an equals sign follow, and else begins the next part. The
reader knows syntax and spans; what names and values mean is decided afterwards, with the registry.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from privcalc.errors import SpecError
from privcalc.record import record
from privcalc.spec import registry
from privcalc.spec.entry import (
    MAX_DEPTH,
    Fault,
    check_arrangement,
    check_integer,
    check_range,
    choice,
    shorten,
    snake_case,
    suggestion,
)
from privcalc.spec.syntax import (
    FILE_NAME,
    NAME,
    Call,
    DisjointParts,
    HoleMark,
    KeyValue,
    Number,
    Numbers,
    PathWord,
    Repeat,
    Scanner,
    Sum,
    Syntax,
    Word,
    Wrap,
    file_name,
)
from privcalc.spec.tree import (
    HOLE,
    Composed,
    Leaf,
    Node,
    Parallel,
    Parameters,
    Repeated,
    Value,
    Wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from privcalc.spec.entry import Entry, Kind, Parameter
    from privcalc.spec.tree import Path, Span


# What others write for `max`, which begins no call.
_NAMES_OF_PARTS = ("max", "maximum", "parallel")
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

    def merged(
        self, kind: type[Sum | DisjointParts], terms: Iterable[Syntax], span: Span
    ) -> Sum | DisjointParts:
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
        return self.merged(DisjointParts, terms, span)

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
            scanner.fail(
                "this parenthesis is not closed", (opening, opening + 1), "write ) where it ends"
            )
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
        from privcalc.spec import hints

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
            self.no_call(wanted)
        full_name, name_span = read
        name = shorten(full_name)  # for messages
        self.end = name_span[1]
        if scanner.next in ("(", "=") or name.lower() in _NAMES_OF_PARTS:
            self.no_call(wanted, read)
        pairs: list[KeyValue] = []
        if scanner.take(":"):
            pairs.append(self.pair(name))
            while not self.next_part() and scanner.take(","):
                pairs.append(self.pair(name))
        elif scanner.next not in ("", "+", "@", ")") and not self.next_part():
            self.no_call(wanted, read)
        inner = [pair.value.height for pair in pairs if isinstance(pair.value, Syntax)]
        span = (start, self.end)
        return Call(
            span, full_name, name_span, tuple(pairs), self.above(max(inner, default=0), span)
        )

    def no_call(self, wanted: str, read: tuple[str, Span] | None = None) -> NoReturn:
        """Refuse what stands in the position of a call, or what follows its name."""
        from privcalc.spec import hints

        scanner = self.scanner
        rest = scanner.text[scanner.place :]
        if read is None:
            found = f"got {scanner.next!r}" if scanner.next else "and the text ends"
            before = scanner.text[: scanner.place]
            hint = "" if before.strip() else hints.for_file_alone(rest)
            hint = hint or hints.for_character(rest) or hints.for_no_name(rest, before)
            scanner.fail(f"{wanted} is expected here, {found}", None, hint)
        name, span = shorten(read[0]), read[1]
        if name.lower() in _NAMES_OF_PARTS:
            hint = hints.for_parts(wanted)
            scanner.fail(f"{wanted} is expected here, got {name}", span, hint)
        if scanner.next == "(":
            hint = hints.for_functional(name, rest)
            scanner.fail(f"a colon follows {name}, not a parenthesis", None, hint)
        if scanner.next == "=":
            hint = hints.for_bare(name, rest)
            scanner.fail(f"{wanted} is expected before {name}=", span, hint)
        hint = hints.for_character(rest) if scanner.next not in ",;" else ""
        hint = hints.for_file_alone(scanner.text) or hints.for_call(name, rest) or hint
        scanner.fail(f"a colon is expected after {name}, got {scanner.next!r}", None, hint)

    def next_part(self) -> bool:
        """Say whether a comma comes next that does not belong to the parameters before it."""
        return self.listed and bool(_NEXT_PART.match(self.scanner.text, self.scanner.place))

    def pair(self, name: str) -> KeyValue:
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
            from privcalc.spec import hints

            hint = hints.for_behind(key, "", scanner.text[scanner.place :])
            other = hints.for_behind(name, "", scanner.text[key_span[0] :])
            hint = other or hint or f"write {key}=VALUE"
            scanner.fail(f"an equals sign follows {key}, not a colon", None, hint)
        if not scanner.take("="):
            from privcalc.spec import hints

            span = key_span if scanner.next in ("", ",", "@", "+", ")") else None
            hint = hints.for_file(name, scanner.text[key_span[0] :]) or f"write {key}=VALUE"
            scanner.fail(f"an equals sign and a value follow {key}", span, hint)
        if scanner.next == "(":
            return KeyValue(full_key, key_span, self.group())
        if scanner.next in ("", ",", "@", "+", ")"):
            scanner.fail(f"{key} has no value", (start, self.end), f"write {key}=VALUE")
        start = scanner.place
        if scanner.next == "-":
            self.no_input(name, key)
        value = scanner.value()
        if value is None:
            from privcalc.spec import hints

            hint = hints.for_file_name(scanner.text, scanner.place)
            hint = hint or hints.for_character(scanner.text[scanner.place :])
            scanner.fail(f"{key} is followed by no value, got {scanner.next!r}", None, hint)
        written = scanner.numbers(value) if isinstance(value, Number) else value
        self.end = written.span[1]
        if scanner.next in (":", "("):
            self.no_end(name, key, value.span)
        return KeyValue(full_key, key_span, written)

    def no_end(self, name: str, key: str, span: Span) -> NoReturn:
        """Refuse a colon or a parenthesis after a value."""
        from privcalc.spec import hints

        scanner = self.scanner
        text, place = scanner.text, scanner.place
        if hint := hints.for_file_name(text, place):
            scanner.fail(f"the name of a file ends here, before {scanner.next!r}", None, hint)
        if hint := hints.for_root(name, key, text[span[0] :]):
            scanner.fail("functions are not read", span, hint)
        hint = hints.for_behind(key, text[slice(*span)], text[place:])
        if scanner.next == ":" and hint:
            scanner.fail("a colon follows a name, and none a value", None, hint)
        hint = f"write {key}=(NAME:KEY=VALUE)"
        scanner.fail("a specification as a value stands in parentheses", span, hint)

    def no_input(self, name: str, key: str) -> None:
        """Refuse `-` for the name of a file."""
        from privcalc.spec import hints

        if hint := hints.for_input(name, key, self.scanner.text[self.scanner.place :]):
            self.scanner.fail(f"{key} takes a file, got -", None, hint)

    def no_key(self, name: str) -> NoReturn:
        """Refuse what stands where a key should."""
        from privcalc.spec import hints

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
        from privcalc.spec import hints

        scanner = self.scanner
        found = scanner.next
        if found == ")":
            scanner.fail(
                "this parenthesis closes nothing", None, "write ( before it, or leave it out"
            )
        place = scanner.place
        hint = hints.for_comma(scanner.text[:place], scanner.text[place:])
        hint = hint or hints.for_file_name(scanner.text, place)
        hint = hint or hints.for_character(scanner.text[place:])
        if found.isalnum() or found == "_":
            hint = hint or hints.for_word(scanner.text[place:])
        scanner.fail(f"{found!r} is not expected here", None, hint)

    def above(self, height: int, span: Span) -> int:
        """Return the height of a node above nodes of this height; refuse a tree too high."""
        if height >= MAX_DEPTH:
            message = f"mechanisms and wrappers are nested deeper than {MAX_DEPTH}"
            self.scanner.fail(message, span)
        return height + 1


@record
class Parsed:
    """A tree, the text it was read from, and where in the text each part stands.

    `spans` has the path of every node, of every parameter that was written (its value), and of
    every count. A path is the way through the JSON twin: ("events", 0, "standard_deviation").
    """

    tree: Node
    spans: Mapping[Path, Span]
    text: str


def resolve(syntax: Syntax, text: str) -> Parsed:
    """Return the tree of a syntax that was read from `text`; SpecError where it has none."""
    resolver = _Resolver(text)
    tree = resolver.node(syntax, ())
    return Parsed(tree, MappingProxyType(resolver.spans), text)


class _Resolver:
    """Walks the syntax and notes the span of each path on the way."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans: dict[Path, Span] = {}

    def fail(self, fault: Fault, span: Span) -> NoReturn:
        """Turn a refusal of the registry into the error of this text."""
        raise SpecError(str(fault), text=self.text, span=span, hint=fault.hint) from None

    def node(self, syntax: Syntax, path: Path) -> Node:
        """Resolve a node and everything below it."""
        self.spans[path] = syntax.span
        if isinstance(syntax, Sum):
            events: list[Node] = []
            for term in syntax.terms:
                event = self.node(term, (*path, "events", len(events)))
                # The steps of a history are a sum of their own.
                events += event.events if isinstance(event, Composed) else (event,)
            return Composed(tuple(events))
        if isinstance(syntax, DisjointParts):
            terms = enumerate(syntax.terms)
            return Parallel(tuple(self.node(each, (*path, "events", i)) for i, each in terms))
        if isinstance(syntax, Call):
            if snake_case(syntax.name) == "opacus":
                return self.history(syntax, path)
            return Leaf(*self.call(syntax, "mechanism", path))
        if isinstance(syntax, Repeat):
            self.spans[(*path, "count")] = syntax.count.span
            count = HOLE if isinstance(syntax.count, HoleMark) else syntax.count.whole
            if count is None:
                raise AssertionError("the scanner reads counts as whole numbers")
            return Repeated(count, self.node(syntax.event, (*path, "event")))
        event = self.node(syntax.event, (*path, "event"))
        return Wrapped(*self.call(syntax.call, "wrapper", path), event)

    def call(self, call: Call, kind: Kind, path: Path) -> tuple[str, Parameters]:
        """Resolve a name and its parameters."""
        try:
            entry = registry.spelled(call.name, kind)
        except Fault as fault:
            self.fail(fault, call.name_span)
        return entry.name, self.parameters(call, entry, path)

    def history(self, call: Call, path: Path) -> Node:
        """Return what stands in the file of a history that another library wrote."""
        from privcalc.spec.events.history import OPACUS, from_file

        ((_, file),) = self.parameters(call, OPACUS, path)
        try:
            return from_file(str(file))
        except SpecError as error:
            self.fail(Fault(error.message, hint=error.hint), call.pairs[0].value.span)

    def parameters(self, call: Call, entry: Entry, path: Path) -> Parameters:
        """Resolve the parameters of a call, in the order of the registry."""
        given = [(self.key(pair, entry), pair) for pair in call.pairs]
        values = [(p.name, self.value(pair, p, (*path, p.name))) for p, pair in given]
        try:
            check_arrangement(entry, values, long_names=False)
        except Fault as fault:
            at = call.name_span if fault.index is None else call.pairs[fault.index].key_span
            self.fail(fault, at)
        written = dict(values)
        order = (p.name for p in entry.parameters if p.name in written)
        return tuple((name, written[name]) for name in order)

    def key(self, pair: KeyValue, entry: Entry) -> Parameter:
        """Find the parameter that a key names."""
        parameter = entry.spelled(snake_case(pair.key))
        if parameter is None:
            word, known = snake_case(pair.key), [p.spelling for p in entry.parameters]
            message = f"{entry.spelling} has no parameter {shorten(pair.key)}"
            from privcalc.spec import foreign

            value = getattr(pair.value, "text", "")
            hint = suggestion(word, known)
            # Another word for a parameter is known better than by its letters.
            meant = foreign.parameter(entry.spelling, entry.kind, word, value, tuple(known))
            self.fail(Fault(message, hint=meant or hint), pair.key_span)
        return parameter

    def value(self, pair: KeyValue, parameter: Parameter, path: Path) -> Value:
        """Resolve a value to the type of its parameter."""
        written = pair.value
        self.spans[path] = written.span
        if isinstance(written, Syntax):
            if parameter.kind != "spec":
                self.fail(_wrong_kind(pair, parameter, "a specification"), written.span)
            return self.node(written, path)
        if isinstance(written, HoleMark):
            if parameter.kind not in ("number", "integer"):
                self.fail(_wrong_kind(pair, parameter, "a free parameter"), written.span)
            return HOLE
        try:
            if parameter.kind == "numbers" and isinstance(written, Number | Numbers):
                return _listed(pair.key, written, parameter)
            return _typed(pair.key, written, parameter)
        except Fault as fault:
            self.fail(fault, written.span)


def _typed(key: str, written: Number | Numbers | Word | PathWord, parameter: Parameter) -> Value:
    shown = shorten(written.text)
    if parameter.kind == "path" and (file := _file(written)):
        return file
    if isinstance(written, Number):
        if parameter.kind == "number":
            _check_number(parameter, key, written)
            return written.value
        if parameter.kind == "integer":
            if written.whole is None:
                from privcalc.spec import hints

                message = f"{key} must be a whole number in digits, got {shown}"
                count = hints.for_count(written.text, otherwise="")
                raise Fault(message, hint=hints.for_ratio(key, written.text) or count)
            check_integer(key, written.whole)
            check_range(parameter, key, written.whole, shown)
            return written.whole
    if isinstance(written, Word):
        word = snake_case(written.text)
        if parameter.kind == "choice":
            return choice(parameter, key, word)
        if parameter.kind == "name":
            return word
        if parameter.kind == "flag" and word in ("true", "false"):
            return word == "true"
    return _refuse(key, written, parameter)


def _file(written: Number | Numbers | Word | PathWord) -> str:
    """Return the name of a file, or "": in quotes any, else also what is a number elsewhere: .5."""
    if isinstance(written, PathWord) and written.quoted:
        return file_name(written.text)
    return written.text if FILE_NAME.fullmatch(written.text) else ""


def _check_number(parameter: Parameter, key: str, written: Number) -> None:
    """Refuse a number out of its range, with a hint where it looks like another quantity."""
    if not parameter.contains(written.value):
        from privcalc.spec import hints

        got = f"got {shorten(written.text)}"
        hint = hints.for_number_out_of_range(key, written.value, written.text, parameter.maximum)
        raise Fault(f"{key} must be {parameter.range_text}, {got}", hint=hint)


def _listed(key: str, written: Number | Numbers, parameter: Parameter) -> Value:
    items = written.items if isinstance(written, Numbers) else (written,)
    if len(items) > 1:
        from privcalc.spec.commas import padded

        if points := padded(written.text):
            message = f"{key}: a comma stands between the numbers of a list, not within one"
            raise Fault(message, hint=f"write {key}={shorten(points)}")
    for each in items:
        check_range(parameter, key, each.value, shorten(each.text))
    return tuple(each.value for each in items)


def _refuse(key: str, written: Number | Numbers | Word | PathWord, parameter: Parameter) -> Value:
    hint = ""
    if isinstance(written, Numbers):
        from privcalc.spec.commas import instead

        number = instead(written.text, whole=parameter.kind == "integer")
        hint = f"write {key}={number}" if number and parameter.kind in ("number", "integer") else ""
        hint = hint or "one number for each key, and the next key after the comma"
    elif isinstance(written, PathWord) and written.quoted:
        hint = f"only names of files stand in quotes: write {key}={shorten(written.text)}"
    elif parameter.kind == "spec":
        hint = f"write {key}=({shorten(written.text)}:...)"
    elif parameter.kind == "path":
        hint = f"a file name holds a dot or a slash: write {key}=./{shorten(written.text)}"
    elif parameter.kind in ("number", "integer"):
        from privcalc.spec import hints

        hint = hints.for_number_word(written.text)
    raise Fault(f"{key} takes {parameter.takes}, got {shorten(written.text)}", hint=hint)


def _wrong_kind(pair: KeyValue, parameter: Parameter, got: str) -> Fault:
    return Fault(f"{pair.key} takes {parameter.takes}, got {got}")
