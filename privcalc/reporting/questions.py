"""What is asked, as it was written: specifications, of which several are one sum, and numbers."""

from __future__ import annotations

import re
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, NoReturn, Protocol

from privcalc.bounds import Bound
from privcalc.errors import DomainError, SpecError, UsageError
from privcalc.exact import Written, exact
from privcalc.render.words import as_written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from privcalc.accounting.realize import Seen
    from privcalc.relation import Relation
    from privcalc.render.report import Report
    from privcalc.spec.read import Question


class Asking(Protocol):
    """What is asked of every specification of one invocation, such as `Composing`."""

    @property
    def relation(self) -> Relation | None:
        """The relation that is asked for, where one is."""
        ...

    def __call__(self, question: Question) -> Sequence[Report]:
        """Answer one question."""
        ...


def question(text: str, *, holes: bool = False, relation: Relation | None = None) -> Question:
    """Read one question, asked under a relation; without `holes` it has to be complete."""
    from privcalc.spec.read import read, reject_holes

    found = read(text, relation)
    if not holes:
        reject_holes(found)
    return found


def joined(
    specs: Sequence[str], *, holes: bool = False, relation: Relation | None = None
) -> Question:
    """Read the specifications as one question, their sum.

    Args:
        specs: texts or JSON; answers that bring different relations have no sum.
        holes: whether there may be holes.
        relation: the one that is asked for.
    """
    return summed([question(spec, holes=holes, relation=relation) for spec in specs])


def summed(questions: Sequence[Question]) -> Question:
    """Return the sum of questions; those that bring different relations have none."""
    if len(questions) == 1:
        return questions[0]
    from privcalc.spec.read import Question
    from privcalc.spec.tree import Composed

    trees = [each.tree for each in questions]
    events = [e for t in trees for e in (t.events if isinstance(t, Composed) else (t,))]
    tree = Composed(tuple(events))
    text = "+".join(each.text for each in questions)
    return Question(tree, common_relation(questions), text)


def summed_by_braces(specs: Sequence[str]) -> str:
    """Return a sentence on what is summed where a shell may have written the sum, or "".

    `gaussian:sigma=2@{100,200}` becomes two words that differ in one number, and whoever wrote it
    may want two answers.
    """
    for first, second in pairwise(specs):
        if _differ_in_a_number(first, second):
            total = " + ".join(_shown(each)[1:-1] for each in specs[:_MOST_SHOWN])
            more = f" + {len(specs) - _MOST_SHOWN} more" if len(specs) > _MOST_SHOWN else ""
            return (
                f"answered is the sum, {total}{more}; for an answer to each, pipe a line for each"
                " into -"
            )
    return ""


# Terms of a sum that is named.
_MOST_SHOWN = 4
_NUMBERS = re.compile(r"([0-9][0-9_.]*(?:[eE][+-]?[0-9]+)?)", re.ASCII)


def _differ_in_a_number(first: str, second: str) -> bool:
    """Say whether two texts are the same but for one number."""
    ours: list[str] = _NUMBERS.split(first)
    others: list[str] = _NUMBERS.split(second)
    # What stands at odd places are the numbers.
    if len(ours) != len(others) or ours[::2] != others[::2]:
        return False
    return sum(a != b for a, b in zip(ours, others, strict=True)) == 1


def common_relation(questions: Sequence[Question]) -> Relation | None:
    """Return the relation that questions bring; None where none of them is an answer."""
    relations = {each.relation for each in questions if each.relation is not None}
    if len(relations) > 1:
        names = " and ".join(sorted(each.text for each in relations))
        raise UsageError(
            f"the answers hold under different relations, {names}, and have no sum; give their"
            " texts, with --relation"
        )
    return relations.pop() if relations else None


def relation_in_force(asked: Relation | None, brought: Relation | None) -> Relation | None:
    """Return the relation to answer under; None for the default of the specification.

    Args:
        asked: by the command line.
        brought: by an answer, or an event of another library, that is asked about.

    Raises:
        UsageError: they differ. Sensitivities are stated under the relation in force, so that the
            same specification under another relation is another guarantee.
    """
    if asked is not None and brought is not None and asked is not brought:
        raise UsageError(
            f"what was read holds under {brought.text}, and --relation says {asked.text}; give its"
            " text to ask about another guarantee"
        )
    return asked or brought


def explained(reports: list[Report], seen: Seen, engine: str = "auto") -> list[Report]:
    """Return answers with why they are wide, or have no end, where any may be.

    Args:
        reports: the answers.
        seen: what `explaining` of `accounting/realize.py` has kept of the question.
        engine: which was asked.
    """
    if all(map(_is_narrow, reports)):
        return reports
    # Most answers need no reason, and what finds them is not loaded.
    from privcalc.reporting.reasons import explained as with_reasons

    return with_reasons(reports, seen, engine)


def _is_narrow(report: Report) -> bool:
    """Say whether nothing is to be explained for certain: the tolerance is that of all numbers."""
    columns = (each if isinstance(each, list) else (each,) for each in report.result.values())
    uppers = (cell.upper for column in columns for cell in column if isinstance(cell, Bound))
    whole = report.command in ("compose", "convert") and report.method.tolerance_met
    return whole and all(map(isfinite, uppers))


LARGEST_ORDER = 1e6
# Doubles that differ are farther apart than this, relatively: what is smaller asks for the same.
LEAST_TOLERANCE = 2.0**-54


def read_number(option: str, text: str) -> float:
    """Read a number, a ratio (`1/60000`) or a percentage (`0.1%`).

    Raises:
        UsageError: it is none of these, or no double can hold it.
    """
    from privcalc.spec.syntax import Number, Scanner

    refusal = f"{option} takes a number such as 1e-5, 1/60000 or 0.1%, got {_shown(text)}"
    if "," in text:
        _refuse(refusal, option, text)
    # Names, files and free parameters are values of a specification only.
    if not text.lstrip(" \t-.")[:1].isdecimal() or not text.isascii():
        _refuse(refusal, option, text)
    try:
        scanner = Scanner(text)
        number, rest = scanner.value(), scanner.next
    except SpecError as error:
        from privcalc.spec.hints import ANY_NUMBER

        if error.hint == ANY_NUMBER or "free parameter" in f"{error}":
            _refuse(refusal, option, text)
        hint = f" ({error.hint})" if error.hint else ""
        raise UsageError(f"{option}: {error.message}{hint}") from None
    if not isinstance(number, Number) or rest:
        _refuse(refusal, option, text)
    # A long decimal is no double that could be shown instead.
    if "/" in number.text or "%" in number.text or isinstance(number.value, Written):
        return as_written(number.value, "".join(number.text.split()))
    return number.value


def read_delta(option: str, text: str) -> float:
    """Read a delta: a probability."""
    value = read_number(option, text)
    if not 0 <= exact(value) <= 1:
        meant = ""
        if power := re.fullmatch(r"\s*([0-9.]+)[eE]\+?([1-9][0-9]?)\s*", text):
            meant = f"; with a minus it is {power[1]}e-{power[2]}"
        elif power := re.fullmatch(r"\s*-([1-9][0-9]?)\s*", text):
            meant = f"; 10^-{power[1]} is written 1e-{power[1]}"
        raise DomainError(f"{option} must be between 0 and 1, got {text.strip()}{meant}")
    return value


def read_epsilon(option: str, text: str) -> float:
    """Read an epsilon: finite, and not negative."""
    value = read_number(option, text)
    if value < 0.0:
        raise DomainError(f"{option} must be >= 0, got {text.strip()}")
    return value


def read_tolerance(option: str, text: str) -> float:
    """Read a relative tolerance."""
    value = read_number(option, text)
    if not 0 < exact(value) < 1:
        raise DomainError(f"{option} must be > 0 and < 1, got {text.strip()}")
    return max(value, LEAST_TOLERANCE)


def read_rate(option: str, text: str) -> float:
    """Read a probability."""
    return read_delta(option, text)


def read_order(option: str, text: str) -> float:
    """Read a Renyi order."""
    value = read_number(option, text)
    if not 1 < exact(value) <= LARGEST_ORDER:
        raise DomainError(
            f"{option} takes orders > 1 and at most {LARGEST_ORDER:.0f}, got {text.strip()}"
        )
    return value


def read_count(option: str, text: str) -> int:
    """Read a whole number of at least 1, in digits as counts of a specification are."""
    from privcalc.spec.syntax import Number, Scanner

    refusal = f"{option} takes a whole number such as 60_000, got {_shown(text)}"
    if "," in text:
        _refuse(refusal, option, text)
    try:
        scanner = Scanner(text)
        number, rest = scanner.count(), scanner.next
    except SpecError as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise UsageError(f"{option}: {error.message}{hint}") from None
    if not isinstance(number, Number) or number.whole is None or rest:
        raise UsageError(refusal)
    return number.whole


def _refuse(refusal: str, option: str, text: str) -> NoReturn:
    """Refuse what is no number, with what to write where that is known."""
    from privcalc.spec.hints import for_option

    raise UsageError(refusal, hint=for_option(option, text)) from None


def split(option: str, texts: Iterable[str]) -> list[str]:
    """Take apart the comma lists of a repeatable option, in the order they were written.

    Raises:
        UsageError: a place is empty, or a comma looks like that of a decimal number.
    """
    texts = tuple(texts)
    for text in texts:
        if "," in text:
            from privcalc.spec.resolve import decimal_comma

            if (place := decimal_comma(text)) is not None:
                from privcalc.spec.hints import DECIMAL_POINT

                raise UsageError(
                    f"{option}: a comma stands between the numbers of a list, not within one",
                    text=text,
                    span=(place, place + 1),
                    hint=DECIMAL_POINT,
                )
    pieces = [piece.strip() for text in texts for piece in text.split(",")]
    if not all(pieces):
        raise UsageError(f"{option} has an empty place in its comma list")
    return pieces


def read_all(
    read: Callable[[str, str], float], option: str, texts: Iterable[str] | None
) -> tuple[float, ...]:
    """Read the comma lists of a repeatable option; none where it was not given."""
    return tuple(read(option, text) for text in split(option, texts or ()))


def _shown(text: str, limit: int = 40) -> str:
    return repr(text if len(text) <= limit else text[:limit] + "...")
