"""The value of a hole that meets a target: the entry function of the command `calibrate`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.accounting.realize import default_relation
from privcalc.bounds import TOLERANCE, Verdict, round_down, round_up
from privcalc.calibration.holes import COUNTS, Unknown, unknown
from privcalc.calibration.search import CHEAP, Crossing, ValueSearch
from privcalc.calibration.target import GAP, Calibration, CalibrationTarget
from privcalc.errors import DomainError, NotCertifiedError
from privcalc.numerics.work import QUESTION, OutOfWorkError, allowance
from privcalc.record import record, replace
from privcalc.spec.registry import check_relation
from privcalc.spec.tree import without

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.bounds import Bound
    from privcalc.calibration.search import Probe
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node

__all__ = ["Calibration", "CalibrationTarget", "calibrate"]

# What a search may cost, several questions in all; of which so many are left for a value that is
# not sufficient.
WORK, FOR_LOWER = 2.0 * QUESTION, 1.0
# Brackets of this relative width are enough for what is asked only once.
ROUGH = 1e-3
# Counts are looked for from here: few uses may take longer.
USES = 100
# A value that is proved insufficient is looked for no nearer to the sufficient one than this.
NEAR_ENOUGH = 2e-9
# Digits of the limits in messages.
DIGITS = 6


def calibrate(
    tree: Node,
    target: CalibrationTarget,
    *,
    relation: Relation | None = None,
    tolerance: float = TOLERANCE,
    ratio: Sequence[float] = (),
    start: float | None = None,
    work: float = WORK,
) -> Calibration:
    """Find the value of a hole that meets a target, and one next to it that does not.

    Every value is judged by the call that `compose` or `convert` makes, so that asking them about
    the result gives the same brackets: the upper end at the sufficient value is within the budget,
    the lower end at the insufficient one is above it. That the cost moves one way in between is
    declared by the parameter.

    Args:
        tree: the specification, with a hole.
        target: what has to be met.
        relation: the neighbouring relation; None for the default of the specification.
        tolerance: of every bracket, relative, in (0, 1).
        ratio: where there are several holes, the ratio of their values, all > 0.
        start: a value to begin with, where something near is known.
        work: how much may be spent, in units of `numerics/work.py`; then it ends where it stands.

    Raises:
        DomainError: no value meets the target, or every one does; or the target makes no sense.
        NotCertifiedError: no value is proved to meet it.
        UnsupportedError: the relation, a part of the tree, or the place of the hole.
        UsageError: there is no hole, or there are several that do not go together.
    """
    target.check()
    if not 0.0 < tolerance < 1.0:
        raise DomainError(f"tolerance must be in (0, 1), got {tolerance!r}")
    wanted = unknown(tree, ratio)
    relation = relation or default_relation(tree)
    check_relation(tree, relation)
    with allowance(work):
        try:
            return _Calibrator(wanted, target, relation, tolerance, min(work, QUESTION)).answer(
                start
            )
        except OutOfWorkError as error:
            # What that says of one question is no help here.
            raise OutOfWorkError(
                f"one answer takes so long that there is no time to search for {wanted.name}; ask"
                f" compose at some values: --sweep {wanted.name}=LOW..HIGH/5"
            ) from error


@record
class _Calibrator:
    """One question."""

    unknown: Unknown
    target: CalibrationTarget
    relation: Relation
    tolerance: float
    work: float

    def answer(self, start: float | None) -> Calibration:
        """Search for the value whose upper end is the budget; then for one that is refuted.

        Every value is asked with the question of the check of the answer, and all of its work.
        """
        self._check_rest()
        search = ValueSearch(self.unknown, self.target, self.relation, self.tolerance, self.work)
        search.start(self._first(start))
        if all(
            probe.bound is None or math.isinf(probe.bound.upper) for probe in search.probes.values()
        ):
            self._refuse_limit()
        Crossing(search, "upper", spared=FOR_LOWER).solve()
        good, bad = self._both(search, *search.nearest())
        below = self._insufficient(search, good)
        # What decides a budget may be a wide bracket; those that are shown are narrow.
        for shown in (good, below):
            if shown is not None and search.rest > CHEAP:
                search.narrow(shown)
        good = search.probes[good.position]
        below = below and search.probes.get(below.position, below)
        return self._calibration(good, bad, below, len(search.probes))

    def _first(self, start: float | None) -> float:
        """Return an x to begin with: of what is near, of 1, or of some uses."""
        wanted = self.unknown
        if start is not None:
            return wanted.sign * math.log(start)
        ends = [wanted.grid.value(end) for end in (wanted.lowest, wanted.highest)]
        low, high = sorted(wanted.sign * math.log(max(end, 1e-300)) for end in ends)
        some = math.log(USES) if wanted.holes[0].parameter is COUNTS else 0.0
        return min(max(some, low), high)

    def _insufficient(self, search: ValueSearch, good: Probe) -> Probe | None:
        """Find a value that misses the target for certain, where the next one is undecided."""
        if good.bound is None or good.bound.lower is None:
            return None
        near = 0.0 if self.unknown.whole else NEAR_ENOUGH
        return Crossing(search, "lower", near).solve()[1]

    def _both(
        self, search: ValueSearch, good: Probe | None, bad: Probe | None
    ) -> tuple[Probe, Probe]:
        """Refuse a target that no value meets, or every one.

        Raises:
            DomainError: so it is proved.
            NotCertifiedError: so it seems.
        """
        wanted, target = self.unknown, self.target
        if good is not None and bad is not None:
            return good, bad
        name = wanted.called(target.quantity)
        if good is not None:
            edge = max(wanted.sign * wanted.lowest, wanted.sign * wanted.highest)
            found = "every" if good.position == edge else "as far as it can be asked about, every"
            raise DomainError(
                f"{found} {name} meets {target.words}: {wanted.words(good.value)} has"
                f" {target.quantity} <= {_up(good.bound)}"
            )
        if bad is None:
            raise AssertionError("a search starts with a probe")
        self._refuse_limit()
        known = [p for p in search.probes.values() if p.bound is not None]
        if not known:
            raise bad.error or AssertionError("a probe without bracket has an error")
        last = min(known, key=lambda p: p.position)
        # Other numbers may be tried by hand.
        where = " above 0" if any(hole.minimum < 0.0 for hole in wanted.holes) else ""
        if last.excess["lower"] > 0.0:
            raise self._impossible(f"at {wanted.words(last.value)}", last.bound, where)
        raise self._unproved(last.bound, f"at {wanted.words(last.value)}", where)

    def _refuse_limit(self) -> None:
        """Refuse a target that is missed at the cheap end of the range, or not bounded even there.

        Raises:
            DomainError: it is missed.
            NotCertifiedError: there is no finite upper end, wherever the noise is.
        """
        wanted, end = self.unknown, self.unknown.cheap_end
        bound = None if end is None else self._asked(wanted.tree_at(end))
        if end is None or bound is None:
            return
        if bound.verdict(self.target.budget) is Verdict.EXCEEDED:
            raise self._impossible(f"at {wanted.words(end)}", bound)
        if math.isinf(bound.upper):
            raise self._unproved(bound, f"at {wanted.words(end)}")

    def _check_rest(self) -> None:
        """Refuse a target that the rest of the composition misses, so that every value does.

        Raises:
            DomainError: that alone misses the target.
            NotCertifiedError: it is not proved to meet it, and no noise helps.
        """
        wanted, target = self.unknown, self.target
        rest = without(wanted.tree, wanted.holes[0].path) if len(wanted.holes) == 1 else None
        bound = None if rest is None else self._asked(rest)
        if rest is None or bound is None:
            return
        verdict = bound.verdict(target.budget)
        if verdict is Verdict.EXCEEDED:
            raise self._impossible("of what it is composed with", bound)
        narrow = self._asked(rest, self.tolerance) if verdict is Verdict.UNDECIDED else None
        if narrow and math.isfinite(narrow.upper) and narrow.verdict(target.budget) is verdict:
            raise self._unproved(narrow, "of what it is composed with")

    def _asked(self, tree: Node, tolerance: float = ROUGH) -> Bound | None:
        """Bracket the quantity of a specification, where that is possible."""
        try:
            return self.target.ask(tree, self.relation, max(tolerance, self.tolerance))[0]
        except NotCertifiedError:
            return None

    def _unproved(self, bound: Bound | None, where: str, among: str = "") -> NotCertifiedError:
        target = self.target
        return NotCertifiedError(
            f"no {self.unknown.called(target.quantity)}{among} is proved to meet {target.words}:"
            f" the best that is proved is {target.quantity} <= {_up(bound)} {where}"
        )

    def _impossible(self, where: str, bound: Bound | None, among: str = "") -> DomainError:
        target = self.target
        lower = 0.0 if bound is None or bound.lower is None else bound.lower
        limit = "is infinite" if math.isinf(lower) else f"is at least {round_down(lower, DIGITS)}"
        name = self.unknown.called(target.quantity)
        message = f"no {name}{among} meets {target.words}: {where} {target.quantity} {limit}"
        if math.isinf(lower) and target.at == 0.0:
            message += "; ask for delta > 0"
        if target.quantity == "mu":
            message += "; mu holds at every delta, however small: for one, --epsilon with --delta"
        return DomainError(message)

    def _calibration(self, good: Probe, bad: Probe, below: Probe | None, asked: int) -> Calibration:
        wanted = self.unknown
        if good.bound is None or good.method is None:
            raise AssertionError("a sufficient value has a bracket")
        notes = [*good.method.notes, *wanted.notes]
        met = below is not None and (
            abs(below.position - good.position) == 1
            or (not wanted.whole and _gap(good.value, below.value) <= max(GAP, self.tolerance))
        )
        if below is None:
            notes.append(
                f"no {wanted.name} is proved to miss the target; {wanted.words(bad.value)} is not"
                " proved to meet it"
            )
        elif not met:
            notes.append(
                f"between {wanted.words(good.value)} and {wanted.words(below.value)} nothing is"
                " proved: the brackets are too wide"
            )
        return Calibration(
            target=self.target,
            parameter=wanted.name,
            paths=tuple(hole.path for hole in wanted.holes),
            sufficient=good.value,
            insufficient=None if below is None else below.value,
            unproved=bad.value,
            values=wanted.values(good.value),
            insufficient_values=() if below is None else wanted.values(below.value),
            tree=wanted.tree_at(good.value),
            insufficient_tree=None if below is None else wanted.tree_at(below.value),
            bound=good.bound,
            insufficient_bound=None if below is None else below.bound,
            method=replace(good.method, tolerance_met=met, notes=tuple(notes)),
            relation=self.relation,
            asked=asked,
        )


def _gap(first: float, second: float) -> float:
    return abs(first - second) / max(abs(first), abs(second))


def _up(bound: Bound | None) -> str:
    return "Infinity" if bound is None else round_up(bound.upper, DIGITS)
