"""Clients that are sampled with all their records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privcalc.errors import UnsupportedError
from privcalc.exact import Enclosed
from privcalc.record import replace
from privcalc.spec.entry import share
from privcalc.spec.registry import wrapper
from privcalc.wrappers.base import Wrapper, refuse_runs, spelled
from privcalc.wrappers.sampling import needs_others

if TYPE_CHECKING:
    from privcalc.engine.composition import Composition
    from privcalc.engine.terms import Terms
    from privcalc.losses.atoms import AtomicLaw
    from privcalc.relation import Adjacency
    from privcalc.spec.tree import Wrapped
    from privcalc.wrappers.base import Walk

# Probabilities of outcomes times this are doubles still.
LEAST = 1e-100


@wrapper(
    name="clients_sampled",
    place=12,
    short="clients",
    parameters=(
        # At a lower rate the coin is a mixture of that at the higher one and of none.
        share("sampling_probability", "increases", short="q"),
    ),
    example="gaussian:sigma=1@poisson:q=0.064@16@clients:q=0.5@20",
)
class ClientsSampled(Wrapper):
    """Whole clients, each with all its records, sampled independently with the same probability.

    What is protected is one record of one client, which is added, removed or replaced. What is
    wrapped is what the data of the sampled clients goes through, such as steps on samples of their
    records; a count after it is a number of rounds, each with a sample of its own. Where the client
    is what is protected, with all that it has, clients are the records: then write `@poisson`.

    The record has no coin of its own here: its client is in the sample or not, and what else that
    client has may show which. So it is sampled by a coin that everybody may see. With M and P for
    the outputs with and without the record where its client is in, and R where the client is not,
    (1 - q) R + q M is compared with (1 - q) R + q P, of which the profile is at most q H_a(M, P) by
    joint convexity, for every a >= 1 and in either order; it is that where R has outputs of its
    own. Where the record is replaced, P has the other one. A pair (P, Q) that dominates the event
    gives q H_a(P, Q): it has the loss 0 with probability 1 - q, and else the event's. The pair of a
    composition is the product of those of its parts (Zhu, Dong, Wang 2022, Theorem 10); both ends
    are lists (`losses/composed.py`).
    """

    sampling = "Poisson of clients"

    def __init__(self, *, sampling_probability: float) -> None:
        """Take the probability with which a client is in the sample."""
        self.exact = Enclosed.of(sampling_probability)

    def terms(self, tree: Wrapped, adjacency: Adjacency, records: int, walk: Walk) -> Terms:
        """Return what the coin makes of the pair of the event, above and below.

        Raises:
            UnsupportedError: a group, or an event that is known by its Renyi curve only.
        """
        from privcalc.engine.composition import Composition
        from privcalc.losses.cells import coin
        from privcalc.losses.composed import composed
        from privcalc.losses.law import Term

        if records > 1:
            raise UnsupportedError(
                f"@group of {spelled(tree)} is not available: records of different clients have"
                " different coins; state the sensitivity of all records of one client inside"
            )
        refuse_runs(tree, tree.event, walk, "@poisson is known for it")
        terms = walk.terms(tree.event, adjacency, records)
        if self.exact.low == 1:
            return terms
        above = tuple((term.upper, n) for term, n in terms if term.upper is not None)
        if len(above) < len(terms):
            raise UnsupportedError(
                f"{spelled(tree)} of what is known by its Renyi curve only is not available; put a"
                " mechanism inside"
            )
        low, high = self.exact.doubles()
        if 0.0 < low < LEAST:
            raise UnsupportedError(
                f"{spelled(tree)} takes q of at least {LEAST:g}, or 0: less has masses that are no"
                " doubles"
            )
        upper = coin(composed(above, above=True), high, above=True)
        # Of an unbounded loss the list above has an infinite one, and the list below a finite one.
        unbounded = (upper.infinity_mass or upper.lower_infinity_mass) and not any(
            law.infinity_mass or law.lower_infinity_mass for law, _ in above
        )
        if unbounded:
            upper = _as_curve(upper, Composition(above), high)
        below = tuple(
            (term.lower, n)
            for term, n in terms
            if term.lower is not None and term.members is None and not needs_others(tree.event)
        )
        if len(below) < len(terms):
            return [(Term(upper), 1)]
        lower = coin(composed(below, above=False), low, above=False)
        if unbounded and low > 0.0:
            lower = _as_curve(lower, Composition(below), low)
        return [(Term(upper, lower), 1)]


def _as_curve(law: AtomicLaw, event: Composition, q: float) -> AtomicLaw:
    """Give a list the Renyi curve of the coin and the event, and the mu of the event."""
    from privcalc.renyi.sampled_poisson import CoinCurve

    inner = event.renyi_curve()
    curve = CoinCurve(inner, inner.limit, q)
    return replace(law, mechanism_rdp_curve=curve, mu=event.gaussian_range)
