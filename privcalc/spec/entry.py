"""What the registry knows of one mechanism or wrapper: its names, parameters and relations."""

from __future__ import annotations

from typing import Literal

from privcalc.exact import exact
from privcalc.record import record
from privcalc.relation import Relation
from privcalc.spec.spelling import number_text, word_text

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
        meaning: one clause, for help and manual pages.
        short: the spelling of the canonical text, or None where that is the long name.
        kind: the type of the value. Numbers and integers are finite, and only they can be a hole.
        minimum: least value of a number or integer, or None.
        maximum: greatest value, or None.
        open_minimum: whether the minimum itself is refused.
        open_maximum: whether the maximum itself is refused.
        default: what holds when the parameter is left out; with None (and no `default_text`) it
            has to be written, unless an alternative of the entry's `one_of` stands in for it.
        default_text: the default in words, where it depends on other parameters.
        choices: the words that a choice may be, in snake_case.
        unit: the unit in which the value is read, or "".
        cost: whether the privacy cost increases or decreases (not always strictly) with the value;
            "" where neither is known, and there `calibrate` refuses a hole. It is a statement on
            the pairs of the mechanism or wrapper alone: that the profile of one value is below that
            of another at every real epsilon, in every direction. Such an order survives whatever
            else a specification does: composition and sampling keep it (Zhu, Dong, Wang 2022,
            Theorems 10 and 11), a chain of neighbours and the loss of one more Renyi curve too.
        cost_beside: names of parameters of which one has to be written for `cost` to hold, or ().
        cost_unless: of a specification, names of parameters beside which the cost is not known to
            move with it, or with anything in it, or ().
        relations: the relations under which it may be written.
        cost_note: one clause on where `cost` is not quite true, or "". What `calibrate` prints is
            proved at the two values themselves, and `cost` only says that nothing is between them.
    """

    name: str
    meaning: str
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
    cost_beside: tuple[str, ...] = ()
    cost_unless: tuple[str, ...] = ()
    cost_note: str = ""
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
        number = exact(value)
        least = number if self.minimum is None else exact(self.minimum)
        most = number if self.maximum is None else exact(self.maximum)
        low = self.minimum is None or (number > least if self.open_minimum else number >= least)
        high = self.maximum is None or (number < most if self.open_maximum else number <= most)
        return low and high


@record
class Entry:
    """One mechanism or wrapper.

    Attributes:
        kind: mechanism (begins a specification) or wrapper (stands after `@`).
        name: the long name in snake_case; the JSON type.
        short: the spelling of the canonical text, or None where that is the long name.
        aliases: further spellings that text accepts and nothing prints.
        parameters: in the order in which trees, text and JSON keep them.
        one_of: alternatives, each a group of parameters; exactly one group is written, whole.
        excludes: pairs of parameters that do not go together.
        ordered: pairs (a, b) of numbers with a <= b.
        relations: the relations under which it is defined.
        inner_relation: of a wrapper, the relation under which its event is read whatever the
            result is asked for, or None where it is the relation in force.
        example: a whole specification that uses it.
        condition: why other relations are refused, one clause for the error message, or "".
        example_file: what stands in the file that the example names, or "".
        plain: one sentence for readers who know none of the mathematics, or "".
        place: documentation lists smaller ones first, and equal ones as they were registered.
        factory: the class; its constructor takes the long parameter names as keywords.
    """

    kind: Kind
    name: str
    parameters: tuple[Parameter, ...]
    example: str
    factory: type
    short: str | None = None
    aliases: tuple[str, ...] = ()
    one_of: tuple[tuple[str, ...], ...] = ()
    excludes: tuple[tuple[str, str], ...] = ()
    ordered: tuple[tuple[str, str], ...] = ()
    relations: frozenset[Relation] = ALL
    inner_relation: Relation | None = None
    plain: str = ""
    example_file: str = ""
    condition: str = ""
    place: int = LAST

    @property
    def spelling(self) -> str:
        """The name that the canonical text prints."""
        return word_text(self.short or self.name)

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every name that text accepts, in snake_case."""
        return (self.name, *(() if self.short is None else (self.short,)), *self.aliases)

    @property
    def documentation(self) -> str:
        """The docstring of the class."""
        return self.factory.__doc__ or ""

    @property
    def summary(self) -> str:
        """What it is: the first sentence of the docstring, without its full stop."""
        return " ".join(self.documentation.split("\n\n", 1)[0].split()).removesuffix(".")

    def parameter(self, key: str) -> Parameter | None:
        """Find a parameter by its long name in snake_case."""
        return next((p for p in self.parameters if p.name == key), None)

    def spelled(self, key: str) -> Parameter | None:
        """Find a parameter by any spelling that text accepts, in snake_case."""
        return next((p for p in self.parameters if key in p.spellings), None)

    def needs(self, parameter: Parameter) -> bool:
        """Say whether the parameter has to be written in every specification."""
        in_alternative = any(parameter.name in group for group in self.one_of)
        return not parameter.optional and not in_alternative
