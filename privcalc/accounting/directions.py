"""All directions of a relation at once: at each point the one that costs more, once for everybody.

Each direction is composed by itself. Where one has an upper end only, so has the whole, unless the
other costs more for certain; where one cannot be answered, the whole cannot, unless the other
exceeds a budget by itself.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING, Literal

import numpy as np

from privcalc.bounds import Bound, Verdict
from privcalc.engine.certified import DELTA_FLOOR, EPSILON_FLOOR
from privcalc.engine.composition import limit_delta
from privcalc.engine.planner import StoppingRule
from privcalc.engine.terms import Realized, reverse_of
from privcalc.errors import NotCertifiedError
from privcalc.exact import Enclosed, exact
from privcalc.numerics.rounding import UNIT, non_negative
from privcalc.numerics.work import share
from privcalc.record import field, record, replace
from privcalc.relation import Adjacency

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from privcalc.bounds import Proof
    from privcalc.engine.certified import Certified, Evidence
    from privcalc.engine.composition import Composition
    from privcalc.numerics.rounding import Array
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node

    # A line of a table, and what may stand in an answer under one name.
    Row = Mapping[str, float | Bound]
    Value = (
        float | Bound | tuple[float, ...] | tuple[Bound, ...] | tuple[Row, ...] | dict[str, float]
    )

Quantity = Literal["epsilon", "delta", "profile"]

TWO_PAIRS = (
    "the two ends are those of two privacy loss distributions, one above and one below: no single"
    " one is known to be the worst"
)
UPPER_ONLY = "only an upper bound is known for the privacy loss of a part, so there is no lower end"
FLOORS = {"epsilon": EPSILON_FLOOR, "delta": DELTA_FLOOR}
# Relative width from which single mechanisms are asked where adaptive ones were.
WIDE = 1e-3
# Where this is one question of many, what takes long is asked for no fewer digits than this.
FEW_DIGITS = 5e-3
# Relative width of an epsilon that is only to say how far a profile goes.
ROUGH = 0.01


@record
class Method:
    """How a number was obtained.

    Attributes:
        proof: what kind of proof, and by which engine: closed-form, contour, fft, rdp or afa.
        tolerance_met: whether the bracket is as narrow as was asked.
        terms: the error budget, each relative to delta (aliasing, truncation, dropped, rounding),
            the largest over the evaluations that the bracket rests on.
        notes: sentences on what limited the bracket, for standard error.
        order: the Renyi order that proved the upper end, if one did.
        conversion: how it was converted: classic, balle, optimal or trade_off; "" for none.
        theorems: what proves each column of a curve, or why it is left out.
        kind: of a conversion, lossless or lossy.
        test: of an audit: its name, and the number of cells that it looked at.
    """

    proof: Proof
    tolerance_met: bool
    terms: dict[str, float] = field(factory=dict)
    notes: tuple[str, ...] = ()
    order: float | None = None
    conversion: str = ""
    theorems: Mapping[str, str] = field(factory=dict)
    kind: str = ""
    test: Mapping[str, str | int] = field(factory=dict)

    @property
    def engine(self) -> str:
        """The name of the engine."""
        return self.proof.engine


@record
class Direction:
    """The answer for one adjacency (add, remove, replace, or both when they are the same).

    Attributes:
        adjacency: its name.
        bound: the bracket, or None.
        estimate: of the engine afa.
        method: how it was obtained.
        evidence: the lines that proved a bracket of the composition above, for certificates.
    """

    adjacency: str
    bound: Bound | None
    estimate: float | None
    method: Method
    evidence: Evidence | None = None


@record
class Answer:
    """One answer: the bracket of epsilon at a delta, of delta at an epsilon, or a profile.

    Attributes:
        quantity: what was asked.
        query: {"delta": d}, {"epsilon": e}, or {} for a profile.
        bound: the bracket; None for a profile and for an estimate.
        estimate: the number of the published quadrature (engine afa), which has no certificate.
        profile: pairs (epsilon, bracket of delta), increasing in epsilon; empty but for a profile.
        directions: the same for each adjacency that was worked out; empty for a profile.
        method: how the number was obtained.
    """

    quantity: Quantity
    query: dict[str, float]
    bound: Bound | None
    estimate: float | None
    profile: tuple[tuple[float, Bound], ...]
    directions: tuple[Direction, ...]
    method: Method

    @property
    def proved(self) -> Bound:
        """Return the bracket, where the engine that was asked proves one."""
        if self.bound is None:
            raise AssertionError("only proved engines are asked")
        return self.bound


@record
class ComposedAnswers:
    """All answers to one question, and the assumptions they share.

    Attributes:
        tree: the specification.
        relation: the neighbouring relation in force.
        answers: in the order of the deltas, then of the epsilons.
    """

    tree: Node
    relation: Relation
    answers: tuple[Answer, ...]


class Directions:
    """The compositions of all directions, and what is asked of them.

    Attributes:
        parts: the composition of each direction by its name, as `realize` returns them.
        tolerance: target relative width.
        engine: auto, or the only one to ask.
    """

    def __init__(
        self,
        parts: Mapping[str, Realized],
        tolerance: float,
        engine: str = "auto",
        *,
        quick: bool = False,
    ) -> None:
        """Take the directions; `quick` where this is one question of many."""
        self.parts = parts
        self.tolerance = tolerance
        self.engine = engine
        self._quick = quick

    @property
    def pairs(self) -> list[tuple[Realized, Realized]]:
        """The directions in which P has the record, each with that in which Q has.

        One, twice the same where it stands for both; or one for each part that a record may be in.
        """
        return [
            (part, self.parts[reverse_of(name)])
            for name, part in self.parts.items()
            if not name.startswith(Adjacency.ADD.value)
        ]

    @property
    def known(self) -> bool:
        """Whether one composition proves both ends of each direction."""
        return all(part.lower is part.upper for part in self.parts.values())

    @property
    def bracketed(self) -> bool:
        """Whether there are lower ends."""
        return all(part.lower is not None for part in self.parts.values())

    @property
    def infinity_mass(self) -> float:
        """Return an upper bound on the probability of an infinite loss."""
        return self.largest(lambda part: part.upper.infinity_mass().upper)

    def largest(self, number: Callable[[Realized], float]) -> float:
        """Return the largest of a number of each direction."""
        return max(number(part) for part in self.parts.values())

    def reach(self, delta: float, failing: float = math.inf) -> float:
        """Return about the epsilon at a delta beyond the mass at infinity; else what is given."""
        mass = self.infinity_mass
        target = min(mass + delta, 0.5 + 0.5 * mass)
        above = {name: Realized(part.upper, None) for name, part in self.parts.items()}
        hasty = Directions(above, ROUGH, self.engine, quick=True)
        try:
            return hasty.answer("epsilon", target).proved.upper
        except NotCertifiedError:
            return failing

    def answer(self, quantity: Quantity, at: float, budget: float | None = None) -> Answer:
        """Return the bracket of epsilon at a delta, or of delta at an epsilon.

        Where a budget is exceeded for certain, a direction without bracket leaves the upper end
        open, and is no error.
        """
        found, failed = self._found(quantity, at, budget)
        bounds = [each.bound for each in found if each.bound is not None]
        if failed is not None:
            if not _exceeded(bounds, math.nextafter(math.inf, 0.0) if budget is None else budget):
                raise failed
            bounds.append(Bound(math.inf if quantity == "epsilon" else 1.0))
        bound = reduce(Bound.maximum, bounds)
        decisive = max(
            found, key=lambda each: -math.inf if each.bound is None else each.bound.upper
        )
        method = Method(
            decisive.method.proof,
            bound.within_tolerance(self.tolerance, FLOORS[quantity]),
            decisive.method.terms,
            tuple(
                note
                for each in found
                for note in each.method.notes
                if note != UPPER_ONLY or bound.lower is None
            ),
            decisive.method.order,
            decisive.method.conversion,
        )
        query = {"delta" if quantity == "epsilon" else "epsilon": at}
        return Answer(quantity, query, bound, None, (), tuple(found), method)

    def profile(self, epsilons: Sequence[float]) -> tuple[list[Bound], Method]:
        """Bracket delta at each epsilon."""
        columns: list[list[Bound]] = []
        methods: list[Certified] = []
        for number, part in enumerate(self.parts.values()):
            with share(len(self.parts) - number):
                found = self._profile(part, epsilons)
            columns.append([each.bound for each in found])
            methods.append(max(found, key=lambda each: each.bound.width))
        bounds = [
            self._limit(epsilon) or bound
            for epsilon, bound in zip(epsilons, _at_written(epsilons, worse(columns)), strict=True)
        ]
        met = all(bound.within_tolerance(self.tolerance, DELTA_FLOOR) for bound in bounds)
        notes = dict.fromkeys(note for each in methods for note in each.notes)
        return bounds, Method(methods[0].proof, met, notes=tuple(notes))

    def _profile(self, part: Realized, epsilons: Sequence[float]) -> list[Certified]:
        """Bracket delta of one direction at each epsilon."""
        from privcalc.accounting.lower_ends import lower_profile
        from privcalc.engine.profile import profile_at

        def above(composition: Composition, tolerance: float) -> list[Certified]:
            return profile_at(composition, epsilons, tolerance, engine=self.engine)

        def below(each: Realized, tolerance: float, _: Sequence[Certified]) -> list[Bound]:
            lowers = lower_profile(each, epsilons, tolerance, self.engine)
            return [Bound(math.inf, low) for low in lowers]

        return self._ends(part, above, below)

    def renyi(self, orders: Sequence[float]) -> list[Bound]:
        """Bracket the Renyi divergence at each order."""
        return worse(divergences(part, orders) for part in self.parts.values())

    def _found(
        self, quantity: Quantity, at: float, budget: float | None
    ) -> tuple[list[Direction], NotCertifiedError | None]:
        """Answer each direction; where one is infinite for certain, others need no answer.

        Where one exceeds the budget, a rough answer of the others will do, as it will where they
        cost less than another does for certain.
        """
        found: list[Direction] = []
        failed = None
        for number, (name, part) in enumerate(self.parts.items()):
            bounds = [each.bound for each in found if each.bound is not None]
            lowers = [bound.lower for bound in bounds if bound.lower is not None]
            first = budget is not None and _exceeded(bounds, budget)
            stop = StoppingRule(budget, max(lowers, default=None), first, self._quick)
            try:
                with share(len(self.parts) - number):
                    result = self._certified(quantity, part, at, stop)
            except NotCertifiedError as error:
                failed = failed or error
                continue
            met = result.bound.within_tolerance(self.tolerance, FLOORS[quantity])
            method = Method(
                result.proof, met, result.terms, result.notes, result.order, result.conversion
            )
            found.append(Direction(name, result.bound, None, method, result.evidence))
        return found, failed

    def _certified(
        self, quantity: Quantity, part: Realized, at: float, stop: StoppingRule
    ) -> Certified:
        """Bracket a number of one direction."""
        from privcalc.engine.planner import certified_delta, certified_epsilon

        solve = certified_epsilon if quantity == "epsilon" else certified_delta
        wanted = Enclosed.of(at)

        def above(composition: Composition, tolerance: float) -> list[Certified]:
            return [solve(composition, wanted, tolerance, engine=self.engine, stop=stop)]

        def below(each: Realized, tolerance: float, found: Sequence[Certified]) -> list[Bound]:
            from privcalc.accounting.lower_ends import lower_end

            near = replace(stop, first=stop.enough(found[0].bound.upper))
            lower = lower_end(
                each, quantity, wanted, tolerance=tolerance, engine=self.engine, stop=near
            )
            return [lower or Bound(math.inf)]

        (found,) = self._ends(part, above, below, stop)
        part, note = part.for_values, None
        if part.lower is None:
            note = UPPER_ONLY
        elif part.lower is not part.upper:
            wish = max(self.tolerance, part.accuracy)
            note = None if found.bound.within_tolerance(wish, FLOORS[quantity]) else TWO_PAIRS
        return found if note is None else replace(found, notes=(*found.notes, note))

    def _ends(
        self,
        part: Realized,
        above: Callable[[Composition, float], list[Certified]],
        below: Callable[[Realized, float, Sequence[Certified]], list[Bound]],
        stop: StoppingRule | None = None,
    ) -> list[Certified]:
        """Prove upper ends with one composition and lower ends with the other, if there is.

        Args:
            part: one direction.
            above: answers for a composition, at a relative width.
            below: answers from below, given what is known from above.
            stop: when a wider bracket will do; None for a profile.
        """
        part, single = part.for_values, part
        upper, wish = part.upper, max(self.tolerance, part.accuracy)
        apart = part.lower is not upper
        # Where another composition proves the lower ends, half of the work is for that.
        with share(2 if apart and part.lower is not None else 1):
            found = self._best(upper, above, wish, stop)
        if not apart:
            return found
        lowers = below(part, wish, found)
        if part is not single and any(map(_wide, found, lowers)):
            # Mechanisms that are chosen without a view of others may prove more.
            lowers = worse([lowers, below(single, wish, found)])
        return [
            # The proof of an infinite epsilon is one of the bound, not of the mechanism.
            # What engines said is of the upper end alone: another composition has the lower.
            replace(
                each,
                bound=Bound.joined(each.bound, lower),
                notes=tuple(f"upper PLD, {note}" if ": " in note else note for note in each.notes),
            )
            for each, lower in zip(found, lowers, strict=True)
        ]

    def _best(
        self,
        upper: Composition,
        above: Callable[[Composition, float], list[Certified]],
        wish: float,
        stop: StoppingRule | None,
    ) -> list[Certified]:
        """Return the least upper ends of compositions of which each is above the truth.

        In one all uses of some laws are together. It takes long, and is nearly always the nearest:
        others are asked for few digits where there is one. Another truncates nothing.
        """
        quick = stop is not None and stop.quick
        few = max(wish, FEW_DIGITS)
        together = (
            upper.uses_together(rough=quick or wish >= FEW_DIGITS)
            if self.engine == "auto"
            else None
        )
        found = above(upper, wish if together is None else few)
        for made, tolerance in (
            (upper.alternative_dominating_pair(), wish),
            (together, few if quick else wish),
        ):
            if made is None or (stop is not None and stop.decided(Bound(found[0].bound.upper))):
                continue
            with suppress(NotCertifiedError):
                pairs = zip(found, above(made, tolerance), strict=True)
                # Certificates are about the first.
                found = [
                    replace(min(each, key=_upper), evidence=each[0].evidence) for each in pairs
                ]
        return found

    def _limit(self, epsilon: float) -> Bound | None:
        """Return the mass at infinity, where no finite loss is larger than what is written."""
        found = []
        for part in self.parts.values():
            limit = limit_delta(part.upper, Enclosed.of(epsilon), part.upper.infinity_mass())
            if limit is None:
                return None
            lower = None if part.lower is None else part.lower.infinity_mass()
            same = part.lower is part.upper
            found.append(limit.bound if same else Bound.joined(limit.bound, lower))
        return reduce(Bound.maximum, found)


def _upper(found: Certified) -> float:
    return found.bound.upper


def _wide(found: Certified, below: Bound) -> bool:
    """Say whether a lower end that is chosen in another way may be better than this one."""
    return below.lower is None or not below.lower >= (1.0 - WIDE) * found.bound.upper


def worse(columns: Iterable[Sequence[Bound]]) -> list[Bound]:
    """Return the larger of the brackets of several directions, point by point."""
    return [reduce(Bound.maximum, each) for each in zip(*columns, strict=True)]


def divergences(part: Realized, orders: Sequence[float]) -> list[Bound]:
    """Bracket the Renyi divergence of one direction at each order as it was written.

    The divergence does not decrease with the order: a double above is taken for the upper end, and
    one below for the lower. A double less 1 is exact.
    """
    part = part.for_divergences
    below, above = order_doubles(orders)
    c = above - 1.0
    if part.upper.infinite_divergence():
        known = part.lower is part.upper
        return [Bound(math.inf, math.inf if known else None)] * len(c)
    with np.errstate(all="ignore"):
        high = part.upper.renyi_curve().stated(c, [exact(order) for order in orders])
        # A quotient that underflows is rounded outward, too; 0 itself is exact.
        high = np.where(high > 0.0, np.nextafter(high / c * (1.0 + 4.0 * UNIT), np.inf), high)
        # Below the first order that is a double, 0 is left.
        c = np.maximum(below - 1.0, np.nextafter(1.0, 2.0) - 1.0)
        low = part.renyi_lower(c)
        if low is None:
            return [Bound(non_negative(float(each))) for each in high]
        low = np.where(below > 1.0, np.maximum(low / c * (1.0 - 4.0 * UNIT), 0.0), 0.0)
    return [Bound(float(b), float(a)) for a, b in zip(low, high, strict=True)]


def order_doubles(orders: Sequence[float]) -> tuple[Array, Array]:
    """Return the greatest doubles that are not above written orders, and the least not below."""
    ends = np.array([Enclosed.of(order).doubles() for order in orders], dtype=float)
    return ends[:, 0], ends[:, 1]


def _at_written(epsilons: Sequence[float], bounds: Sequence[Bound]) -> list[Bound]:
    """Widen brackets at doubles to what is written, which is between two of them.

    The slope of delta is at least -P(L > epsilon), and delta(x) >= (1 - e^{x - epsilon}) times that
    at any smaller x, such as that of another point. The slope just below epsilon is charged twice.
    """
    found = []
    points = np.array(epsilons, dtype=float)
    uppers = np.array([bound.upper for bound in bounds])
    for epsilon, bound in zip(epsilons, bounds, strict=True):
        low, high = Enclosed.of(epsilon).doubles()
        if low == high:
            found.append(bound)
            continue
        left = points < epsilon * (1.0 - 1e-9)
        masses = uppers[left] / -np.expm1(points[left] - epsilon)
        above = float(masses.min(initial=1.0))
        moved = 2.0 * above * (high - low)
        upper = min(1.0, math.nextafter(bound.upper + moved, math.inf))
        lower = None if bound.lower is None else max(0.0, bound.lower - moved)
        found.append(Bound(upper, lower))
    return found


def _exceeded(bounds: Sequence[Bound], budget: float) -> bool:
    """Say whether a number of which some bounds are known is above a budget for certain."""
    return any(bound.verdict(budget) is Verdict.EXCEEDED for bound in bounds)


# A profile runs to about the epsilon of this delta.
LAST_DELTA = 1e-10
# Where the middle of the profile is so many times nearer to 0 than its end, points are spread
# over the logarithm.
SKEWED = 30.0


def profile_points(directions: Directions, count: int) -> Sequence[float]:
    """Choose epsilons from 0 to where delta is about LAST_DELTA, round numbers where evenly spread.

    Args:
        directions: the compositions.
        count: how many, at least 2.
    """
    reach, middle = (directions.reach(delta) for delta in (LAST_DELTA, 0.01))
    if count > 4 and 0.0 < middle < reach / SKEWED < math.inf:
        first = middle / 4.0
        ratio = (reach / first) ** (1.0 / (count - 2))
        return (0.0, *(float(f"{first * ratio**i:.3g}") for i in range(count - 1)))
    return round_points(reach, count)


def round_points(reach: float, count: int) -> tuple[float, ...]:
    """Return evenly spread numbers with few digits, from 0 to where they reach at least, or 1."""
    reach = reach if 0.0 < reach < math.inf else 1.0
    step = round_step(reach / (count - 1))
    # Dividing by a power of ten keeps the points short: 0.3, not 0.30000000000000004.
    power = 10.0 ** max(0, 2 - math.floor(math.log10(step)))
    return tuple(round(step * power) * i / power for i in range(count))


# Steps that are read easily, no more than a quarter apart: what a profile goes too far shows where
# delta is nothing any more.
DIGITS = (1.0, 1.2, 1.5, 1.6, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0)


def round_step(value: float) -> float:
    """Return the least of DIGITS times a power of ten that is at least `value`."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * digit for digit in DIGITS if power * digit >= value)


def error_rates(count: int) -> tuple[float, ...]:
    """Choose type I errors: half of them spread over the logarithm from 1e-6, half evenly to 1."""
    few = max(1, count // 2)
    small = [float(f"{1e-6 * (0.05 / 1e-6) ** (i / max(1, few - 1)):.3g}") for i in range(few)]
    large = [float(f"{0.05 + 0.95 * (i + 1) / (count - few):.3g}") for i in range(count - few)]
    return (*small, *large)
