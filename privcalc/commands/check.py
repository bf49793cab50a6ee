"""Budget files: all that is done with the data, composed, against the budget of a file.

The file is TOML, and what is wrong in it is said with its line:

    [budget]
    epsilon = 3                         # or rho = 0.1, or mu = 0.5, without delta
    delta = 1e-5
    relation = "add-or-remove-one"      # optional

    [[mechanism]]
    name = "training"
    spec = "gaussian:sigma=1.1@poisson:q=256/60000@14063"
    note = "the released model"         # optional

With `filter = true` the specification is the budget of each record by itself: a record is dropped
before its costs, a function of its own data and the outputs so far, exceed it. The whole keeps that
guarantee (Feldman, Zrnic 2021; Koskela, Tobaben, Honkela 2023).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from privcalc.bounds import TOLERANCE, Verdict
from privcalc.commands.command import Asking, load
from privcalc.commands.meant import for_option
from privcalc.commands.questions import question, relation_in_force, summed
from privcalc.commands.values import read_delta, read_epsilon, read_relation, read_text
from privcalc.errors import DomainError, FileError, PrivcalcError, UsageError
from privcalc.exact import distinct
from privcalc.opened import read_text as text_of
from privcalc.record import record, replace
from privcalc.relation import Relation
from privcalc.render.words import written
from privcalc.spec.hints import for_word
from privcalc.spec.tree import Leaf

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from privcalc.bounds import Bound
    from privcalc.commands.result import Result
    from privcalc.render.report import Check, Report, Row
    from privcalc.spec.read import Question

# The standard reader takes a second for about as many.
MAX_LENGTH = 1_000_000
MAX_MECHANISMS = 10_000
MAX_NAME = 80
# What `-` is called where something in it is wrong.
STANDARD_INPUT = "standard input"
# What there may be a budget of, and what it is answered as.
QUANTITIES = {"epsilon": "dp", "rho": "zcdp", "mu": "gdp"}
# Rows of the table that are no mechanisms.
ROWS = ("total", "budget")
EXAMPLE = (
    'for example [[mechanism]] with name = "training" and spec = "gaussian:sigma=1.1@poisson:q=0.01'
    '@1000" below it'
)
FORM = "write key = value: a number as 0.5 or 1e-5; text, a ratio or a percentage in quotes"
# What is said of an individual filter.
FILTERED = "each record is dropped before its own costs exceed that; who was dropped stays secret"
BUDGETS = "zcdp:rho=, gdp:mu= or rdp:order=,epsilon=, however many steps there are"
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")
_HEADER = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]")


@record
class Part:
    """One thing that is done with the data.

    Attributes:
        name: what people call it.
        question: its specification.
        note: a sentence on it, or "".
        line: where its specification stands.
        filtered: whether it is the budget of each record by itself.
    """

    name: str
    question: Question
    note: str
    line: int | None
    filtered: bool = False


class BudgetFile:
    """What a budget file says, read table by table: what is wrong is wrong where it has got to.

    Attributes:
        quantity: epsilon, rho or mu.
        most: how much of it may be spent.
        delta: where epsilon is asked; None for others.
        relation: the neighbouring relation, or None for the default.
        parts: what is done with the data, by name, in the order of the file.
    """

    quantity: str
    most: float
    delta: float | None = None
    relation: Relation | None = None

    def __init__(self, file: str, text: str, asked: Relation | None = None) -> None:
        """Read it.

        `asked` is the relation of the command line, where it names one.

        Raises:
            DomainError: it is too large.
            FileError: something in it is wrong; it says in which line.
        """
        if len(text) > MAX_LENGTH:
            raise DomainError(f"{file} has more than {MAX_LENGTH:,} characters")
        self.parts: dict[str, Part] = {}
        self._text = text
        self._table, self._index, self._key = "", 0, ""
        self._values: dict[str, Any] = {}
        # Where it is no TOML.
        self._line: int | None = None
        try:
            self._read(asked)
        except PrivcalcError as error:
            raise FileError(error, file, self.line) from None

    @property
    def line(self) -> int | None:
        """The line that was read last: of a key, or a header; the standard reader does not tell."""
        found, count, inside = self._line, -1, False
        for number, line in enumerate(self._text.split("\n"), start=1):
            if header := _HEADER.match(line):
                count += header[1] == self._table
                inside = header[1] == self._table and count == self._index
                found = number if inside else found
            elif inside and self._key and re.match(rf"\s*{re.escape(self._key)}\s*=", line):
                return number
        return found

    def _read(self, asked: Relation | None) -> None:
        found = self._loaded()
        for table in (each for each in found if each not in ("budget", "mechanism")):
            self._table = table
            hint = for_option(table, (), "tables")
            raise UsageError(f"unknown table: {table}; known: budget, mechanism", hint=hint)
        budget, mechanisms = found.get("budget"), found.get("mechanism")
        if not isinstance(budget, dict):
            words = "a table [budget] with epsilon and delta is needed, or with rho, or mu"
            raise UsageError(words)
        if isinstance(mechanisms, dict) or "mechanism" in budget:
            words = "mechanisms are a list next to [budget]: write [[mechanism]]"
            raise UsageError(f"{words}; {EXAMPLE}")
        if not isinstance(mechanisms, list) or not mechanisms:
            raise UsageError(f"there is no mechanism, and nothing to check; {EXAMPLE}")
        if len(mechanisms) > MAX_MECHANISMS:
            raise UsageError(f"a budget file has at most {MAX_MECHANISMS:,} mechanisms")
        self._table, self._values = "budget", budget
        self._read_budget()
        for self._index, self._values in enumerate(mechanisms):
            self._table, self._key = "mechanism", ""
            self._read_part(asked or self.relation)

    def _loaded(self) -> dict[str, Any]:
        """Read TOML; decimals are what is written, and not the nearest doubles."""
        import tomllib

        try:
            return tomllib.loads(self._text.replace("\r\n", "\n"), parse_float=Decimal)
        except tomllib.TOMLDecodeError as error:
            place = _PLACE.search(str(error))
            self._line = int(place[1]) if place and place[1] else None
            hint = FORM if self._line else ""
            raise UsageError(f"not TOML: {_PLACE.sub('', str(error))}", hint=hint) from None
        except (RecursionError, ValueError) as error:
            raise UsageError(f"not TOML that is read here: {error}") from None

    def _value(self, key: str) -> Any:  # noqa: ANN401
        self._key = key
        return self._values[key]

    def _read_budget(self) -> None:
        """Read what may be spent: of which quantity, how much, and at which delta."""
        named = [name for name in QUANTITIES if name in self._values]
        self.quantity = named[0] if named else "epsilon"
        if len(named) > 1:
            self._key = named[1]
            raise UsageError(f"[budget] has {named[0]} or {named[1]}, not both")
        if self.quantity != "epsilon" and "delta" in self._values:
            self._key = "delta"
            raise UsageError(f"{self.quantity} holds at every delta: leave delta out")
        at = ("delta",) if self.quantity == "epsilon" else ()
        self._check_keys(
            (self.quantity, *at), ("relation",) if named else ("rho", "mu", "relation")
        )
        self.most = read_epsilon(self.quantity, self._value(self.quantity))
        if at:
            self.delta = read_delta("delta", self._value("delta"))
            if self.delta >= 1.0:
                raise DomainError("delta must be below 1: at 1 every mechanism keeps every budget")
        if "relation" in self._values:
            self.relation = read_relation("relation", self._words("relation"))

    def _read_part(self, relation: Relation | None) -> None:
        """Read what one mechanism is, under the relation that is asked for."""
        if not isinstance(self._values, dict):
            raise UsageError(f"a mechanism is a table; {EXAMPLE}")
        self._check_keys(("name", "spec"), ("note", "filter"))
        name = self._words("name")
        if not name or len(name) > MAX_NAME:
            raise UsageError(f"a name has 1 to {MAX_NAME} characters")
        if name.lower() in ROWS:
            raise UsageError(f"no mechanism is called {name}: the table has a row {name}")
        if name in self.parts:
            raise UsageError(f"two mechanisms are called {name}")
        note = self._words("note") if "note" in self._values else ""
        found = question(self._quoted("spec"), relation=relation)
        if filtered := self._value("filter") if "filter" in self._values else False:
            if filtered is not True:
                raise UsageError("filter takes true or false, without quotes")
            if not isinstance(found.tree, Leaf) or found.tree.name not in ("zcdp", "gdp", "rdp"):
                raise UsageError(f"a filter is a guarantee for each record: {BUDGETS}")
            note = f"{note}; {FILTERED}" if note else FILTERED
        self.parts[name] = Part(name, found, note, self.line, filtered)

    def _check_keys(self, needed: Sequence[str], others: Sequence[str]) -> None:
        """Refuse a key that is not known, or one that is missing."""
        what = "[[mechanism]]" if self._table == "mechanism" else "[budget]"
        for key in (each for each in self._values if each not in (known := (*needed, *others))):
            self._key, hint = key, for_word(key, f"{self._values[key]}")
            words = f"{what} has no key {key[:MAX_NAME]}; known: {', '.join(known)}"
            raise UsageError(words, hint=hint and f"in spec: {hint}")
        for key in (each for each in needed if each not in self._values):
            raise UsageError(f"{what} needs {key}")

    def _quoted(self, key: str) -> str:
        value = self._value(key)
        if not isinstance(value, str):
            raise UsageError(f'{key} takes text in quotes, as in {key} = "..."')
        return value

    def _words(self, key: str) -> str:
        """Read words on one line; what a terminal would act on is refused."""
        words = " ".join(self._quoted(key).split())
        if not words.isprintable():
            raise UsageError(f"{key} has characters that are not printed")
        return words


def checked(file: str, ask: Asking, text: str | None = None) -> Report:
    """Check the budget of a file: what each part costs by itself, and all together.

    Args:
        file: its name.
        ask: what the line asks of `compose`: a relation, a tolerance, an engine for epsilon and mu.
        text: what is in it, where that was read already.

    Raises:
        FileError: something in the file is wrong, or cannot be answered; it says in which line.
    """
    if not file.strip():
        raise UsageError("--file needs the name of a file, such as privacy.toml, or -")
    found = BudgetFile(file, text_of(file) if text is None else text, ask.relation)
    try:
        whole = summed([part.question for part in found.parts.values()])
        asked = relation_in_force(ask.relation, found.relation)
        given = {**ask.values, "relation": relation_in_force(asked, whole.relation)}
        if given["relation"] is None:
            from privcalc.accounting.realize import default_relation

            given["relation"] = default_relation(whole.tree)
        filtered = [part.name for part in found.parts.values() if part.filtered]
        if filtered and given["relation"] is not Relation.ADD_OR_REMOVE_ONE:
            raise UsageError(f"filters are of add-or-remove-one: {filtered[0]} is one")
        if found.delta is None:
            given["to"] = QUANTITIES[found.quantity]
        else:
            given["delta"] = found.delta
        command = load("convert" if found.delta is None else "compose")
        # What would fit takes a search, and is said of the whole alone.
        costs = _costs(file, found, command.asking(given, hints=False))
        limited = {**given, f"max_{found.quantity}": found.most}
        report, *_ = command.asking(limited, hints=ask.hints)(whole)
    except FileError:
        raise
    except PrivcalcError as error:
        raise FileError(error, file, None) from None
    return _with_parts(file, report, found, costs)


def check(
    file: str | PathLike[str],
    *,
    relation: str | None = None,
    tolerance: float | str = TOLERANCE,
    engine: str = "auto",
) -> Result:
    """Check the budget of a file, as `compose --file` does: what its parts cost, and all of it.

        >>> import privcalc
        >>> answer = privcalc.check("privacy.toml")  # doctest: +SKIP
        >>> answer.verdict, answer.epsilon.upper  # doctest: +SKIP
        (<Verdict.WITHIN: 'within'>, 2.381689726189265)

    Args:
        file: its name.
        relation: None for that of the file, or the default.
        tolerance: target relative width.
        engine: for epsilon and mu: auto, contour, fft or rdp.

    Raises:
        FileError: something in the file is wrong; it says in which line.
    """
    from privcalc.commands.result import Result

    name = file if isinstance(file, str) or not hasattr(file, "__fspath__") else file.__fspath__()
    given = {"relation": relation, "tolerance": tolerance, "engine": engine}
    return Result(checked(read_text("file", name), load("compose").in_python(given)))


def _costs(file: str, found: BudgetFile, ask: Asking) -> list[Bound]:
    """Return what each part costs by itself, at the delta and under the relation of the whole."""
    known: dict[object, Bound] = {}
    for part in found.parts.values():
        key = distinct(part.question.tree)
        if key not in known:
            try:
                report, *_ = ask(part.question)
            except PrivcalcError as error:
                raise FileError(error, file, part.line) from None
            known[key] = cast("Bound", report.result[found.quantity])
    return [known[distinct(part.question.tree)] for part in found.parts.values()]


def _with_parts(file: str, report: Report, found: BudgetFile, costs: list[Bound]) -> Report:
    """Put the parts into the answer for the whole, and point at the one that costs most."""
    name, parts = found.quantity, [*found.parts.values()]
    total, check = cast("Bound", report.result[name]), cast("Check", report.check)
    rows: list[Row] = [
        {"name": part.name, name: cost} for part, cost in zip(parts, costs, strict=True)
    ]
    most = max(range(len(costs)), key=lambda index: costs[index].upper)
    worst = parts[most]
    if check.verdict is not Verdict.WITHIN and len(costs) > 1:
        cost = costs[most].decimals()[1]
        words = f"{check.sentence}; {worst.name} costs most, {cost} by itself"
        check = replace(check, sentence=words)
    notes = [(part.name, part.note) for part in parts if part.note]
    return replace(
        report,
        command="compose",
        result={name: total, "mechanisms": rows},
        tables=(("mechanisms",),),
        closing=(
            {"name": "total", name: total},
            {"name": "budget", "at least": "", "at most": written(found.most)},
        ),
        remarks=(*report.remarks, *notes),
        check=check,
        # Nothing can be shown at a line of a pipe.
        source=None if file == STANDARD_INPUT else (file, worst.line or 1),
    )
