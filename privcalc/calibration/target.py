"""What a calibration aims at, what a specification has of it, and what a calibration returns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, cast

from privcalc.accounting.compose import compose
from privcalc.accounting.convert import ConversionQuery, convert
from privcalc.accounting.directions import Method
from privcalc.accounting.realize import taken_apart
from privcalc.engine.certified import DELTA_FLOOR
from privcalc.errors import DomainError
from privcalc.numerics.work import QUESTION, alone
from privcalc.record import record
from privcalc.spec.entry import brief_text

if TYPE_CHECKING:
    from privcalc.bounds import Bound
    from privcalc.relation import Relation
    from privcalc.spec.tree import Node, Path

TargetQuantity = Literal["epsilon", "mu", "rho", "advantage", "tpr"]


@record
class CalibrationTarget:
    """A quantity that must not exceed a budget.

    Attributes:
        quantity: epsilon (at a delta), mu of Gaussian differential privacy, rho of concentrated
            differential privacy, advantage of a membership attack (delta at epsilon 0), or tpr: its
            true positive rate (at a false positive rate).
        budget: what is allowed.
        at: delta for epsilon, the false positive rate for tpr, else None.
    """

    quantity: TargetQuantity
    budget: float
    at: float | None = None

    @property
    def query(self) -> dict[str, float]:
        """Return where the quantity is asked: {"delta": d}, {"fpr": f} or {}."""
        if self.at is None:
            return {}
        return {"delta" if self.quantity == "epsilon" else "fpr": self.at}

    @property
    def words(self) -> str:
        """Return the target as messages have it: `epsilon 1 at delta 1e-05`."""
        return f"{self.quantity} {brief_text(self.budget)}{self.place}"

    @property
    def place(self) -> str:
        """Return where the quantity is asked, in words: ` at delta 1e-05`, or nothing."""
        return "".join(f" at {name} {brief_text(value)}" for name, value in self.query.items())

    def check(self) -> None:
        """Refuse a target that everything, or nothing that looks at the data, meets.

        Raises:
            DomainError: it says what is wrong with the target.
        """
        if (self.at is None) != (self.quantity in ("mu", "rho", "advantage")):
            raise DomainError("epsilon needs a delta, tpr a false positive rate, and no other does")
        at = 0.0 if self.at is None else self.at
        if not 0.0 <= at <= 1.0 or not 0.0 <= self.budget < math.inf:
            raise DomainError(f"{self.words} is out of range")
        if self.quantity == "epsilon" and at == 1.0:
            raise DomainError("at delta 1 every value has epsilon 0; ask for delta < 1")
        if self.budget == 0.0:
            other = f"; ask for --advantage {brief_text(at)}" if at > 0.0 else ""
            if self.quantity == "epsilon" and other:
                raise DomainError(f"{self.words} says no more than that delta at epsilon 0{other}")
            raise DomainError(
                f"{self.words} is met only by what does not look at the data; ask for"
                f" {self.quantity} > 0"
            )
        if self.quantity in ("advantage", "tpr") and self.budget >= 1.0:
            raise DomainError(f"every value has {self.quantity} <= 1; ask for less than 1")
        if self.quantity == "tpr" and self.budget <= at:
            raise DomainError(
                f"guessing alone has tpr {brief_text(at)} at fpr {brief_text(at)}; ask for a larger"
                " tpr"
            )

    def ask(
        self,
        tree: Node,
        relation: Relation,
        tolerance: float,
        *,
        decide: bool = True,
        work: float = QUESTION,
    ) -> tuple[Bound, Method]:
        """Bracket the quantity for a specification without holes.

        The question is that of a budget check by `compose`, or of `convert`, with the work that
        such a question has by itself: whoever asks it again has the same answer.

        Args:
            tree: the specification.
            relation: the neighbouring relation.
            tolerance: target relative width.
            decide: whether the first bracket will do that decides whether the budget is satisfied.
            work: ask with less work than that: quickly, and for no answer.

        Raises:
            NotCertifiedError: no bracket is proved.
            OutOfWorkError: too much was asked before.
        """
        with alone(work, taken_apart):
            return self._ask(tree, relation, tolerance, decide=decide, quick=work < QUESTION)

    def _ask(
        self, tree: Node, relation: Relation, tolerance: float, *, decide: bool, quick: bool
    ) -> tuple[Bound, Method]:
        if self.quantity in ("epsilon", "advantage"):
            at_delta = self.at is not None
            budget = self.budget if decide else None
            found = compose(
                tree,
                relation=relation,
                deltas=() if self.at is None else (self.at,),
                epsilons=() if at_delta else (0.0,),
                tolerance=tolerance,
                max_epsilon=budget if at_delta else None,
                max_delta=None if at_delta else budget,
                quick=quick,
            )
            composed = found.answers[0]
            return composed.proved, composed.method
        if self.quantity == "tpr":
            return self._power(tree, relation, tolerance)
        to: Literal["gdp", "zcdp"] = "gdp" if self.quantity == "mu" else "zcdp"
        converted = convert(tree, ConversionQuery(to=to), relation=relation, tolerance=tolerance)
        answer = converted.answers[0]
        return cast("Bound", answer.result[self.quantity]), answer.method

    def _power(self, tree: Node, relation: Relation, tolerance: float) -> tuple[Bound, Method]:
        from privcalc.accounting.realize import realize
        from privcalc.tradeoff.function import trade_off

        curve = trade_off(realize(tree, relation), (self.at or 0.0,), tolerance)
        bound = curve.worst.power[0]
        return bound, Method(curve.worst.proof, bound.within_tolerance(tolerance, DELTA_FLOOR))

    def log_mu(self, value: float) -> float:
        """Return about the log of the mu whose normal laws have this value of the quantity.

        On this scale the cost of noise is nearly linear in the log of most parameters, which is
        what the search makes use of; nothing is proved with it.
        """
        from scipy.special import erfinv, ndtri

        from privcalc.numerics.normal import least_mu

        if not 0.0 < value < math.inf:
            mu = 0.0 if value <= 0.0 else math.inf
        elif self.quantity == "epsilon":
            mu = least_mu(value, self.at) if self.at else value
        elif self.quantity == "rho":
            mu = math.sqrt(2.0 * value)
        elif self.quantity == "advantage":
            mu = 2.0 * math.sqrt(2.0) * float(erfinv(min(value, 1.0)))
        elif self.quantity == "tpr" and not self.at:
            # What only one of both data sets can show; any scale that grows will do.
            mu = value
        elif self.quantity == "tpr":
            mu = float(ndtri(min(value, 1.0)) - ndtri(self.at))
        else:
            mu = value
        return math.log(mu) if mu > 0.0 else -math.inf


# How far apart the two values may be, relatively.
GAP = 1e-8


@record
class Calibration:
    """A value that meets a target, and one next to it that does not.

    Attributes:
        target: what was asked.
        parameter: the spelling of the parameter; `count` for the number of uses.
        paths: where the holes are, in the order of the text.
        sufficient: the value, a decimal of at most ten digits or a whole number; with a ratio, the
            number by which it is multiplied.
        insufficient: a value at which the target is missed for certain; None where none is known.
        unproved: the neighbour at which the target is not proved to be met; often `insufficient`.
        values: the sufficient value of each hole.
        insufficient_values: the other one of each hole, or () where none is known.
        tree: the specification with the sufficient value.
        insufficient_tree: with the other one, or None.
        bound: bracket of the target's quantity at the sufficient value.
        insufficient_bound: at the other one, or None.
        method: how `bound` was obtained. Its tolerance is met where both values are known and are
            neighbours, or within GAP (or the tolerance asked for) of each other.
        relation: the neighbouring relation in force.
        asked: how many times the cost of a value was worked out.
    """

    target: CalibrationTarget
    parameter: str
    paths: tuple[Path, ...]
    sufficient: float | int
    insufficient: float | int | None
    unproved: float | int
    values: tuple[float | int, ...]
    insufficient_values: tuple[float | int, ...]
    tree: Node
    insufficient_tree: Node | None
    bound: Bound
    insufficient_bound: Bound | None
    method: Method
    relation: Relation
    asked: int
