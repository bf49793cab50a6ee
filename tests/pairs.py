"""Hockey-stick divergences of explicit pairs, for tests: sums over outcomes, nothing clever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpmath import mp, mpf

from privcalc.accounting.compose import compose
from privcalc.bounds import TOLERANCE
from privcalc.exact import Enclosed
from privcalc.losses import atoms
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.law import Term
from privcalc.spec import registry
from privcalc.spec.parse import parse
from privcalc.spec.tree import Leaf
from tests.truths import hockey_stick

if TYPE_CHECKING:
    from privcalc.losses.law import LossLaw
    from privcalc.relation import Adjacency

mp.dps = 40


def built(text: str) -> Any:
    """Build the mechanism that a text describes."""
    tree = parse(text).tree
    assert isinstance(tree, Leaf)
    return registry.build(tree)


def two_point(epsilon: float, delta: float = 0.0) -> AtomicLaw:
    """Return the law of an (epsilon, delta) guarantee of written numbers."""
    return atoms.two_point(Enclosed.of(epsilon), Enclosed.of(delta))


def law_of(text: str, adjacency: Adjacency) -> LossLaw:
    """Return the law of one direction of the mechanism that a text describes, exact for one use."""
    law: LossLaw | Term = built(text).laws(adjacency)
    return Term.of(law).above


def atoms_of(text: str, adjacency: Adjacency) -> AtomicLaw:
    """Return the same of a mechanism with finitely many losses."""
    law = law_of(text, adjacency)
    assert isinstance(law, AtomicLaw)
    return law


def bracket(
    text: str,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    tolerance: float = TOLERANCE,
) -> tuple[float, float]:
    """Return both ends of epsilon at a delta, or of delta at an epsilon."""
    deltas, epsilons = ([x] if x is not None else [] for x in (delta, epsilon))
    found = compose(parse(text).tree, deltas=deltas, epsilons=epsilons, tolerance=tolerance)
    bound = found.answers[0].proved
    assert bound.lower is not None
    return bound.lower, bound.upper


def atoms_profile(law: LossLaw, a: Any) -> Any:
    """Return H_a(P || Q) of an atomic law from its two columns of masses."""
    assert isinstance(law, AtomicLaw)
    columns = zip(law.masses, law.lower_masses, strict=True)
    finite = hockey_stick(((mpf(p), mpf(q)) for p, q in columns), mpf(a))
    return finite + mpf(law.infinity_mass)


def check_atoms(law: LossLaw) -> None:
    """Check that both columns sum to 1 and that their ratios are the losses."""
    assert isinstance(law, AtomicLaw)
    assert abs(mp.fsum([*law.masses, law.infinity_mass]) - 1) < 1e-14
    assert abs(mp.fsum([*law.lower_masses, law.lower_infinity_mass]) - 1) < 1e-14
    for loss, p, q in zip(law.losses, law.masses, law.lower_masses, strict=True):
        true = mp.log(mpf(p) / mpf(q))
        # The ratio of two rounded masses knows the loss to some units of 1.
        assert abs(true - mpf(loss)) < 1e-14
