"""An attack's record against what a specification proves: the entry function of `audit`.

A verdict has two values. "Refuted" rests on lower ends of the trade-off function and on upper ends
of delta, and so on what the specification proves; evidence that is compatible with it proves
nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privcalc.accounting.audit_one_run import OneRun
from privcalc.accounting.directions import Directions, Method, profile_points
from privcalc.accounting.realize import default_relation, realize
from privcalc.bounds import TOLERANCE, Proof
from privcalc.engine.terms import Realized
from privcalc.errors import NotCertifiedError, UsageError
from privcalc.exact import decimal_above, exact
from privcalc.numerics.work import QUESTION, allowance
from privcalc.record import field, record, replace
from privcalc.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privcalc.spec.tree import Node

    # Counts TP, FN, FP, TN of each test that shares the level, by what it is called.
    Tests = Mapping[str, tuple[int, ...]]

# Epsilons at which a specification is asked for its delta, each of which is two lines below f.
POINTS = 160
# As few cells of each of several tests, and as few epsilons of a Renyi curve.
FEWEST = 40
NAMES = {"posteriors": "posterior-coupling", "recursion": "f-recursion"}


@record
class Audited:
    """What the evidence says.

    Attributes:
        relation: the neighbouring relation in force.
        epsilon: a lower confidence bound at the delta that was asked about; None where none was.
        claimed: an upper end of the specification's epsilon there.
        p_value: of the specification, from above.
        refuted: whether that is at most 1 - confidence; None without a specification.
        method: how the numbers were obtained, with the test.
        details: for -v.
    """

    relation: Relation
    epsilon: float | None
    claimed: float | None
    p_value: float | None
    refuted: bool | None
    method: Method
    details: tuple[str, ...]


@record
class _Found:
    """What one design says: of epsilon, and of a specification."""

    test: dict[str, str | int]
    epsilon: float | None = None
    p_value: float | None = None
    proof: Proof = Proof.CLOSED_FORM
    details: tuple[str, ...] = field(default=())


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
    parts, force = None, relation or Relation.ADD_OR_REMOVE_ONE
    if tree is not None:
        force = relation or default_relation(tree)
        parts = {name: each.for_curves for name, each in realize(tree, force).items()}
    if isinstance(evidence, OneRun):
        found = _one_run(evidence, parts, at, level, verbose=verbose)
    else:
        found = _runs(evidence, parts, at, level, verbose=verbose)
    return Audited(
        force,
        found.epsilon,
        None if tree is None or delta is None else _claimed(tree, delta, force),
        found.p_value,
        None if found.p_value is None else found.p_value <= level,
        Method(found.proof, tolerance_met=True, test=found.test),
        found.details,
    )


def _claimed(tree: Node, delta: float, relation: Relation) -> float:
    """Return an upper end of epsilon, infinity where none is proved."""
    from privcalc.accounting.compose import compose

    try:
        return compose(tree, relation=relation, deltas=(delta,)).answers[0].proved.upper
    except NotCertifiedError:
        return math.inf


def _runs(
    tests: Tests,
    parts: Mapping[str, Realized] | None,
    delta: float | None,
    level: float,
    *,
    verbose: bool,
) -> _Found:
    """Audit independent runs; several tests have equal parts of the level."""
    from privcalc.accounting import audit_runs as runs

    share = math.nextafter(level / len(tests), 0.0)
    name = "fisher" if len(tests) == 1 else "fisher-at-ranks"
    splits = runs.SPLITS if len(tests) == 1 else FEWEST - runs.CELLS
    cells = runs.CELLS + splits
    found = _Found({"test": name, "cells": cells})
    if delta is not None:
        at = delta
        values = {
            words: runs.least(test, share, lambda corner: corner.epsilon(at), splits)
            for words, test in tests.items()
        }
        best = max(values, key=values.__getitem__)
        found = replace(found, epsilon=values[best])
        if verbose:
            found = replace(found, details=tuple(_boxed(best, tests[best], share, at, cells)))
    if parts is not None:
        from privcalc.tradeoff.function import trade_off

        levels = runs.claim_levels(max(FEWEST, runs.CLAIM_CELLS // len(tests)))
        alphas = {words: runs.alphas(test, levels) for words, test in tests.items()}
        asked = sorted({x for each in alphas.values() for x in each})
        curve = trade_off(parts, asked, TOLERANCE).worst
        below = {x: bound.lower or 0.0 for x, bound in zip(asked, curve.beta, strict=True)}
        ps = {
            words: runs.p_value(test, levels, [below[x] for x in alphas[words]])
            for words, test in tests.items()
        }
        least = min(ps, key=ps.__getitem__)
        words = f"p-value {ps[least]:.4g} with {len(levels)} cells"
        if len(ps) > 1:
            words += f", {least}; times {len(ps)} tests"
        found = replace(
            found,
            p_value=min(1.0, ps[least] * len(ps) * runs.ABOVE),
            proof=curve.proof,
            test={"test": name, "cells": len(levels)},
            details=(*found.details, words),
        )
    return found


def _boxed(words: str, test: tuple[int, ...], level: float, delta: float, cells: int) -> list[str]:
    """Say what other tools print, and what mu the evidence shows."""
    from privcalc.accounting import audit_runs as runs

    box = runs.box(test, level)
    mu = runs.least(test, level, lambda corner: corner.mu)
    usual = (
        f"limits of the usual box: false positive rate at most {box.x:.10g}, true positive rate at"
        f" least {1.0 - box.miss:.10g}; epsilon at least {box.epsilon(delta):.10g} by it"
    )
    return [
        *([f"threshold {words}, level {level:.4g}"] if words else []),
        usual,
        f"Fisher's product, {cells} cells; not mu-GDP for any mu below {mu:.6g}",
    ]


def _one_run(
    run: OneRun,
    parts: Mapping[str, Realized] | None,
    delta: float | None,
    level: float,
    *,
    verbose: bool,
) -> _Found:
    """Audit one run with many canaries."""
    found = _Found({})
    if delta is not None:
        epsilon, bound = run.epsilon(delta, level)
        found = replace(found, epsilon=epsilon, test={"test": NAMES[bound]})
        if verbose:
            from privcalc.accounting.audit_one_run import published

            words = (
                f"epsilon at least {published(run, delta, level):.10g} by the bound of Steinke,"
                " Nasr, Jagielski 2023 (published, not certified here)"
            )
            found = replace(found, details=(words,))
    if parts is not None:
        above = {name: Realized(part.upper, None) for name, part in parts.items()}
        directions = Directions(above, TOLERANCE)
        slow = any(part.upper.curves for part in parts.values())
        epsilons = [*profile_points(directions, FEWEST if slow else POINTS)]
        bounds, method = directions.profile(epsilons)
        pairs = [(e, bound.upper) for e, bound in zip(epsilons, bounds, strict=True)]
        p, bound = run.p_value(pairs, level)
        words = f"p-value {p:.4g} by {NAMES[bound]}, from delta at {len(pairs)} epsilons"
        found = replace(
            found,
            p_value=p,
            proof=method.proof,
            test={"test": NAMES[bound]},
            details=(*found.details, words),
        )
    return found
