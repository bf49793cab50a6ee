"""The columns of an amplified Renyi curve, and which theorem proves each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from privcalc.accounting.directions import Directions, divergences, order_doubles
from privcalc.accounting.realize import realize
from privcalc.bounds import Bound
from privcalc.errors import UnsupportedError
from privcalc.exact import Enclosed
from privcalc.numerics.rounding import UNIT
from privcalc.record import record
from privcalc.relation import Adjacency, Relation
from privcalc.renyi import sampled_poisson as poisson
from privcalc.renyi import sampled_without_replacement as without_replacement
from privcalc.renyi.curve import PointsCurve, stated
from privcalc.renyi.sampled_sums import BaseCurve, phase_transition
from privcalc.spec import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from privcalc.numerics.rounding import Array
    from privcalc.spec.tree import Node, Wrapped
    from privcalc.wrappers.sampling import Sampling

# A Renyi divergence narrower than this counts as found, whatever its size.
FLOOR = 1e-300
# Bounds are formed at so many times the largest order asked for, too, unless that is this large.
BEYOND, FARTHEST = np.array([2.0, 4.0]), 1e4


@record
class Amplification:
    """Renyi divergences at some orders, without and with sampling.

    Attributes:
        orders: as asked.
        base: upper bounds without sampling, for both orders of the neighbours.
        lower: what no bound from the base curve alone can undercut; None where no one pair is
            known to attain that curve.
        tight: upper bounds by the tight sum; None where it is not proved.
        upper: upper bounds for any mechanism with the base curve.
        exact: brackets for the dominating pair; None where the sampled pair is not known.
        reasons: for each column what proves it, or why it is left out.
        phase_transition_order: from about here on sampling takes off little more than log(1/q);
            None where there is no such order.
        tolerance_met: whether every bracket is as narrow as was asked.
        sampling_probability: q, to the nearest double.
    """

    orders: tuple[float, ...]
    base: tuple[float, ...]
    lower: tuple[float, ...] | None
    tight: tuple[float, ...] | None
    upper: tuple[float, ...]
    exact: tuple[Bound, ...] | None
    reasons: Mapping[str, str]
    phase_transition_order: float | None
    tolerance_met: bool
    sampling_probability: float


@np.errstate(all="ignore")
def amplification(
    tree: Node, sampled: Wrapped, relation: Relation, orders: Sequence[float], tolerance: float
) -> Amplification:
    """Work out the columns for a tree that sees a sample, and for what is sampled."""
    # The base is read under the relation that the sampling is asked for.
    fixed = relation is Relation.REPLACE_ONE
    inner = Relation.REPLACE_ONE if fixed else Relation.ADD_OR_REMOVE_ONE
    # First of all what is refused.
    directions = Directions(realize(sampled, relation), tolerance)
    base = BaseCurve.of(realize(tree, inner))
    # Divergences do not decrease with the order.
    at_least, at = order_doubles(orders)
    exact_q = cast("Sampling", registry.build(sampled)).exact
    q = exact_q.nearest()[0]
    below, above = exact_q.doubles()
    written = [Enclosed.of(order).low for order in orders]
    plain = stated(base.curve, at - 1.0, written) / (at - 1.0) * (1.0 + 4.0 * UNIT)
    reasons = {"base": "Renyi divergence without sampling, the larger of both orders"}
    lower, reasons["lower"] = _lower(
        base, sampled, below, np.maximum(at_least, np.nextafter(1.0, 2.0)), fixed=fixed
    )
    if lower is not None:
        lower = np.where(at_least > 1.0, lower, 0.0)
    tight, reasons["tight"] = _tight(base, above, at, fixed=fixed)
    if fixed:
        upper = convex(
            lambda orders: without_replacement.bound(
                base.curve, above, orders, exact=base.symmetric
            ),
            at,
        )
        reasons["upper"] = "Wang, Balle, Kasiviswanathan 2019, Theorem 9"
        if base.symmetric:
            reasons["upper"] += ", with forward differences where they are smaller"
    else:
        upper = convex(lambda orders: poisson.general_bound(base.curve, above, orders), at)
        reasons["upper"] = (
            "any mechanism with the base curve (Zhu, Wang 2019; Zhu 2023, Theorem 2.3.1), with"
            " smaller constants and caps"
        )
    sums = None
    if lower is not None and tight is not None:
        ends = zip(tight.tolist(), lower.tolist(), strict=True)
        sums = [Bound(*each) for each in ends]
    exact, reasons["exact"] = _exact(directions, orders, sums)
    return Amplification(
        orders=tuple(orders),
        base=tuple(plain.tolist()),
        lower=_numbers(lower),
        tight=_numbers(tight),
        upper=tuple(upper.tolist()),
        exact=exact,
        reasons=reasons,
        phase_transition_order=phase_transition(base.present or base.curve, q),
        tolerance_met=exact is None
        or all(bound.within_tolerance(tolerance, FLOOR) for bound in exact),
        sampling_probability=q,
    )


def convex(bound: Callable[[Array], Array], at: Array) -> Array:
    """Return the convex curve that bounds at these orders, and at some beyond, prove.

    (order - 1) times a divergence is convex and 0 at order 1, and each bound holds by itself. The
    constants of a general bound weigh less at larger orders, where it may be the smaller one.
    """
    largest = float(at.max())
    orders = np.unique(np.append(at, largest * BEYOND if largest <= FARTHEST else largest))
    values = bound(orders)
    c = orders - 1.0
    products = values * c * (1.0 + 4.0 * UNIT)
    points = [
        each for each in zip(c.tolist(), products.tolist(), strict=True) if each[1] < math.inf
    ]
    hull = PointsCurve(tuple(points)).upper(at - 1.0) / (at - 1.0) * (1.0 + 4.0 * UNIT)
    return np.minimum(hull, values[np.searchsorted(orders, at)])


def _lower(
    base: BaseCurve, sampled: Wrapped, q: float, at: Array, *, fixed: bool
) -> tuple[Array | None, str]:
    """Return the divergences of the outputs with the record, sampled, against those without.

    At whole orders that is a sum over the base curve. Between them the law of that pair says more
    than convexity, where it is known: it is that of removing a record.
    """
    if base.present is None:
        return None, "omitted: no one pair is known to attain the base curve"
    reason = (
        "no bound from the base curve alone is smaller (Zhu, Wang 2019; Zhu 2023, Theorem 2.3.2"
    )
    # Where the other value of a replaced record is one that has no influence.
    reason += ", for a record without influence)" if fixed else ")"
    found = poisson.lower_bound(base.present, q, at)
    between = at != np.floor(at)
    if found is None or not between.any():
        return found, reason
    try:
        pair = realize(sampled, Relation.ADD_OR_REMOVE_ONE)
    except UnsupportedError:
        return found, reason
    part = pair.get(Adjacency.REMOVE.value)
    if part is not None and part.one_pair:
        ends = [bound.lower or 0.0 for bound in divergences(part, at[between].tolist())]
        found[between] = np.maximum(found[between], ends)
    return found, reason


def _tight(base: BaseCurve, q: float, at: Array, *, fixed: bool) -> tuple[Array | None, str]:
    if fixed:
        return None, "omitted: the tight sum is proved for Poisson samples only"
    if base.infinite:
        return None, "omitted: an infinite loss has an infinite Renyi divergence"
    if not base.symmetric:
        here = "they differ" if base.known else "the loss is not known"
        return None, (
            f"omitted: proved where adding and removing have one privacy loss, and here {here}"
        )
    reason = (
        "proved here, as adding and removing have one privacy loss (Zhu 2023, Theorem 2.3.4;"
        " Mironov, Talwar, Zhang 2019, Theorem 5)"
    )
    return convex(lambda orders: poisson.tight_bound(base.curve, q, orders), at), reason


def _exact(
    directions: Directions, orders: Sequence[float], sums: list[Bound] | None
) -> tuple[tuple[Bound, ...] | None, str]:
    """Bracket the divergences of the sampled pair, the larger of both directions.

    Where that is known by its curve alone, and adding and removing have one loss, the tight sum
    and the lower bound are those of the pair: `sums`.
    """
    if all(part.one_pair for part in directions.parts.values()):
        reason = "the dominating pair of the sampled event, the larger of both directions"
        return tuple(directions.renyi(orders)), reason
    if sums is None:
        return None, "omitted: no one pair is known to attain it at every order"
    return tuple(sums), (
        "the tight sum, which is that of the dominating pair; by convexity between whole orders"
    )


def _numbers(values: Array | None) -> tuple[float, ...] | None:
    return None if values is None else tuple(values.tolist())
