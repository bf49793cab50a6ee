"""An accounting function that answers what a test wants, for tests of the command line alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from privcalc.accounting.directions import Answer, ComposedAnswers, Direction, Method
from privcalc.bounds import Bound, Proof
from privcalc.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privcalc.spec.tree import Node


@dataclass
class FakeAccounting:
    """Stands in for accounting.compose; keeps what it was asked."""

    bound: Bound = Bound(2.5, 2.25)  # noqa: RUF009  (frozen)
    tolerance_met: bool = True
    notes: tuple[str, ...] = ()
    terms: dict[str, float] = field(default_factory=lambda: {"aliasing": 1e-12})
    error: Exception | None = None
    calls: list[dict[str, object]] = field(default_factory=list)

    def __call__(
        self,
        tree: Node,
        *,
        relation: Relation | None = None,
        deltas: Sequence[float] = (),
        epsilons: Sequence[float] = (),
        tolerance: float = 1e-9,
        engine: str = "auto",
        max_epsilon: float | None = None,
        max_delta: float | None = None,
        keep: bool = False,  # noqa: ARG002  (no bracket of it has a certificate)
    ) -> ComposedAnswers:
        """Answer every question with the same bracket."""
        self.calls.append(
            {
                "tree": tree,
                "relation": relation,
                "deltas": tuple(deltas),
                "epsilons": tuple(epsilons),
                "tolerance": tolerance,
                "engine": engine,
                "max_epsilon": max_epsilon,
                "max_delta": max_delta,
            }
        )
        if self.error is not None:
            raise self.error
        answers = [self._answer("epsilon", {"delta": d}, engine) for d in deltas]
        answers += [self._answer("delta", {"epsilon": e}, engine) for e in epsilons]
        if not answers:
            answers = [self._profile()]
        return ComposedAnswers(tree, relation or Relation.ADD_OR_REMOVE_ONE, tuple(answers))

    def _answer(self, quantity: str, query: dict[str, float], engine: str) -> Answer:
        estimate = 2.375 if engine == "afa" else None
        bound = None if engine == "afa" else self.bound
        method = Method(
            Proof.QUADRATURE if engine == "afa" else Proof.INVERSION,
            self.tolerance_met,
            self.terms,
            self.notes,
        )
        directions = tuple(Direction(name, bound, estimate, method) for name in ("remove", "add"))
        return Answer(quantity, query, bound, estimate, (), directions, method)  # type: ignore[arg-type]

    def _profile(self) -> Answer:
        points = tuple((i / 4, Bound(2.0**-i, 2.0 ** -(i + 1))) for i in range(21))
        method = Method(Proof.INVERSION, self.tolerance_met, self.terms, self.notes)
        return Answer("profile", {}, None, None, points, (), method)
