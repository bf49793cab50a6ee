"""An attack's record against what a specification proves: the entry function of `audit`.

"Refuted" rests on lower ends of the trade-off function and on upper ends of delta, and so on what
the specification proves; evidence that is compatible with it proves nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.accounting import audit_runs as runs
from privcalc.accounting.audit_one_run import OneRun, published
from privcalc.accounting.directions import Directions, Method, profile_points
from privcalc.accounting.realize import default_relation, realize
from privcalc.bounds import TOLERANCE, Proof
from privcalc.engine.terms import Realized
from privcalc.errors import NotCertifiedError, UsageError
from privcalc.exact import decimal_above, exact
from privcalc.numerics.work import QUESTION, allowance
from privcalc.record import record, replace
from privcalc.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.spec.tree import Node

    # Counts TP, FN, FP, TN of each test that shares the level, by what it is called.
    Tests = Mapping[str, tuple[int, ...]]
    Parts = Mapping[str, Realized]

# Epsilons at which a specification is asked for its delta, each of which is two lines below f. As
# few where they come of a Renyi curve, and as few cells where several tests share the level.
POINTS, FEWEST = 160, 40
NAMES = {"posteriors": "posterior-coupling", "recursion": "f-recursion"}


@record
class Audited:
    """What the evidence says.

    Attributes:
        method: how it was found, with the test.
        epsilon: a lower confidence bound at the delta that was asked about; None where none was.
        p_value: of the specification, from above; None where there is none.
        details: for -v.
        refuted: whether the p-value is at most 1 - confidence; None without a specification.
        claimed: an upper end of the specification's epsilon at the delta.
        relation: the neighbouring relation in force.
    """

    method: Method
    epsilon: float | None
    p_value: float | None
    details: tuple[str, ...]
    refuted: bool | None = None
    claimed: float | None = None
    relation: Relation = Relation.ADD_OR_REMOVE_ONE


@allowance(QUESTION)
def audit(
    tree: Node | None,
    evidence: Tests | OneRun,
    *,
    delta: float | None = None,
    confidence: float = 0.95,
    relation: Relation | None = None,
    verbose: bool = False,
) -> Audited:
    """Compare evidence with a specification, or without one return the epsilon that it shows.

    Args:
        tree: the specification; None for none.
        evidence: counts of tests of independent runs, which share the level; or of one run.
        delta: where epsilon is asked about, in [0, 1); needed without a specification.
        confidence: one minus the level of the test, which is rounded down.
        relation: the neighbouring relation; None for the default of the specification.
        verbose: whether to work out what -v shows besides.

    Raises:
        UsageError: nothing is asked.
        PrivcalcError: the specification has no trade-off function that could be refuted.
    """
    if tree is None and delta is None:
        words = "without a specification audit answers epsilon, and needs the delta of it"
        raise UsageError(words, hint="1e-5, or 0, say")
    level = math.nextafter(float(1 - exact(confidence)), 0.0)
    at = None if delta is None else decimal_above(exact(delta))
    design = _one_run if isinstance(evidence, OneRun) else _runs
    if tree is None:
        return design(evidence, {}, at, level, verbose=verbose)  # type: ignore[arg-type]
    relation = relation or default_relation(tree)
    parts = {name: part.for_curves for name, part in realize(tree, relation).items()}
    found = design(evidence, parts, at, level, verbose=verbose)  # type: ignore[arg-type]
    refuted = found.p_value is not None and found.p_value <= level
    claimed = None if delta is None else _claimed(tree, delta, relation)
    return replace(found, refuted=refuted, claimed=claimed, relation=relation)


def _claimed(tree: Node, delta: float, relation: Relation) -> float:
    """Return an upper end of epsilon, infinity where none is proved."""
    from privcalc.accounting.compose import compose

    try:
        return compose(tree, relation=relation, deltas=(delta,)).answers[0].proved.upper
    except NotCertifiedError:
        return math.inf


def _runs(
    tests: Tests, parts: Parts, delta: float | None, level: float, *, verbose: bool
) -> Audited:
    """Audit independent runs; several tests have equal parts of the level."""
    share = math.nextafter(level / len(tests), 0.0)
    several = len(tests) > 1
    cells = FEWEST if several else runs.CELLS + runs.SPLITS
    epsilon, p, proof, details = None, None, Proof.CLOSED_FORM, []
    if delta is not None:
        at = delta
        splits = cells - runs.CELLS
        found = {
            words: runs.least(test, share, lambda corner: corner.epsilon(at), splits)
            for words, test in tests.items()
        }
        best = max(found, key=found.__getitem__)
        epsilon = found[best]
        if verbose:
            box = runs.box(tests[best], share)
            mu = runs.least(tests[best], share, lambda corner: corner.mu)
            details += [f"threshold {best}, level {share:.4g}"] if several else []
            details.append(
                f"limits of the usual box: false positive rate at most {box.x:.10g}, true positive"
                f" rate at least {1.0 - box.miss:.10g}; epsilon at least {box.epsilon(at):.10g}"
            )
            details.append(f"{cells} cells; not mu-GDP for any mu below {mu:.6g}")
    if parts:
        from privcalc.tradeoff.function import trade_off

        cells = runs.CLAIM_CELLS // 2 if several else runs.CLAIM_CELLS
        levels = runs.claim_levels(share, cells)
        alphas = {words: runs.alphas(test, levels) for words, test in tests.items()}
        asked = sorted({x for each in alphas.values() for x in each})
        curve = trade_off(parts, asked, TOLERANCE).worst
        below = {x: bound.lower or 0.0 for x, bound in zip(asked, curve.beta, strict=True)}
        ps = [
            (runs.p_value(test, levels, [below[x] for x in alphas[words]]), words)
            for words, test in tests.items()
        ]
        least, words = min(ps)
        p, proof = min(1.0, least * len(ps) * runs.ABOVE), curve.proof
        details.append(f"p-value {p:.4g} with {cells} cells{f', {words}' if several else ''}")
    test = {"test": "fisher-at-ranks" if several else "fisher", "cells": cells}
    return Audited(Method(proof, tolerance_met=True, test=test), epsilon, p, tuple(details))


def _one_run(
    run: OneRun, parts: Parts, delta: float | None, level: float, *, verbose: bool
) -> Audited:
    """Audit one run with many canaries."""
    epsilon, p, proof, bound, details = None, None, Proof.CLOSED_FORM, "", []
    if delta is not None:
        epsilon, bound = run.epsilon(delta, level)
        if verbose:
            details.append(
                f"epsilon at least {published(run, delta, level):.10g} by the bound of Steinke,"
                " Nasr, Jagielski 2023 (published, not certified here)"
            )
    if parts:
        above = {name: Realized(part.upper, None) for name, part in parts.items()}
        directions = Directions(above, TOLERANCE)
        slow = any(part.upper.curves for part in parts.values())
        epsilons = profile_points(directions, FEWEST if slow else POINTS)
        bounds, method = directions.profile(epsilons)
        pairs = [(e, each.upper) for e, each in zip(epsilons, bounds, strict=True)]
        (p, bound), proof = run.p_value(pairs, level), method.proof
        details.append(f"p-value {p:.4g} by {NAMES[bound]}, from delta at {len(pairs)} epsilons")
    method = Method(proof, tolerance_met=True, test={"test": NAMES[bound]})
    return Audited(method, epsilon, p, tuple(details))
