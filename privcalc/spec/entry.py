"""One call: what the registry knows of its name, how it is spelled, and what is refused in it.

Text and JSON share the checks of keys, values and how they go together. These do not know where
the call was written: a refusal is a `Fault`, and the reader that meets it adds the span, or the
position in the JSON.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from privcalc.exact import Written, exact, shown
from privcalc.opened import table
from privcalc.record import record
from privcalc.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from privcalc.spec.tree import Value

_SHOWN = 40
# The digits of the usual decimal context.
_ROUNDED = 28


def number_text(value: float) -> str:
    """Return the shortest text that reads back as this number: 5 for 5.0."""
    return shown(value).removesuffix(".0")


def brief_text(value: float) -> str:
    """Return a number for a message, as briefly as it can be written exactly: 1e10."""
    from decimal import Decimal

    plain = number_text(value)
    # What was written as a ratio or a percentage stays so, and a context rounds long decimals.
    if "/" in plain or "%" in plain or len(plain) > _ROUNDED:
        return plain
    scientific = f"{Decimal(plain).normalize():e}".replace("e+", "e")
    return min(plain, scientific, key=len)


def word_text(name: str) -> str:
    """Return a snake_case name as text prints it, with dashes."""
    return name.replace("_", "-")


def snake_case(word: str) -> str:
    """Return the form in which names are compared: lower case, with `_` for `-`."""
    return word.lower().replace("-", "_")


def shorten(written: str) -> str:
    """Return a piece of a text for a message, cut where it is long."""
    return written if len(written) <= _SHOWN else written[: _SHOWN - 3] + "..."


FILE_NAME = re.compile(r"(?=[A-Za-z0-9_-]*[./])[A-Za-z./][A-Za-z0-9./_-]*", re.ASCII)
# What a file name may have in quotes, which no shell sees if they are inside of others: all that is
# printed but quotes, in ASCII, and the letters of some scripts; something in it is in no name.
SIGNS = (
    r" !#-&(-~\u00c0-\u024f\u0391-\u03a1\u03a3-\u03c9\u0400-\u045f\u3041-\u3096\u30a1-\u30fa"
    r"\u4e00-\u9fff\uac00-\ud7a3"
)
PATH = re.compile(rf"(?=.*[^A-Za-z0-9_-])[{SIGNS}]{{1,1000}}")

ALL = frozenset(Relation)
# The place of an entry that has none.
LAST = 1_000_000

Cost = Literal["increases", "decreases", ""]
Kind = Literal["mechanism", "wrapper"]
ParameterKind = Literal["number", "integer", "choice", "flag", "name", "path", "spec", "numbers"]


@record
class Parameter:
    """One parameter of a mechanism or wrapper.

    Attributes:
        name: the long name in snake_case; the JSON field.
        meaning: one clause, for help and manual pages; "" where `parameters.toml` has it.
        short: the spelling of the canonical text, or None where that is the long name.
        kind: the type of the value. Numbers and integers are finite, and only they can be free.
        minimum: least value, or None; `open_minimum` where it is refused itself. So with a maximum.
        default: what holds when the parameter is left out; with None (and no `default_text`, which
            has it in words) it has to be written, unless an alternative stands in for it.
        cost: whether the privacy cost increases or decreases (not always strictly) with the value;
            "" where neither is known, and there `calibrate` refuses it. It is a statement on
            the pairs of the mechanism or wrapper alone: that the profile of one value is below that
            of another at every real epsilon, in every direction. Such an order survives whatever
            else a specification does: composition and sampling keep it (Zhu, Dong, Wang 2022,
            Theorems 10 and 11), a chain of neighbours and the loss of one more Renyi curve too.
        cost_needs: parameters of which one has to be written for `cost` to hold, or ().
        cost_unless: parameters with which it does not hold, nor for anything in a specification.
        cost_of_bound: whether it is the upper bound that is known to move so, and not the cost.
        cost_note: one clause on where `cost` is not quite true, or "": what `calibrate` prints is
            proved at the two values themselves.
        contribution: whether it bounds what one record does to what is computed, and the cost
            depends on it: answers name its value, and say where that was left out.
    """

    name: str
    meaning: str = ""
    short: str | None = None
    kind: ParameterKind = "number"
    minimum: float | None = None
    maximum: float | None = None
    open_minimum: bool = False
    open_maximum: bool = False
    default: float | int | bool | str | None = None
    default_text: str = ""
    choices: tuple[str, ...] = ()
    unit: str = ""
    cost: Cost = ""
    cost_needs: tuple[str, ...] = ()
    cost_unless: tuple[str, ...] = ()
    cost_of_bound: bool = False
    cost_note: str = ""
    contribution: bool = False
    relations: frozenset[Relation] = ALL

    @property
    def spelling(self) -> str:
        """The key that the canonical text prints."""
        return self.short or self.name

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every key that text accepts."""
        return (self.name,) if self.short is None else (self.name, self.short)

    @property
    def optional(self) -> bool:
        """Whether the parameter may be left out by itself."""
        return self.default is not None or bool(self.default_text)

    @property
    def range_text(self) -> str:
        """The range as it completes "must be ...": "> 0", "in [0, 1]"; "" without one."""
        if self.minimum is not None and self.maximum is not None:
            left, right = "(" if self.open_minimum else "[", ")" if self.open_maximum else "]"
            return f"in {left}{number_text(self.minimum)}, {number_text(self.maximum)}{right}"
        if self.minimum is not None:
            return f"{'>' if self.open_minimum else '>='} {number_text(self.minimum)}"
        if self.maximum is not None:
            return f"{'<' if self.open_maximum else '<='} {number_text(self.maximum)}"
        return ""

    @property
    def takes(self) -> str:
        """What a value of this kind is, in words: "a number", "true or false"."""
        if self.kind == "choice":
            return "one of " + ", ".join(word_text(choice) for choice in self.choices)
        return {
            "number": "a number",
            "integer": "a whole number",
            "flag": "true or false",
            "name": "a name",
            "path": "a file",
            "numbers": "numbers separated by commas",
            "spec": "a specification in parentheses",
        }[self.kind]

    def contains(self, value: float) -> bool:
        """Say whether a number lies in the range; both are what was written, not doubles."""
        # Doubles that stand for their own decimals have the order of these.
        read = exact if isinstance(value, Written) else float
        number = read(value)
        least = number if self.minimum is None else read(self.minimum)
        most = number if self.maximum is None else read(self.maximum)
        low = self.minimum is None or (number > least if self.open_minimum else number >= least)
        high = self.maximum is None or (number < most if self.open_maximum else number <= most)
        return low and high


# What `words.toml` says of entries.
_WORDS = ("line", "plain", "reveals", "between", "above", "condition")
# What many mechanisms and wrappers declare.
QUERY = "unit of the query"
# The noise as a multiple of the sensitivity, in its place.
EXCLUDES = (("noise_multiplier", "sensitivity"),)


def positive(name: str, cost: Cost = "", **more: Any) -> Parameter:  # noqa: ANN401
    """Declare a number above 0; `more` are fields of `Parameter`."""
    return Parameter(name, minimum=0.0, open_minimum=True, cost=cost, **more)


def share(name: str, cost: Cost = "", **more: Any) -> Parameter:  # noqa: ANN401
    """Declare a number from 0 to 1, such as a probability."""
    return Parameter(name, minimum=0.0, maximum=1.0, cost=cost, **more)


def whole(
    name: str,
    cost: Cost = "",
    *,
    most: int | None = None,
    **more: Any,  # noqa: ANN401
) -> Parameter:
    """Declare a whole number from 1 on."""
    top = None if most is None else float(most)
    found: dict[str, Any] = {"minimum": 1.0, "maximum": top} | more
    return Parameter(name, kind="integer", cost=cost, **found)


def deviation(cost: Cost = "decreases", unit: str = QUERY, **more: Any) -> Parameter:  # noqa: ANN401
    """Declare sigma: more noise is less noise with independent noise added, and hides more."""
    return positive("standard_deviation", cost, short="sigma", unit=unit, **more)


def sensitivity(unit: str = QUERY, **more: Any) -> Parameter:  # noqa: ANN401
    """Declare how far a query moves; neighbours of a smaller one are among those of a larger."""
    return positive("sensitivity", "increases", default=1.0, contribution=True, unit=unit, **more)


@lru_cache(2)
def _words(file: str) -> dict[str, dict[str, str]]:
    found: Any = table("spec", file)
    return found  # type: ignore[no-any-return]


@record
class Entry:
    """One mechanism or wrapper.

    Attributes:
        name: the long name in snake_case; the JSON type.
        parameters: in the order in which trees, text and JSON keep them.
        example: a whole specification that uses it, and what stands in the file that it names.
        factory: the class; its constructor takes the long parameter names as keywords.
        short: the spelling of the canonical text, or None; `aliases` are read and never printed.
        one_of: alternatives, each a group of parameters; exactly one group is written, whole.
        enough: groups of parameters of which at least one is written, whole.
        ordered: pairs (a, b) of numbers with a <= b.
        inner_relation: of a wrapper, the relation under which its event is read whatever the
            result is asked for, or None where it is the relation in force.
        keeps_order: of a wrapper, whether the order of the profiles of two events is that of what
            it makes of them. Of shuffled reports it is not: what others send hides the less, the
            more categories there are, while one report by itself costs less.
        neighbours: how neighbours differ whatever the relation is called, or "" where it says so.
        place: documentation lists smaller ones first, and equal ones as they were registered.
        line: what it is in at most 60 characters; `plain` says it without mathematics.
        reveals: what happens where an output comes up that only one of two neighbours has, or "".
        between: why its two ends may be far apart: what is proved above and what below, or "".
        above: why there may be no lower end, and what would have one, or "".
        condition: why other relations are refused, or "".
    """

    kind: Kind
    name: str
    parameters: tuple[Parameter, ...]
    example: str
    factory: type
    short: str | None = None
    aliases: tuple[str, ...] = ()
    one_of: tuple[tuple[str, ...], ...] = ()
    enough: tuple[tuple[str, ...], ...] = ()
    excludes: tuple[tuple[str, str], ...] = ()
    ordered: tuple[tuple[str, str], ...] = ()
    relations: frozenset[Relation] = ALL
    inner_relation: Relation | None = None
    keeps_order: bool = True
    example_file: str = ""
    neighbours: str = ""
    place: int = LAST

    def __getattr__(self, name: str) -> str:
        """Return words of `words.toml`, read when they are asked for."""
        if name not in _WORDS:
            raise AttributeError(name)
        return _words("words.toml").get(self.name, {}).get(name, "")

    @property
    def spelling(self) -> str:
        """The name that the canonical text prints."""
        return word_text(self.short or self.name)

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every name that text accepts, in snake_case."""
        return (self.name, *(() if self.short is None else (self.short,)), *self.aliases)

    @property
    def summary(self) -> str:
        """What it is: the first sentence of the docstring, without its full stop."""
        documentation = self.factory.__doc__ or ""
        return " ".join(documentation.split("\n\n", 1)[0].split()).removesuffix(".")

    def meaning(self, parameter: Parameter) -> str:
        """Return what one of the parameters is, in one clause."""
        said = _words("parameters.toml")
        own = said.get(self.name, {}).get(parameter.name)
        return parameter.meaning or own or said["every"].get(parameter.name, "")

    def keeps_order_with(self, written: Iterable[str]) -> bool:
        """Say whether the order of events is kept where these parameters are written."""
        unless = {name for each in self.parameters for name in each.cost_unless}
        return self.keeps_order and unless.isdisjoint(written)

    def parameter(self, key: str) -> Parameter | None:
        """Find a parameter by its long name in snake_case."""
        return next((p for p in self.parameters if p.name == key), None)

    def spelled(self, key: str) -> Parameter | None:
        """Find a parameter by any spelling that text accepts, in snake_case."""
        return next((p for p in self.parameters if key in p.spellings), None)

    def groups(self, groups: Iterable[Iterable[str]], *, long_names: bool = False) -> str:
        """Return alternatives of parameters as messages have them: "n with m or q"."""
        spelling = _spelling(self, long_names=long_names)
        return " or ".join(" with ".join(spelling[name] for name in group) for group in groups)

    def needs(self, parameter: Parameter) -> bool:
        """Say whether the parameter has to be written in every specification."""
        in_alternative = any(parameter.name in group for group in self.one_of)
        return not parameter.optional and not in_alternative


# The powers of ten up to this one, and all integers between, are doubles.
MAX_INTEGER = 10**15

# Most nodes from the root to a leaf, and most parentheses inside one another. One level costs at
# most six Python frames in the parser, so that the interpreter's limit of 1000 is not reached.
MAX_DEPTH = 100

# The fields by which the JSON twin tells its nodes apart, and the types that are no mechanism.
RESERVED = frozenset(
    {"type", "event", "events", "count", "composed", "self_composed", "parallel_composed"}
)


class Fault(Exception):  # noqa: N818  (never seen outside this package: it becomes a SpecError)
    """A call that the registry refuses, with what to write instead."""

    def __init__(self, message: str, *, hint: str = "", index: int | None = None) -> None:
        """Keep which of the parameters, in the order written, is at fault; None for the call."""
        super().__init__(message)
        self.hint = hint
        self.index = index


def suggestion(word: str, known: Iterable[str], *, of_calls: bool = False) -> str:
    """Return "did you mean ...?" for the nearest known word, else the list of known words.

    Of calls, the names of mechanisms or wrappers, less is a slip of the pen: `truncated-gaussian`
    is another mechanism than `gaussian` and `discrete-gaussian`.
    """
    from difflib import get_close_matches

    words = list(known)
    if near := get_close_matches(word, words, n=1, cutoff=0.8 if of_calls else 0.6):
        return f"did you mean {near[0]}?"
    return f"known: {', '.join(words)}" if words else ""


def check_range(parameter: Parameter, key: str, value: float, written: str = "") -> None:
    """Refuse a number outside the range; `written` is how the value was spelled."""
    # A double holds no larger integer exactly.
    if parameter.kind == "integer" and abs(value) > MAX_INTEGER:
        raise Fault(f"{key} must be at most {brief_text(MAX_INTEGER)} in size")
    if not parameter.contains(value):
        got = written or brief_text(value)
        raise Fault(f"{key} must be {parameter.range_text}, got {got}")


def choice(parameter: Parameter, key: str, word: str) -> str:
    """Return the choice that a word in snake_case names."""
    if word in parameter.choices:
        return word
    known = [word_text(each) for each in parameter.choices]
    message = f"{key} must be one of {', '.join(known)}, got {shorten(word_text(word))}"
    near = suggestion(word_text(word), known)
    raise Fault(message, hint=near if near.startswith("did") else "")


def arranged(
    entry: Entry, given: Sequence[tuple[str, Value]], *, long_names: bool
) -> tuple[tuple[str, Value], ...]:
    """Return the parameters of a call, which stand in the order written, in that of the registry.

    `long_names` is whether messages use those (JSON), or the names of the canonical text.

    Raises:
        Fault: some are repeated, missing, or do not go together.
    """
    names = tuple(name for name, _ in given)
    _check_names(entry, names, long_names=long_names)
    values = dict(given)
    for low, high in entry.ordered:
        a, b = values.get(low), values.get(high)
        if isinstance(a, int | float) and isinstance(b, int | float) and a > b:
            first, second = (_spelling(entry, long_names=long_names)[name] for name in (low, high))
            message = f"{first} must be <= {second}, got {brief_text(a)}"
            raise Fault(message, index=names.index(low))
    return tuple((p.name, values[p.name]) for p in entry.parameters if p.name in values)


def _spelling(entry: Entry, *, long_names: bool) -> dict[str, str]:
    return {p.name: p.name if long_names else p.spelling for p in entry.parameters}


# A history of a thousand steps has the same few names in all of them.
@lru_cache(256)
def _check_names(entry: Entry, names: tuple[str, ...], *, long_names: bool) -> None:
    """Refuse names that are repeated, missing, or do not go together."""
    spelling = _spelling(entry, long_names=long_names)
    for index in (i for i, name in enumerate(names) if name in names[:i]):
        raise Fault(f"{spelling[names[index]]} is given twice", index=index)
    for pair in entry.excludes:
        if set(pair) <= set(names):
            message = f"{spelling[pair[0]]} and {spelling[pair[1]]} do not go together"
            raise Fault(message, index=max(map(names.index, pair)))
    caller = entry.name if long_names else entry.spelling
    example = "" if long_names else f"for example {entry.example}"
    alternatives = entry.groups(entry.one_of, long_names=long_names)
    started = [group for group in entry.one_of if not set(group).isdisjoint(names)]
    if entry.one_of and not started:
        raise Fault(f"{caller} needs {alternatives}", hint=example)
    if len(started) > 1:
        second = sorted(names.index(n) for group in started for n in group if n in names)[1]
        only = "not both" if len(entry.one_of) == 2 else "and only one of them"
        raise Fault(f"{caller} takes {alternatives}, {only}", index=second)
    for group in started:
        there = next(name for name in group if name in names)
        if missing := [spelling[name] for name in group if name not in names]:
            message = f"{spelling[there]} also needs {' and '.join(missing)}"
            raise Fault(message, index=names.index(there))
    if entry.enough and not any(set(group) <= set(names) for group in entry.enough):
        enough = entry.groups(entry.enough, long_names=long_names)
        raise Fault(f"{caller} needs {enough}", hint=example)
    needed = [spelling[p.name] for p in entry.parameters if entry.needs(p) and p.name not in names]
    if needed:
        raise Fault(f"{caller} needs {' and '.join(needed)}", hint=example)
