"""Sweeps: one question for each of many values of one number of a specification.

Which number is swept is said by its name, where it is written once, or by writing `_` in its place.
Every value is put into the text and read as if it had been typed there: what is refused, and what a
number stands for, is the same.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from privcalc.bounds import Bound
from privcalc.commands.questions import question
from privcalc.commands.values import read_count, read_number, split
from privcalc.errors import DomainError, UsageError
from privcalc.exact import decimal_text, exact
from privcalc.record import record, replace
from privcalc.render.words import number, written
from privcalc.spec.entry import snake_case, word_text
from privcalc.spec.parse import parse
from privcalc.spec.registry import entry, to_text
from privcalc.spec.tree import COUNT, Hole, Repeated, holes, names, owner, value_at
from privcalc.spec.tree import written as paths_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from privcalc.relation import Relation
    from privcalc.render.report import Report
    from privcalc.spec.entry import Parameter
    from privcalc.spec.read import Question
    from privcalc.spec.tree import Node, Path

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
        listed: the values as they are written; of a range its first and its last.
        steps: how many values a range has, at least 2; 0 for a list.
        logarithmic: whether it is their ratios that are the same, and not their differences.
    """

    name: str
    listed: tuple[str, ...]
    steps: int = 0
    logarithmic: bool = False

    def values(self, *, whole: bool) -> tuple[str, ...]:
        """Return the values as they are written, each once, in their order."""
        found: dict[Fraction, str] = {}
        for text in self._range(whole=whole) if self.steps else self.listed:
            found.setdefault(exact(read_number("--sweep", text)), text)
        return tuple(found.values())

    def _range(self, *, whole: bool) -> Iterator[str]:
        """Yield the values of a range; whole numbers that coincide more than once."""
        low, high = (exact(read_number("--sweep", each)) for each in self.listed)
        for step in range(self.steps):
            share = Fraction(step, self.steps - 1)
            found = low + share * (high - low)
            if share in (0, 1) and not whole:
                yield self.listed[int(share)]
                continue
            if self.logarithmic and share not in (0, 1):
                found = Fraction(float(low) * float(high / low) ** float(share))
            yield str(round(found)) if whole else _short(found)


def read_sweep(text: str) -> Sweep:
    """Read NAME=LOW..HIGH/N, or a list of numbers; NAME= may be left out.

        >>> read_sweep("sigma=0.8..2/4").values(whole=False)
        ('0.8', '1.2', '1.6', '2')
        >>> read_sweep("q=0.001..10%/3log").values(whole=False)
        ('0.001', '0.01', '10%')
        >>> read_sweep("500,1000,2000").values(whole=True)
        ('500', '1000', '2000')

    Raises:
        UsageError: it is none.
        DomainError: a range goes nowhere, or there are too many values.
    """
    name, equals, rest = text.rpartition("=")
    if (equals and not name.strip()) or not re.match(r"\s*[-.\d]", rest):
        raise UsageError(f"{TAKES}, got {text!r}")
    if ".." in rest:
        return Sweep(name.strip(), *_dotted(rest))
    listed = tuple(split("--sweep", [rest]))
    if len(listed) > MOST:
        raise DomainError(f"--sweep takes at most {MOST} values, got {len(listed)}")
    for each in listed:
        read_number("--sweep", each)
    return Sweep(name.strip(), listed)


def _dotted(piece: str) -> tuple[tuple[str, str], int, bool]:
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
    return (low.strip(), high.strip()), count, logarithmic


def _short(value: Fraction) -> str:
    """Write a value between the ends: with all its digits where they are few."""
    text = decimal_text(value)
    return text if text and len(text) <= SHORT else number(float(f"{float(value):.{DIGITS}g}"))


@record
class Swept:
    """A specification with places for one number, and the values that are put there.

    Attributes:
        text: the specification.
        spans: the places in it, from left to right.
        relation: the one that it brings, if it is an answer.
        asked: the one that is asked for.
        free: whether something else in it is free, and stays so.
        name: how the number is spelled.
        whole: whether it is a whole number.
        values: what is put there, as written.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    relation: Relation | None
    asked: Relation | None
    free: bool
    name: str
    whole: bool
    values: tuple[str, ...]

    def question(self, value: str) -> Question:
        """Return the question with a value in its place.

        Raises:
            SpecError: it cannot be there.
        """
        text = self.text
        for start, stop in reversed(self.spans):
            text = text[:start] + value + text[stop:]
        return replace(question(text, holes=self.free, relation=self.asked), relation=self.relation)

    def value(self, text: str) -> float:
        """Return the number that a text is."""
        return int(text) if self.whole and text.isdecimal() else read_number("--sweep", text)

    def reports(self, text: str, reports: Sequence[Report]) -> list[Report]:
        """Return the answers at a value, as those of a row in the table of the sweep."""
        return [_at(each, self.name, self.value(text)) for each in reports]

    def words(self, text: str) -> str:
        """Name a value, for messages."""
        return f"{self.name}={written(self.value(text))}"


def swept(
    located: Question, sweep: Sweep, *, asked: Relation | None = None, free: bool = False
) -> Swept:
    """Find what a sweep is over.

    Args:
        located: the specification, with or without places written `_`.
        sweep: what to put there.
        asked: the relation that is asked for.
        free: whether what is written `_` is wanted, and something else is swept.

    Raises:
        UsageError: it is not said, or said twice, what is swept; or that is no number.
    """
    if not set(_paths(located.tree)) <= located.spans.keys():
        # Data, files and sums have no places of their own; those of their text are the same.
        parsed = parse(to_text(located.tree))
        located = replace(located, tree=parsed.tree, text=parsed.text, spans=parsed.spans)
    paths, parameter = _places(located, sweep.name, free=free)
    whole = parameter.kind == "integer"
    spans = tuple(located.spans[path] for path in paths)
    return Swept(
        located.text,
        spans,
        located.relation,
        asked,
        free,
        parameter.spelling,
        whole,
        sweep.values(whole=whole),
    )


def _places(located: Question, name: str, *, free: bool) -> tuple[list[Path], Parameter]:
    """Return the paths that a sweep names, from left to right, and what is written there."""
    tree = located.tree
    open_places = () if free else holes(tree)
    if open_places:
        return _in_order(located, open_places), _of_holes(tree, open_places, name)
    word, mark, which = name.partition("#")
    if not name:
        raise UsageError(
            "--sweep needs the name of what is swept, as in sigma=0.8..2/13"
            + ("" if free else ", or _ in its place in SPEC")
        )
    found = _in_order(located, _named(tree, word))
    if not found:
        _refuse_unknown(tree, word)
    chosen = found
    if mark:
        chosen = found[int(which) - 1 :][:1] if which.isdecimal() and int(which) else []
        if not chosen:
            raise UsageError(f"{word} is written {_times(found)}, and {name} is none of them")
    if len(chosen) > 1:
        other = "" if free else ", or _ in SPEC in the place of those that are swept"
        raise UsageError(
            f"{word} is written {_times(found)}; say which is swept: {word}#1 for the first{other}"
        )
    path = chosen[0]
    parameter = _parameter(tree, path)
    if isinstance(value_at(tree, path), Hole):
        raise UsageError(f"{word} is the free parameter; sweep another parameter")
    if parameter.kind not in ("number", "integer"):
        raise UsageError(f"{word} takes {parameter.takes}; a sweep needs a number")
    return [path], parameter


def _paths(tree: Node) -> Iterator[Path]:
    """Yield the paths of all that is written."""
    for long_name in names(tree):
        yield from paths_of(tree, long_name)


def _in_order(located: Question, paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: located.spans[path])


def _times(found: Sequence[Path]) -> str:
    return "once" if len(found) == 1 else f"{len(found)} times"


def _of_holes(tree: Node, open_places: tuple[Path, ...], name: str) -> Parameter:
    """Return the parameter that all free places are of."""
    known = [_parameter(tree, path) for path in open_places]
    spelled = list(dict.fromkeys(each.spelling for each in known))
    if len(spelled) > 1:
        raise UsageError(
            f"{' and '.join(spelled)} are written _, and a sweep is over one of them: write"
            " numbers for the others"
        )
    if name and snake_case(name) not in known[0].spellings:
        raise UsageError(f"--sweep names {name}, and what is written _ is {spelled[0]}")
    return known[0]


def _named(tree: Node, word: str) -> list[Path]:
    """Return the places of what has a name."""
    wanted = snake_case(word)
    return [path for path in _paths(tree) if wanted in _parameter(tree, path).spellings]


def _refuse_unknown(tree: Node, word: str) -> None:
    """Say what a sweep can be over."""
    known = {
        COUNT if path[-1] == COUNT else word_text(_parameter(tree, path).spelling)
        for path in _paths(tree)
        if _parameter(tree, path).kind in ("number", "integer")
        and not isinstance(value_at(tree, path), Hole)
    }
    if not known:
        but = " but the free parameter" if holes(tree) else ""
        raise UsageError(
            f"nothing is called {word} here, and nothing{but} could be swept: a sweep is over a"
            " number of the specification"
        )
    listed = ", ".join(sorted(known))
    raise UsageError(f"nothing is called {word} here; a sweep can be over {listed}")


def _parameter(tree: Node, path: Path) -> Parameter:
    node = owner(tree, path)
    if isinstance(node, Repeated):
        from privcalc.calibration.holes import COUNTS

        return COUNTS
    found = entry(node.name).parameter(str(path[-1]))
    if found is None:
        raise AssertionError("the tree was checked")
    return found


# Remarks that are of one answer, and not of all that stand in one table.
_OF_ONE = ("proof", "check", "gain", "candidates")


def _at(report: Report, name: str, value: float) -> Report:
    """Return an answer as a row of a sweep: numbers alone, and where they were asked below."""
    tables, remarks = report.tables, [each for each in report.remarks if each[0] not in _OF_ONE]
    asked = dict(report.query)
    if report.command != "calibrate":
        # Tables of methods, one for each value, are no table.
        shown = tuple(key for key, found in report.result.items() if not isinstance(found, str))
        numbers = tuple(key for key in shown if isinstance(report.result[key], Bound))
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
