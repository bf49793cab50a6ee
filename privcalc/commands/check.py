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
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

from privcalc.bounds import TOLERANCE, Bound, Verdict
from privcalc.commands.budget import Budget
from privcalc.commands.command import Asking
from privcalc.commands.questions import question, relation_in_force, summed
from privcalc.commands.values import read_delta, read_epsilon, read_relation, read_text
from privcalc.errors import DomainError, FileError, PrivcalcError, UsageError
from privcalc.exact import distinct
from privcalc.opened import read_text as text_of
from privcalc.record import field, record, replace
from privcalc.relation import Relation
from privcalc.render.words import written

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from privcalc.commands.result import Result
    from privcalc.render.report import Report, Row
    from privcalc.spec.read import Question

# The standard reader takes a second for about as many.
MAX_LENGTH = 1_000_000
MAX_MECHANISMS = 10_000
MAX_NAME = 80
# What `-` is called where something in it is wrong.
STANDARD_INPUT = "standard input"
# What there may be a budget of.
QUANTITIES = ("epsilon", "rho", "mu")
# Rows of the table that are no mechanisms.
ROWS = ("total", "budget")
# What only the whole has: a mechanism has no budget of its own.
OF_ALL = (
    "epsilon",
    "delta",
    "rho",
    "mu",
    "max_epsilon",
    "max_delta",
    "max_rho",
    "max_mu",
    "budget",
)
EXAMPLE = (
    'for example [[mechanism]] with name = "training" and spec = "gaussian:sigma=1.1@poisson:q=0.01'
    '@1000" below it'
)
FORM = "write key = value: a number as 0.5 or 1e-5; text, a ratio or a percentage in quotes"
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")


class _Number(str):
    """A number as it was written, to be read as those of the command line are."""

    __slots__ = ()


@record
class Part:
    """One thing that is done with the data.

    Attributes:
        name: what people call it.
        question: its specification.
        note: a sentence on it, or "".
        line: where its specification stands.
    """

    name: str
    question: Question
    note: str
    line: int


@record
class BudgetFile:
    """What a budget file says.

    Attributes:
        file: its name.
        quantity: epsilon, rho or mu.
        most: how much of it may be spent.
        delta: where epsilon is asked; None for others.
        relation: the neighbouring relation, or None for the default.
        parts: what is done with the data, in the order of the file.
    """

    file: str
    quantity: str
    most: float
    delta: float | None
    relation: Relation | None
    parts: tuple[Part, ...]


def read_budget_file(
    file: str, asked: Relation | None = None, text: str | None = None
) -> BudgetFile:
    """Read a budget file.

    Args:
        file: its name.
        asked: the relation of the command line, where it names one.
        text: what is in it, where that was read already.

    Raises:
        UsageError: it has no name.
        DomainError: it cannot be read, or is too large.
        FileError: something in it is wrong; it says in which line.
    """
    if not file.strip():
        raise UsageError("--file needs the name of a file, such as privacy.toml, or -")
    text = text_of(file) if text is None else text
    if len(text) > MAX_LENGTH:
        raise DomainError(f"{file} has more than {MAX_LENGTH:,} characters")
    values = _loaded(file, text)
    for key in values:
        if key not in ("budget", "mechanism"):
            _Table(file, text, key).fail(f"unknown table: {key}; known: budget, mechanism")
    budget = values.get("budget")
    if not isinstance(budget, dict):
        _Table(file, text, "").fail(
            "a table [budget] with epsilon and delta is needed, or with rho, or mu"
        )
    whole = _Table(file, text, "", values=budget)
    mechanisms = whole.mechanisms(values.get("mechanism"))
    table = _Table(file, text, "budget", values=budget)
    quantity, most, delta = table.budget()
    relation = table.relation()
    tables = [_Table(file, text, "mechanism", k, each) for k, each in enumerate(mechanisms)]
    parts: dict[str, Part] = {}
    for each in tables:
        part = each.part(asked or relation)
        if parts.setdefault(part.name, part) is not part:
            each.fail(f"two mechanisms are called {part.name}", "name")
    return BudgetFile(file, quantity, most, delta, relation, tuple(parts.values()))


def _loaded(file: str, text: str) -> dict[str, object]:
    """Read TOML, with numbers as they were written."""
    import tomllib

    try:
        return tomllib.loads(text.replace("\r\n", "\n"), parse_float=_Number)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line = int(place[1]) if place and place[1] else None
        hint = FORM if line else ""
        if text.lstrip()[:1] in ("{", "(") or text.lstrip().startswith("OrderedDict"):
            named = "FILE" if file == STANDARD_INPUT else file
            hint = f"--file has a budget; a history is a SPEC: write opacus:file={named}"
        cause = UsageError(f"not TOML: {_PLACE.sub('', str(error))}", hint=hint)
        raise FileError(cause, file, line) from None
    except (RecursionError, ValueError) as error:
        raise FileError(UsageError(f"not TOML that is read here: {error}"), file, None) from None


_HEADER = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]")


@record
class _Table:
    """One table of a file; what is wrong in it is an error at its line.

    Attributes:
        file: the name of the file.
        text: what is in it.
        name: of the table.
        index: which of those with that name.
        values: what is in it.
    """

    file: str
    text: str
    name: str
    index: int = 0
    values: Any = field(factory=dict)

    def line(self, key: str = "") -> int | None:
        """Find the line of a key, or of the header; the standard reader does not tell."""
        found, count, inside = None, -1, False
        for number, line in enumerate(self.text.split("\n"), start=1):
            if header := _HEADER.match(line):
                count += header[1] == self.name
                inside = header[1] == self.name and count == self.index
                found = number if inside else found
            elif inside and key and re.match(rf"\s*{re.escape(key)}\s*=", line):
                return number
        return found

    def fail(self, cause: str | PrivcalcError, key: str = "") -> NoReturn:
        """Refuse what stands under a key, or the table."""
        error = UsageError(cause) if isinstance(cause, str) else cause
        raise FileError(error, self.file, self.line(key)) from None

    def mechanisms(self, found: object) -> list[object]:
        """Return what the file lists."""
        if isinstance(found, dict) or "mechanism" in self.values:
            self.fail(f"mechanisms are a list next to [budget]: write [[mechanism]]; {EXAMPLE}")
        if not isinstance(found, list) or not found:
            self.fail(f"there is no mechanism, and nothing to check; {EXAMPLE}")
        if len(found) > MAX_MECHANISMS:
            self.fail(f"a budget file has at most {MAX_MECHANISMS:,} mechanisms")
        return found

    def budget(self) -> tuple[str, float, float | None]:
        """Read what may be spent: of which quantity, how much, and at which delta."""
        named = [name for name in QUANTITIES if name in self.values]
        if len(named) > 1:
            self.fail(f"[budget] has {named[0]} or {named[1]}, not both", named[1])
        quantity = named[0] if named else "epsilon"
        needed = (quantity, "delta") if quantity == "epsilon" else (quantity,)
        if quantity != "epsilon" and "delta" in self.values:
            self.fail(f"{quantity} holds at every delta: leave delta out", "delta")
        others = ("relation",) if named else (*QUANTITIES[1:], "relation")
        self.check_keys("[budget]", needed, others)
        most = self.number(read_epsilon, quantity)
        if quantity != "epsilon":
            return quantity, most, None
        delta = self.number(read_delta, "delta")
        if delta >= 1.0:
            cause = "delta must be below 1: at 1 every mechanism keeps every budget"
            self.fail(DomainError(cause), "delta")
        return quantity, most, delta

    def relation(self) -> Relation | None:
        """Read the relation; None for the default."""
        if "relation" not in self.values:
            return None
        try:
            return read_relation("relation", self.words("relation"))
        except UsageError:
            self.fail(f"relation is one of {', '.join(r.text for r in Relation)}", "relation")

    def part(self, relation: Relation | None) -> Part:
        """Read what one mechanism is, under the relation that is asked for."""
        if not isinstance(self.values, dict):
            self.fail(f"a mechanism is a table; {EXAMPLE}")
        self.check_keys("[[mechanism]]", ("name", "spec"), ("note",))
        name = self.words("name")
        if not name or len(name) > MAX_NAME:
            self.fail(f"a name has 1 to {MAX_NAME} characters", "name")
        if name.lower() in ROWS:
            self.fail(f"no mechanism is called {name}: the table has a row {name}", "name")
        note = self.words("note") if "note" in self.values else ""
        try:
            found = question(self.words("spec", visible=False), relation=relation)
        except PrivcalcError as error:
            self.fail(error, "spec")
        return Part(name, found, note, self.line("spec") or 1)

    def check_keys(self, what: str, needed: tuple[str, ...], others: tuple[str, ...]) -> None:
        """Refuse a key that is not known, or one that is missing."""
        for key in self.values:
            if key not in (*needed, *others):
                known = f"known: {', '.join((*needed, *others))}"
                if what == "[[mechanism]]" and key in OF_ALL:
                    known = "the budget is that of all mechanisms together, in [budget]"
                self.fail(f"{what} has no key {key[:MAX_NAME]}; {known}", key)
        for key in needed:
            if key not in self.values:
                self.fail(f"{what} needs {key}")

    def number(self, read: Callable[[str, str], float], key: str) -> float:
        """Read a number as the command line does: 1e-5, or "1/60000" in quotes."""
        value = self.values[key]
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            self.fail(f"{key} takes a number such as 1e-5", key)
        written = value.replace("_", "").removeprefix("+") if isinstance(value, _Number) else value
        try:
            return read(key, written)
        except PrivcalcError as error:
            self.fail(error, key)

    def words(self, key: str, *, visible: bool = True) -> str:
        """Read words on one line; what a terminal would act on is refused."""
        value = self.values[key]
        if not isinstance(value, str) or isinstance(value, _Number):
            self.fail(f'{key} takes text in quotes, as in {key} = "..."', key)
        words = " ".join(value.split()) if visible else value
        if visible and not words.isprintable():
            self.fail(f"{key} has characters that are not printed", key)
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
    found = read_budget_file(file, ask.relation, text)
    try:
        whole = summed([part.question for part in found.parts])
        asked = relation_in_force(ask.relation, found.relation)
        relation = relation_in_force(asked, whole.relation)
        if relation is None:
            from privcalc.accounting.realize import default_relation

            relation = default_relation(whole.tree)
    except UsageError as error:
        raise FileError(error, found.file, None) from None
    values = {**ask.values, "relation": relation}
    # What would fit takes a search, and is said of the whole alone.
    hints = {"hints": values.pop("hints", True)}
    if found.delta is not None:
        command, quiet = "compose", {"hints": False}
        values["delta"] = (found.delta,)
    else:
        command, quiet, hints = "convert", {}, {}
        values["to"] = "zcdp" if found.quantity == "rho" else "gdp"
        if found.quantity == "rho" and values.get("engine", "auto") != "auto":
            raise UsageError("--engine says nothing to --to zcdp: the Renyi curve answers it")
    costs = _costs(found, Asking(command, {**values, **quiet}))
    limits = Budget(**{f"max_{found.quantity}": found.most})
    try:
        report, *_ = Asking(command, {**values, **hints, "limits": limits})(whole)
    except PrivcalcError as error:
        raise FileError(error, found.file, None) from None
    return _with_parts(report, found, costs)


def check(
    file: str | PathLike[str],
    *,
    relation: str | None = None,
    tolerance: float | str = TOLERANCE,
    engine: str = "auto",
) -> Result:
    """Check the budget of a file, as `compose --file` does: what its parts cost, and all of it.

        >>> import privcalc, tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp(), "privacy.toml")
        >>> _ = file.write_text('''
        ...     [budget]
        ...     epsilon = 3
        ...     delta = 1e-5
        ...     [[mechanism]]
        ...     name = "training"
        ...     spec = "gaussian:sigma=1.1@poisson:q=256/60000@14063"
        ... ''')
        >>> answer = privcalc.check(file)
        >>> answer.verdict, round(answer.epsilon.upper, 6)
        (<Verdict.WITHIN: 'within'>, 2.38169)

    Args:
        file: its name.
        relation: None for that of the file, or the default.
        tolerance: target relative width.
        engine: for epsilon and mu: auto, contour, fft or rdp.

    Raises:
        FileError: something in the file is wrong; it says in which line.
    """
    from privcalc.commands.compose import compose
    from privcalc.commands.result import Result

    name = file if isinstance(file, str) or not hasattr(file, "__fspath__") else file.__fspath__()
    given = {"relation": relation, "tolerance": tolerance, "engine": engine}
    return Result(checked(read_text("file", name), compose.in_python(given)))


def _costs(found: BudgetFile, ask: Asking) -> list[Bound]:
    """Return what each part costs by itself, at the delta and under the relation of the whole."""
    known: dict[object, Bound] = {}
    costs = []
    for part in found.parts:
        key = distinct(part.question.tree)
        if key not in known:
            known[key] = _cost(found, part, ask)
        costs.append(known[key])
    return costs


def _cost(found: BudgetFile, part: Part, ask: Asking) -> Bound:
    try:
        report, *_ = ask(part.question)
    except PrivcalcError as error:
        raise FileError(error, found.file, part.line) from None
    bound = report.result[found.quantity]
    if not isinstance(bound, Bound):
        raise TypeError("what has a budget is a bracket")
    return bound


def _with_parts(report: Report, found: BudgetFile, costs: list[Bound]) -> Report:
    """Put the parts into the answer for the whole, and point at the one that costs most."""
    name = found.quantity
    total, check = report.result[name], report.check
    if check is None or not isinstance(total, Bound):
        raise TypeError("a budget is checked")
    rows: list[Row] = [
        {"name": part.name, name: cost} for part, cost in zip(found.parts, costs, strict=True)
    ]
    most = max(range(len(costs)), key=lambda index: costs[index].upper)
    worst = found.parts[most]
    if check.verdict is not Verdict.WITHIN and len(costs) > 1:
        cost = costs[most].decimals()[1]
        words = f"{check.sentence}; {worst.name} costs most, {cost} by itself"
        check = replace(check, sentence=words)
    notes = [(part.name, part.note) for part in found.parts if part.note]
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
        source=None if found.file == STANDARD_INPUT else (found.file, worst.line),
    )
