"""Sweeps: one question for each of many values of one number of a specification.

Which number is swept is said by its name, where it is written once, or by writing `_` in its place.
Every value is read as if it had been given there: what is refused is the same.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from privcalc.bounds import Bound
from privcalc.commands.values import read_count, read_number, split
from privcalc.errors import DomainError, UsageError
from privcalc.exact import decimal_text, exact
from privcalc.record import record, replace
from privcalc.render.report import End
from privcalc.render.words import written
from privcalc.spec.entry import snake_case, word_text
from privcalc.spec.parse import parse
from privcalc.spec.registry import entry, to_text
from privcalc.spec.tree import Node, Repeated, filled, holes, owner, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from privcalc.render.report import Report
    from privcalc.spec.entry import Parameter
    from privcalc.spec.read import Question
    from privcalc.spec.tree import Path

# Each value is a question of its own.
MOST = 1000
# Values between the ends that are no short decimals are rounded to so many digits, to be read.
DIGITS, SHORT = 6, 10
TAKES = (
    "--sweep takes NAME=LOW..HIGH/N, such as sigma=0.8..2/13 (13log for the logarithm), or"
    " NAME=A,B,..."
)


@record
class Sweep:
    """What `--sweep` says: a list, or so many values from one to another.

    Attributes:
        name: of the number that is swept, in any spelling; "" for what is written `_`.
        listed: the values; of a range its first and its last.
        steps: how many values a range has, at least 2; 0 for a list.
        logarithmic: whether it is their ratios that are the same, and not their differences.
    """

    name: str
    listed: tuple[float, ...]
    steps: int = 0
    logarithmic: bool = False

    def values(self, *, whole: bool) -> tuple[float, ...]:
        """Return the values, each once, in their order."""
        found: dict[Fraction, float] = {}
        for value in self._range(whole=whole) if self.steps else self.listed:
            found.setdefault(exact(value), value)
        return tuple(found.values())

    def _range(self, *, whole: bool) -> Iterator[float]:
        """Yield the values of a range; whole numbers that coincide more than once."""
        first, *_, last = self.listed
        low, high = exact(first), exact(last)
        for step in range(self.steps):
            share = Fraction(step, self.steps - 1)
            found = low + share * (high - low)
            if self.logarithmic and share not in (0, 1):
                found = Fraction(float(low) * float(high / low) ** float(share))
            if whole:
                yield round(found)
            else:
                yield first if share == 0 else last if share == 1 else _short(found)


def read_sweep(text: str) -> Sweep:
    """Read NAME=LOW..HIGH/N, or a list of numbers; NAME= may be omitted.

        >>> read_sweep("sigma=0.8..2/4").values(whole=False)
        (0.8, 1.2, 1.6, 2.0)
        >>> read_sweep("q=0.001..10%/3log").values(whole=False)
        (0.001, 0.01, 0.1)

    Raises:
        UsageError: it is none.
        DomainError: a range goes nowhere, or there are too many values.
    """
    name, equals, rest = text.rpartition("=")
    if (equals and not name.strip()) or not re.match(r"\s*[-.\d]", rest):
        raise UsageError(f"{TAKES}, got {text!r}")
    if ".." in rest:
        return _dotted(name.strip(), rest)
    listed = split("--sweep", rest)
    if len(listed) > MOST:
        raise DomainError(f"--sweep takes at most {MOST} values, got {len(listed)}")
    return Sweep(name.strip(), tuple(read_number("--sweep", each) for each in listed))


def _dotted(name: str, piece: str) -> Sweep:
    """Read a range. What stands behind the last slash is how many values it has."""
    low, _, rest = piece.partition("..")
    high, slash, steps = rest.rpartition("/")
    if not slash:
        words = f"--sweep: from {low.strip()} to {rest.strip()} in how many values?"
        raise UsageError(words, hint=f"write {low}..{rest}/N")
    if "/" in low and "/" not in high:
        # 1/100..1/10 may be without its N, and may be ten values that end at 1.
        hint = f"write {piece}/N where it ends at {rest}, or {low}..{high}/1/{steps}"
        raise UsageError(f"--sweep: {piece} can be read in two ways", hint=hint)
    words = steps.strip().lower()
    logarithmic = words.endswith("log")
    first, last = (read_number("--sweep", each) for each in (low, high))
    if not first < last:
        raise DomainError(f"--sweep takes LOW < HIGH, got {low.strip()} and {high.strip()}")
    if logarithmic and first <= 0.0:
        raise DomainError(f"--sweep over the logarithm takes 0 < LOW < HIGH, got {low.strip()}")
    count = read_count("--sweep", words.removesuffix("log"))
    if not 2 <= count <= MOST:
        raise DomainError(f"--sweep takes 2 to {MOST} steps, got {count}")
    return Sweep(name, (first, last), count, logarithmic)


def _short(value: Fraction) -> float:
    """Round a value between the ends to what is written: all its digits where they are few."""
    text = decimal_text(value)
    return float(text if text and len(text) <= SHORT else f"{float(value):.{DIGITS}g}")


@record
class Swept:
    """A question with places for one number, and the values that are put there.

    Attributes:
        located: the question.
        paths: the places in its tree.
        name: how the number is spelled.
        values: what is put there.
    """

    located: Question
    paths: tuple[Path, ...]
    name: str
    values: tuple[float, ...]

    def question(self, value: float) -> Question:
        """Return the question with a value in its place.

        Raises:
            SpecError: it cannot be there.
        """
        parsed = parse(to_text(filled(self.located.tree, dict.fromkeys(self.paths, value))))
        return replace(self.located, tree=parsed.tree, text=parsed.text, spans=parsed.spans)

    def words(self, value: float) -> str:
        """Name a value, for messages."""
        return f"{self.name}={written(value)}"

    def reports(self, value: float, reports: Sequence[Report]) -> list[Report]:
        """Return the answers at a value, as those of a row in the table of the sweep."""
        return [_at(each, self.name, value) for each in reports]


def swept(located: Question, sweep: Sweep, *, free: bool = False) -> Swept:
    """Find what a sweep is over.

    Args:
        located: the specification, with or without places written `_`.
        sweep: what to put there.
        free: whether what is written `_` is wanted, and something else is swept.

    Raises:
        UsageError: it is not said, or said twice, what is swept; or that is no number.
    """
    tree = located.tree
    written = {path: _parameter(tree, path) for path, v in walk(tree) if not isinstance(v, Node)}
    open_places = holes(tree)
    if open_places and not free:
        paths = open_places
        _check_holes([written[path] for path in paths], sweep.name)
    else:
        paths = (_named(written, sweep.name, open_places),)
        if paths[0] in open_places:
            raise UsageError(f"{sweep.name} is the free parameter; sweep another parameter")
    parameter = written[paths[0]]
    if parameter.kind not in NUMBERS:
        raise UsageError(f"{sweep.name} takes {parameter.takes}; a sweep needs a number")
    values = sweep.values(whole=parameter.kind == "integer")
    return Swept(located, paths, parameter.spelling, values)


# Kinds of parameters that a sweep can be over.
NUMBERS = ("number", "integer")


def _named(written: dict[Path, Parameter], name: str, free: Sequence[Path]) -> Path:
    """Return the path that a sweep names: `sigma`, or `sigma#2` for the second of that name."""
    word, mark, which = name.partition("#")
    if not name:
        raise UsageError(
            "--sweep needs the name of what is swept, as in sigma=0.8..2/13"
            + ("" if free else ", or _ in its place in SPEC")
        )
    found = [path for path, each in written.items() if snake_case(word) in each.spellings]
    if not found:
        others = (each for path, each in written.items() if path not in free)
        known = {word_text(each.spelling) for each in others if each.kind in NUMBERS}
        swept = f"; a sweep can be over {', '.join(sorted(known))}" if known else ""
        raise UsageError(f"nothing is called {word} here{swept or ', and nothing can be swept'}")
    times = "once" if len(found) == 1 else f"{len(found)} times"
    if not mark and len(found) > 1:
        other = "" if free else ", or _ in SPEC in the place of those that are swept"
        raise UsageError(
            f"{word} is written {times}; say which is swept: {word}#1 for the first{other}"
        )
    place = int(which) - 1 if mark and which.isdecimal() else 0 if not mark else -1
    if not 0 <= place < len(found):
        raise UsageError(f"{word} is written {times}, and {name} is none of them")
    return found[place]


def _check_holes(known: Sequence[Parameter], name: str) -> None:
    """Refuse free places of several parameters, or of another one than is named."""
    spelled = list(dict.fromkeys(each.spelling for each in known))
    if len(spelled) > 1:
        raise UsageError(
            f"{' and '.join(spelled)} are written _, and a sweep is over one of them: write"
            " numbers for the others"
        )
    if name and snake_case(name) not in known[0].spellings:
        raise UsageError(f"--sweep names {name}, and what is written _ is {spelled[0]}")


def _parameter(tree: Node, path: Path) -> Parameter:
    node = owner(tree, path)
    if isinstance(node, Repeated):
        from privcalc.calibration.holes import COUNTS

        return COUNTS
    return cast("Parameter", entry(node.name).parameter(str(path[-1])))


# Remarks that are of one answer, and not of all that stand in one table.
_OF_ONE = ("proof", "check", "gain", "candidates")


def _at(report: Report, name: str, value: float) -> Report:
    """Return an answer as a row of a sweep: numbers alone, and where they were asked below."""
    tables, remarks = report.tables, [each for each in report.remarks if each[0] not in _OF_ONE]
    asked = dict(report.query)
    if report.command != "calibrate":
        # Tables of methods, one for each value, are no table.
        shown = tuple(key for key, found in report.result.items() if not isinstance(found, str))
        numbers = tuple(key for key in shown if isinstance(report.result[key], Bound | End))
        tables = (numbers or shown[:1],)
        places = ", ".join(f"{key} {written(found)}" for key, found in asked.items())
        remarks += [("at", places)] if places else []
    check = report.check
    if check is not None:
        words = f"{check.sentence}; at {name}={written(value)}"
        check = replace(check, sentence=words)
    return replace(
        report,
        # What is swept may be called as a part of the question is.
        query={**asked, f"swept_{name}" if name in asked else name: value},
        at=(name, value),
        tables=tables,
        remarks=tuple(remarks),
        check=check,
    )
