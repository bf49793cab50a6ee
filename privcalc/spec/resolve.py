"""Syntax -> tree: the registry gives names their meaning, and values their type and range."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from privcalc.errors import SpecError
from privcalc.record import record
from privcalc.spec import registry
from privcalc.spec.check import (
    Fault,
    check_arrangement,
    check_integer,
    check_range,
    choice,
    foreign,
)
from privcalc.spec.check import suggestion as suggest
from privcalc.spec.hints import for_count, for_number_word
from privcalc.spec.spelling import shorten, snake_case
from privcalc.spec.syntax import (
    Call,
    HoleMark,
    Number,
    Numbers,
    Pair,
    Parts,
    PathWord,
    Repeat,
    Sum,
    Syntax,
    Word,
)
from privcalc.spec.tokens import FILE_NAME
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
    from collections.abc import Mapping

    from privcalc.spec.entry import Entry, Kind, Parameter
    from privcalc.spec.holes import Path, Span

__all__ = ["Parsed", "resolve"]


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
        if isinstance(syntax, Parts):
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
            self.fail(Fault(str(error), hint=error.hint), call.pairs[0].value.span)

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

    def key(self, pair: Pair, entry: Entry) -> Parameter:
        """Find the parameter that a key names."""
        parameter = entry.spelled(snake_case(pair.key))
        if parameter is None:
            word, known = snake_case(pair.key), [p.spelling for p in entry.parameters]
            message = f"{entry.spelling} has no parameter {shorten(pair.key)}"
            hint = foreign(word, getattr(pair.value, "text", ""), inside=entry.kind)
            self.fail(Fault(message, hint=hint or suggest(word, known)), pair.key_span)
        return parameter

    def value(self, pair: Pair, parameter: Parameter, path: Path) -> Value:
        """Resolve a value to the type of its parameter."""
        written = pair.value
        self.spans[path] = written.span
        if isinstance(written, Syntax):
            if parameter.kind != "spec":
                self.fail(_wrong_kind(pair, parameter, "a specification"), written.span)
            return self.node(written, path)
        if isinstance(written, HoleMark):
            if parameter.kind not in ("number", "integer"):
                self.fail(_wrong_kind(pair, parameter, "a hole"), written.span)
            return HOLE
        try:
            if parameter.kind == "numbers" and isinstance(written, Number | Numbers):
                return _listed(pair.key, written, parameter)
            return _typed(pair.key, written, parameter)
        except Fault as fault:
            self.fail(fault, written.span)


def _typed(key: str, written: Number | Numbers | Word | PathWord, parameter: Parameter) -> Value:
    shown = shorten(written.text)
    if parameter.kind == "path" and FILE_NAME.fullmatch(written.text):
        # Also what would be a number elsewhere, such as .5
        return written.text
    if isinstance(written, Number):
        if parameter.kind == "number":
            check_range(parameter, key, written.value, shown)
            return written.value
        if parameter.kind == "integer":
            if written.whole is None:
                message = f"{key} must be a whole number in digits, got {shown}"
                raise Fault(message, hint=for_count(written.text, otherwise=""))
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


def _listed(key: str, written: Number | Numbers, parameter: Parameter) -> Value:
    items = written.items if isinstance(written, Numbers) else (written,)
    for each in items:
        check_range(parameter, key, each.value, shorten(each.text))
    return tuple(each.value for each in items)


def _refuse(key: str, written: Number | Numbers | Word | PathWord, parameter: Parameter) -> Value:
    hint = ""
    if isinstance(written, Numbers):
        hint = "one number for each key, and the next key after the comma"
    elif parameter.kind == "spec":
        hint = f"write {key}=({shorten(written.text)}:...)"
    elif parameter.kind == "path":
        hint = f"a file name holds a dot or a slash: write {key}=./{shorten(written.text)}"
    elif parameter.kind in ("number", "integer"):
        hint = for_number_word(written.text)
    raise Fault(f"{key} takes {parameter.takes}, got {shorten(written.text)}", hint=hint)


def _wrong_kind(pair: Pair, parameter: Parameter, got: str) -> Fault:
    return Fault(f"{pair.key} takes {parameter.takes}, got {got}")
